package store_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"tracker/store"
)

// Properties go with what they belong to.
func TestPropertiesGoWithTheirRecord(t *testing.T) {
	b := newBed(t)
	set := func(kind store.PropertyKind, id string) {
		t.Helper()
		if err := b.SetProperties(ctx, store.System, kind, id, []store.Property{{Key: "k", Value: "v"}}); err != nil {
			t.Fatal(err)
		}
	}
	set(store.ExperimentProperty, b.experiment)
	set(store.IterationProperty, b.iteration)
	if err := b.DeleteExperiment(ctx, store.System, b.experiment); err != nil {
		t.Fatal(err)
	}
	problems := must(b.Check(ctx, false))(t)
	if len(problems) > 0 {
		t.Errorf("the check has found %v", problems)
	}
}

// The latest points are the same in the process with the head, in one without it, and
// after compaction.
func TestLatestPoints(t *testing.T) {
	for name, b := range map[string]*bed{"with a head": newBed(t), "plain": newPlainBed(t)} {
		t.Run(name, func(t *testing.T) {
			for i := range 40 {
				b.log(t, "up", int64(i), float64(i))
				b.log(t, "down", int64(-i), float64(i))
			}
			b.log(t, "up", 39, 100) // of the same step the one written last
			r := must(b.IterationRecord(ctx, store.System, b.iteration))(t)
			got := ""
			for _, l := range r.Latest {
				got += fmt.Sprint(l.Key, " ", l.Step, " ", l.Value, "; ")
			}
			if want := "down 0 0; up 39 100; "; got != want {
				t.Errorf("the latest are %s, want %s", got, want)
			}
		})
	}
}

// Points that are sent again are kept once, in the head and in the tables, also when
// the server was restarted between.
func TestLogIterationOnce(t *testing.T) {
	b := newBed(t)
	var few, many []store.NewMetric
	for i := range 5 {
		p := point("few", int64(i%3), float64(i))
		p.RecordedAt = new(store.Time(1000 + i))
		few = append(few, p)
	}
	for i := range 100 {
		p := point("many", int64(i%10), float64(i))
		p.RecordedAt = new(store.Time(1000 + i))
		many = append(many, p)
	}
	for range 3 {
		for _, metrics := range [][]store.NewMetric{few, many} {
			if err := b.LogIteration(ctx, store.System, b.iteration, store.IterationLog{Metrics: metrics}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(points(t, b.DB, b.iteration, nil)); n != 105 {
		t.Errorf("there are %d points, want 105", n)
	}
}

func TestFilesOfARun(t *testing.T) {
	b := newBed(t)
	if err := b.DeleteFiles(ctx, store.System, store.Tree{IterationID: b.iteration}, "nothing"); err == nil || store.AsError(err).Code != store.CodeNotFound {
		t.Errorf("deleting nothing: %v", err)
	}
	for _, name := range []string{"../x", "a//b", "/a", "a/", ""} {
		if err := b.AllowFile(ctx, store.System, store.Tree{IterationID: b.iteration}, name); err == nil || store.AsError(err).Code != store.CodeInvalidPayload {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Properties can be searched for and sorted by in the search language.
func TestSearchByProperty(t *testing.T) {
	b := newBed(t)
	for _, value := range []string{"red", "blue", "10"} {
		id := must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{Name: &value}))(t).ID
		err := b.SetProperties(ctx, store.System, store.IterationProperty, id, []store.Property{{Key: "team", Value: value}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for filter, want := range map[string]string{
		"property.team = 'red'":                   "red ",
		"property.team != 'red'":                  "10 blue ",
		"property.team contains 'E'":              "blue red ",
		"property.`team` in ('10', 'red')":        "10 red ",
		"property.team > '2'":                     "blue red ",
		"property.nothing = 'red'":                "",
		"not property.team = 'red' and name = ''": "",
	} {
		l := must(b.Iterations(ctx, store.System, b.experiment, store.IterationQuery{Page: store.FirstPage, Filter: filter, Sort: "property.team"}))(t)
		got := ""
		for _, i := range l.Data {
			got += i.Name + " "
		}
		if got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
	_, err := b.Iterations(ctx, store.System, b.experiment, store.IterationQuery{Page: store.FirstPage, Filter: "property.team = 1"})
	if err == nil || store.AsError(err).Code != store.CodeInvalidPayload {
		t.Errorf("a number: %v", err)
	}
}

// Of several wrong fields the first one is reported, each time the same.
func TestFirstWrongField(t *testing.T) {
	b := newBed(t)
	wrong := "\xff"
	for range 20 {
		err := b.LogIteration(ctx, store.System, b.iteration, store.IterationLog{
			Snapshot: &store.SnapshotPatch{GitSHA: &wrong, GitRemote: &wrong, Entrypoint: &wrong}})
		if e := store.AsError(err); e == nil || e.Field != "git_sha" {
			t.Fatalf("snapshot: %v", err)
		}
		_, err = b.UpdateWandbArtifact(ctx, store.System, "x", store.WandbArtifactPatch{Description: &wrong, Metadata: &wrong})
		if e := store.AsError(err); e == nil || e.Field != "description" {
			t.Fatalf("artifact: %v", err)
		}
		err = b.Export(ctx, store.System, store.ArchiveQuery{ProjectID: b.project, Records: []string{"report/b", "report/a", "report/c"}},
			store.ArchiveOptions{}, io.Discard)
		if e := store.AsError(err); e == nil || !strings.Contains(e.Message, "report/b") {
			t.Fatalf("archive: %v", err)
		}
	}
}
