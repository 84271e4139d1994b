package trash_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/runs"
)

// node is a record of a tree.
type node struct {
	kind    domain.TrashKind
	id      string
	parent  *node
	deleted bool // the record was deleted separately
	purged  bool
}

// shown reports whether neither the record nor any of its containers is deleted.
func (n *node) shown() bool { return n == nil || !n.deleted && !n.purged && n.parent.shown() }

// there reports whether the record and all of its containers exist, in the trash or not.
func (n *node) there() bool { return n == nil || !n.purged && n.parent.there() }

// After deletions, restores and purges in a random order, the listings and the trash agree with a
// tree of plain records.
func TestTrashProperty(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 0))
		f := filled{bed: newTrashBed(t)}
		var all []*node
		add := func(kind domain.TrashKind, parent *node, id string) *node {
			n := &node{kind: kind, id: id, parent: parent}
			all = append(all, n)
			return n
		}
		for range 2 {
			p := add(domain.TrashedProject, nil, must(f.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "p"}))(t).ID)
			for range 2 {
				e := add(domain.TrashedExperiment, p, must(f.Projects.CreateExperiment(ctx, domain.System, p.id, projects.NewExperiment{Name: "e"}))(t).ID)
				add(domain.TrashedArtifact, e, f.Keep(t, e.id, files.NewArtifact{Name: "r"}, "bytes"))
				for range 2 {
					i := add(domain.TrashedIteration, e, must(f.Runs.CreateIteration(ctx, domain.System, e.id, runs.NewIteration{}))(t).ID)
					must(f.Runs.CreateParameter(ctx, domain.System, i.id, "lr", "0.1"))(t)
					must(f.Runs.CreateMetric(ctx, domain.System, i.id, point("loss", 1, 2)))(t)
					add(domain.TrashedArtifact, i, f.Keep(t, e.id, files.NewArtifact{Name: "r", IterationID: i.id}, "bytes"))
				}
			}
			add(domain.TrashedModel, p, newModel(t, f.bed, p.id, "m"))
		}
		f.Clock.Add(time.Hour)
		for range 60 {
			n := all[random.IntN(len(all))]
			switch random.IntN(5) {
			case 0, 1:
				want := domain.Code("")
				if !n.shown() {
					want = domain.CodeNotFound
				}
				if got := codeOf(f.remove(n.kind, n.id)); got != want {
					t.Fatalf("seed %d: deleting the %s: %q, want %q", seed, n.kind, got, want)
				}
				n.deleted = n.deleted || want == ""
			case 2, 3:
				want := domain.Code("")
				switch {
				case !n.there() || !n.deleted:
					want = domain.CodeNotFound
				case !n.parent.shown():
					want = domain.CodeConflict
				}
				if got := codeOf(f.Trash.Restore(ctx, domain.System, n.id)); got != want {
					t.Fatalf("seed %d: restoring the %s: %q, want %q", seed, n.kind, got, want)
				}
				n.deleted = n.deleted && want != ""
			default:
				want := domain.Code("")
				if !n.there() || !n.deleted {
					want = domain.CodeNotFound
				}
				if random.IntN(4) > 0 && want == "" {
					continue // otherwise all records would soon be purged
				}
				if got := codeOf(f.Trash.Purge(ctx, domain.System, n.id)); got != want {
					t.Fatalf("seed %d: purging the %s: %q, want %q", seed, n.kind, got, want)
				}
				n.purged = n.purged || want == ""
			}
			f.compare(t, all)
		}
		wantClean(t, f.DB)
	}
}

// compare checks that the listed records and the trash agree with the tree.
func (f filled) compare(t *testing.T, all []*node) {
	t.Helper()
	var want []string
	experiments := map[string]int{} // number of shown runs, by the id of the experiment
	for _, n := range all {
		var err error
		switch n.kind {
		case domain.TrashedProject:
			_, err = f.Projects.Project(ctx, domain.System, n.id)
		case domain.TrashedExperiment:
			_, err = f.Projects.Experiment(ctx, domain.System, n.id)
		case domain.TrashedIteration:
			_, err = f.Runs.Iteration(ctx, domain.System, n.id)
			if n.shown() {
				experiments[n.parent.id]++
			}
		case domain.TrashedModel:
			_, err = f.Models.Model(ctx, domain.System, n.id)
		case domain.TrashedArtifact:
			_, err = f.Files.Artifact(ctx, domain.System, n.id)
		}
		if (err == nil) != n.shown() || err != nil && codeOf(err) != domain.CodeNotFound {
			t.Fatalf("the %s is shown: %v; %v", n.kind, n.shown(), err)
		}
		if n.deleted && n.there() {
			want = append(want, n.id)
		}
	}
	for _, n := range all {
		if n.kind != domain.TrashedExperiment || !n.shown() {
			continue
		}
		found := experiments[n.id]
		e := must(f.Projects.Experiment(ctx, domain.System, n.id))(t)
		keys := must(f.Runs.Keys(ctx, domain.System, n.id, runs.KeyQuery{Page: domain.FirstPage}))(t).Data
		if e.IterationCount != found || found == 0 && len(keys) > 0 || found > 0 && (len(keys) != 2 || keys[0].Iterations != found || keys[1].Iterations != found) {
			t.Fatalf("%d runs are shown, the experiment says %d, and the names are %+v", found, e.IterationCount, keys)
		}
	}
	got := trashed(t, f.DB)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("in the trash are %v, want %v", got, want)
	}
}
