package store_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tracker/store"
)

// node is a record of a tree.
type node struct {
	kind    store.TrashKind
	id      string
	parent  *node
	deleted bool // by itself
	purged  bool
}

// shown reports whether the record and all that hold it are not deleted.
func (n *node) shown() bool { return n == nil || !n.deleted && !n.purged && n.parent.shown() }

// there reports whether the record and all that hold it exist.
func (n *node) there() bool { return n == nil || !n.purged && n.parent.there() }

// After deletions, restores and purges in a random order, the listings and the trash are
// those of a tree of plain records.
func TestTrashProperty(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 0))
		f := filled{bed: newTrashBed(t)}
		var all []*node
		add := func(kind store.TrashKind, parent *node, id string) *node {
			n := &node{kind: kind, id: id, parent: parent}
			all = append(all, n)
			return n
		}
		for range 2 {
			p := add(store.TrashedProject, nil, must(f.CreateProject(ctx, store.System, store.NewProject{Name: "p"}))(t).ID)
			for range 2 {
				e := add(store.TrashedExperiment, p, must(f.CreateExperiment(ctx, store.System, p.id, store.NewExperiment{Name: "e"}))(t).ID)
				add(store.TrashedArtifact, e, f.keep(t, e.id, store.NewArtifact{Name: "r"}, "bytes"))
				for range 2 {
					i := add(store.TrashedIteration, e, must(f.CreateIteration(ctx, store.System, e.id, store.NewIteration{}))(t).ID)
					must(f.CreateParameter(ctx, store.System, i.id, "lr", "0.1"))(t)
					must(f.CreateMetric(ctx, store.System, i.id, point("loss", 1, 2)))(t)
					add(store.TrashedArtifact, i, f.keep(t, e.id, store.NewArtifact{Name: "r", IterationID: i.id}, "bytes"))
				}
			}
			add(store.TrashedModel, p, newModel(t, f.bed, p.id, "m"))
		}
		f.clock.Add(time.Hour)
		for range 60 {
			n := all[random.IntN(len(all))]
			switch random.IntN(5) {
			case 0, 1:
				want := store.Code("")
				if !n.shown() {
					want = store.CodeNotFound
				}
				if got := codeOf(f.remove(n.kind, n.id)); got != want {
					t.Fatalf("seed %d: deleting the %s: %q, want %q", seed, n.kind, got, want)
				}
				n.deleted = n.deleted || want == ""
			case 2, 3:
				want := store.Code("")
				switch {
				case !n.there() || !n.deleted:
					want = store.CodeNotFound
				case !n.parent.shown():
					want = store.CodeConflict
				}
				if got := codeOf(f.Restore(ctx, store.System, n.id)); got != want {
					t.Fatalf("seed %d: restoring the %s: %q, want %q", seed, n.kind, got, want)
				}
				n.deleted = n.deleted && want != ""
			default:
				want := store.Code("")
				if !n.there() || !n.deleted {
					want = store.CodeNotFound
				}
				if random.IntN(4) > 0 && want == "" {
					continue // or soon nothing would be left
				}
				if got := codeOf(f.Purge(ctx, store.System, n.id)); got != want {
					t.Fatalf("seed %d: purging the %s: %q, want %q", seed, n.kind, got, want)
				}
				n.purged = n.purged || want == ""
			}
			f.compare(t, all)
		}
		wantClean(t, f.DB)
	}
}

// compare fails unless the records that are found, and the trash, are those of the
// tree.
func (f filled) compare(t *testing.T, all []*node) {
	t.Helper()
	var want []string
	experiments := map[string]int{} // runs that are shown, by the id of the experiment
	for _, n := range all {
		var err error
		switch n.kind {
		case store.TrashedProject:
			_, err = f.Project(ctx, store.System, n.id)
		case store.TrashedExperiment:
			_, err = f.Experiment(ctx, store.System, n.id)
		case store.TrashedIteration:
			_, err = f.Iteration(ctx, store.System, n.id)
			if n.shown() {
				experiments[n.parent.id]++
			}
		case store.TrashedModel:
			_, err = f.Model(ctx, store.System, n.id)
		case store.TrashedArtifact:
			_, err = f.Artifact(ctx, store.System, n.id)
		}
		if (err == nil) != n.shown() || err != nil && codeOf(err) != store.CodeNotFound {
			t.Fatalf("the %s is shown: %v; %v", n.kind, n.shown(), err)
		}
		if n.deleted && n.there() {
			want = append(want, n.id)
		}
	}
	for _, n := range all {
		if n.kind != store.TrashedExperiment || !n.shown() {
			continue
		}
		runs := experiments[n.id]
		e := must(f.Experiment(ctx, store.System, n.id))(t)
		keys := must(f.Keys(ctx, store.System, n.id, store.KeyQuery{Page: store.FirstPage}))(t).Data
		if e.IterationCount != runs || runs == 0 && len(keys) > 0 || runs > 0 && (len(keys) != 2 || keys[0].Iterations != runs || keys[1].Iterations != runs) {
			t.Fatalf("%d runs are shown, the experiment says %d, and the names are %+v", runs, e.IterationCount, keys)
		}
	}
	got := trash(t, f.DB)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("in the trash are %v, want %v", got, want)
	}
}
