package runs_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"tracker/store/archive"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// Properties are deleted with their record.
func TestPropertiesGoWithTheirRecord(t *testing.T) {
	b := newBed(t)
	set := func(kind runs.PropertyKind, id string) {
		t.Helper()
		if err := b.Runs.SetProperties(ctx, domain.System, kind, id, []domain.Property{{Key: "k", Value: "v"}}); err != nil {
			t.Fatal(err)
		}
	}
	set(runs.ExperimentProperty, b.Experiment)
	set(runs.IterationProperty, b.Iteration)
	if err := b.Projects.DeleteExperiment(ctx, domain.System, b.Experiment); err != nil {
		t.Fatal(err)
	}
	problems := must(b.Check(ctx, false))(t)
	if len(problems) > 0 {
		t.Errorf("the check has found %v", problems)
	}
}

// The latest points are the same in a process with a head, in a process without a head, and after
// compaction.
func TestLatestPoints(t *testing.T) {
	for name, b := range map[string]*bed{"with a head": newBed(t), "plain": newPlainBed(t)} {
		t.Run(name, func(t *testing.T) {
			for i := range 40 {
				b.Log(t, "up", int64(i), float64(i))
				b.Log(t, "down", int64(-i), float64(i))
			}
			b.Log(t, "up", 39, 100) // if two points have the same step, the point written last is used
			r := must(b.Runs.IterationRecord(ctx, domain.System, b.Iteration))(t)
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

// A point that is sent twice is stored once, whether the first copy is in the head or in the
// tables. A restart of the server between the two requests makes no difference.
func TestLogIterationOnce(t *testing.T) {
	b := newBed(t)
	var few, many []points.Sample
	for i := range 5 {
		p := point("few", int64(i%3), float64(i))
		p.RecordedAt = new(scalar.Time(1000 + i))
		few = append(few, p)
	}
	for i := range 100 {
		p := point("many", int64(i%10), float64(i))
		p.RecordedAt = new(scalar.Time(1000 + i))
		many = append(many, p)
	}
	for range 3 {
		for _, metrics := range [][]points.Sample{few, many} {
			if err := b.Runs.LogIteration(ctx, domain.System, b.Iteration, runs.IterationLog{Metrics: metrics}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(pointsOf(t, b.DB, b.Iteration, nil)); n != 105 {
		t.Errorf("there are %d points, want 105", n)
	}
}

func TestFilesOfARun(t *testing.T) {
	b := newBed(t)
	if err := b.Files.DeleteFiles(ctx, domain.System, files.Tree{IterationID: b.Iteration}, "nothing"); err == nil || domain.AsError(err).Code != domain.CodeNotFound {
		t.Errorf("deleting nothing: %v", err)
	}
	for _, name := range []string{"../x", "a//b", "/a", "a/", ""} {
		if err := b.Files.AllowFile(ctx, domain.System, files.Tree{IterationID: b.Iteration}, name); err == nil || domain.AsError(err).Code != domain.CodeInvalidPayload {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Runs can be searched and sorted by properties.
func TestSearchByProperty(t *testing.T) {
	b := newBed(t)
	for _, value := range []string{"red", "blue", "10"} {
		id := must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: &value}))(t).ID
		err := b.Runs.SetProperties(ctx, domain.System, runs.IterationProperty, id, []domain.Property{{Key: "team", Value: value}})
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
		l := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: filter, Sort: "property.team"}))(t)
		got := ""
		for _, i := range l.Data {
			got += i.Name + " "
		}
		if got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
	_, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: "property.team = 1"})
	if err == nil || domain.AsError(err).Code != domain.CodeInvalidPayload {
		t.Errorf("a number: %v", err)
	}
}

// If several fields are invalid, the same field is reported each time.
func TestFirstWrongField(t *testing.T) {
	b := newBed(t)
	wrong := "\xff"
	for range 20 {
		err := b.Runs.LogIteration(ctx, domain.System, b.Iteration, runs.IterationLog{
			Snapshot: &runs.SnapshotPatch{GitSHA: &wrong, GitRemote: &wrong, Entrypoint: &wrong}})
		if e := domain.AsError(err); e == nil || e.Field != "git_sha" {
			t.Fatalf("snapshot: %v", err)
		}
		_, err = b.Collections.UpdateVersion(ctx, domain.System, "x", collections.Patch{Description: &wrong, Metadata: &wrong})
		if e := domain.AsError(err); e == nil || e.Field != "description" {
			t.Fatalf("artifact: %v", err)
		}
		err = b.Archive.Export(ctx, domain.System, archive.Query{ProjectID: b.Project, Records: []string{"report/b", "report/a", "report/c"}},
			archive.Options{}, io.Discard)
		if e := domain.AsError(err); e == nil || !strings.Contains(e.Message, "report/b") {
			t.Fatalf("archive: %v", err)
		}
	}
}
