package search_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/storetest"
	"tracker/store/users"
)

// names returns the names of the runs on a page of a search, and the number of all matching runs.
func names(t *testing.T, db *store.DB, actor domain.Actor, experiment string, q runs.IterationQuery) (names []string, total int) {
	t.Helper()
	l, err := db.Runs.Iterations(context.Background(), actor, experiment, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Data {
		names = append(names, r.Name)
	}
	return names, l.Total
}

// Until any process writes, each page of a remembered order is the same as in a new search.
func TestOrderIsRememberedUntilAWrite(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "t.db")
	db, err := store.Open(ctx, store.Options{Path: path, BcryptCost: 4, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e := newExperiment(t, db)
	var all []string
	for i := range 30 {
		name := fmt.Sprintf("r%02d", i)
		runWith(t, db, e, name, nil, map[string][]float64{"loss": {float64(i * 7 % 30)}})
		all = append(all, name)
	}
	slices.SortFunc(all, func(a, b string) int {
		loss := func(name string) (n int) { fmt.Sscanf(name, "r%d", &n); return n * 7 % 30 }
		return loss(b) - loss(a)
	})
	search := runs.IterationQuery{Filter: "metric.loss >= 0", Sort: "-metric.loss"}
	check := func(want []string) {
		t.Helper()
		for _, limit := range []int{1, 7, 30, 50} {
			for offset := 0; offset < 40; offset += limit {
				search.Page = domain.Page{Limit: limit, Offset: offset}
				got, total := names(t, db, domain.System, e, search)
				if !slices.Equal(got, want[min(offset, len(want)):min(offset+limit, len(want))]) || total != len(want) {
					t.Fatalf("%d from %d are %v of %d, want those of %v", limit, offset, got, total, want)
				}
			}
		}
	}
	check(all)
	if db.Base().Orders.Len() == 0 {
		t.Error("nothing is remembered")
	}
	check(all)
	runWith(t, db, e, "best", nil, map[string][]float64{"loss": {1000}})
	check(slices.Concat([]string{"best"}, all))

	other, err := store.Open(ctx, store.Options{Path: path, BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	runWith(t, other, e, "better", nil, map[string][]float64{"loss": {2000}})
	check(slices.Concat([]string{"better", "best"}, all))
}

// A remembered order stays valid after a write to another experiment. It is dropped after a write
// to the experiment, or if the effect of a write is unknown.
func TestOrderHoldsUntilItsExperimentChanges(t *testing.T) {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4, Exclusive: true, TrashAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e := newExperiment(t, db)
	project, err := db.Projects.Experiment(ctx, domain.System, e)
	if err != nil {
		t.Fatal(err)
	}
	other, err := db.Projects.CreateExperiment(ctx, domain.System, project.ProjectID, projects.NewExperiment{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	id := func(experiment, name string) string {
		t.Helper()
		c, err := db.Runs.CreateIteration(ctx, domain.System, experiment, runs.NewIteration{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	log := func(id string, l runs.IterationLog) func() error {
		return func() error { return db.Runs.LogIteration(ctx, domain.System, id, l) }
	}
	loss := func(v float64) runs.IterationLog {
		return runs.IterationLog{Metrics: []points.Sample{{Key: "loss", Value: scalar.Value(v), Step: new(scalar.Step)}}}
	}
	a, b, c := id(e, "a"), id(e, "b"), id(other.ID, "c")
	for n, run := range []string{a, b, c} {
		if err := log(run, loss(float64(n)))(); err != nil {
			t.Fatal(err)
		}
	}
	if err := storetest.Compact(db); err != nil {
		t.Fatal(err)
	}
	tag := []domain.Property{{Key: "k", Value: "v"}}
	for _, w := range []struct {
		name  string
		write func() error
		holds bool
		after string // names of the runs
	}{
		{"nothing", func() error { return nil }, true, "[b a]"},
		{"points elsewhere", log(c, loss(9)), true, "[b a]"},
		{"a tag elsewhere", log(c, runs.IterationLog{Properties: tag}), true, "[b a]"},
		{"a new run elsewhere", func() error { id(other.ID, "d"); return nil }, true, "[b a]"},
		{"the end of a run elsewhere", func() error {
			return db.Runs.UpdateIteration(ctx, domain.System, c, runs.IterationPatch{Status: new(domain.Succeeded)})
		}, true, "[b a]"},
		{"a tag of an experiment", func() error { return db.Runs.SetProperties(ctx, domain.System, runs.ExperimentProperty, other.ID, tag) }, true, "[b a]"},
		{"a new experiment", func() error {
			_, err := db.Projects.CreateExperiment(ctx, domain.System, project.ProjectID, projects.NewExperiment{Name: "third"})
			return err
		}, true, "[b a]"},
		{"a point", func() error {
			_, err := db.Runs.CreateMetric(ctx, domain.System, a, points.Sample{Key: "loss", Value: 5, Step: new(scalar.Step)})
			return err
		}, false, "[a b]"},
		{"compaction", func() error { return storetest.Compact(db) }, true, "[a b]"},
		{"a tag", log(a, runs.IterationLog{Properties: tag}), false, "[a b]"},
		{"a new run", func() error { return log(id(e, "x"), loss(2))() }, false, "[a x b]"},
		{"a deletion", func() error { return db.Runs.DeleteIteration(ctx, domain.System, a) }, false, "[x b]"},
		{"a restoration", func() error { return db.Trash.Restore(ctx, domain.System, a) }, false, "[a x b]"},
		{"the end of a run", func() error {
			return db.Runs.UpdateIteration(ctx, domain.System, a, runs.IterationPatch{Status: new(domain.Succeeded)})
		}, false, "[a x b]"},
		{"a parameter", func() error { _, err := db.Runs.CreateParameter(ctx, domain.System, b, "p", "1"); return err }, false, "[a x b]"},
		{"a new user", func() error {
			_, err := db.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "ada", Password: "correct horse battery"})
			return err
		}, true, "[a x b]"},
	} {
		search := func() string {
			t.Helper()
			found, _ := names(t, db, domain.System, e, runs.IterationQuery{Filter: "metric.loss >= 0", Sort: "-metric.loss", Page: domain.FirstPage})
			return fmt.Sprint(found)
		}
		search()
		if err := w.write(); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		if holds := db.Base().Orders.Len() > 0; holds != w.holds {
			t.Errorf("after %s the order holds: %t", w.name, holds)
		}
		if got := search(); got != w.after {
			t.Errorf("after %s there are %s, want %s", w.name, got, w.after)
		}
	}
}

// A remembered order is not shown to users without the right to read.
func TestRememberedOrderNeedsRead(t *testing.T) {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e := newExperiment(t, db)
	runWith(t, db, e, "a", nil, map[string][]float64{"loss": {1}})
	search := runs.IterationQuery{Sort: "metric.loss", Page: domain.FirstPage}
	names(t, db, domain.System, e, search)
	if _, err := db.Runs.Iterations(ctx, domain.Actor{UserID: "nobody"}, e, search); err == nil {
		t.Error("a stranger gets the remembered order")
	}
}
