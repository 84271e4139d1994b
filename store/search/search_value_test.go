package search_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/store/sqlite"
	"tracker/store/storetest"
)

// copiesOf returns the number of copies of each copied metric.
func copiesOf(t testing.TB, db *store.DB) map[string]int {
	t.Helper()
	all, err := domain.Read(context.Background(), db.Base(), func(tx *domain.Tx) (map[string]int, error) {
		var rows []struct {
			Key string `db:"key"`
			N   int    `db:"n"`
		}
		err := tx.Select(&rows, `SELECT key, (SELECT count(*) FROM search_value WHERE search_value.id >> 32 = search_key.id) AS n
			FROM search_key`)
		all := map[string]int{}
		for _, r := range rows {
			all[r.Key] = r.N
		}
		return all, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantCopies(t testing.TB, db *store.DB, want map[string]int) {
	t.Helper()
	if got := copiesOf(t, db); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("copies are %v, want %v", got, want)
	}
}

func execute(t testing.TB, db *store.DB, sql string, args ...any) {
	t.Helper()
	if err := domain.Change(context.Background(), db.Base(), domain.System, func(tx *domain.Tx) error {
		_, err := tx.Exec(sql, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// wantSound checks that Check finds no problem with the copies or the counts of names.
func wantSound(t testing.TB, db *store.DB) {
	t.Helper()
	if found := problemsOf(t, db, false); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// problemsOf returns the problems that Check finds. It ignores series without points, because
// fill creates such series.
func problemsOf(t testing.TB, db *store.DB, repair bool) (found []string) {
	t.Helper()
	problems, err := db.Check(context.Background(), repair)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p.Text, "The statistics of metric") {
			found = append(found, p.Text)
		}
	}
	return found
}

// TestSearchAsksForCopies waits for the commit of the copies that a search requests.
func TestSearchAsksForCopies(t *testing.T) {
	commits := make(chan sqlite.CommitStats, 1000)
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4,
		OnCommit: func(s sqlite.CommitStats) { commits <- s }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e := fill(t, db, search.MinCopies, 0, 2)
	for len(commits) > 0 {
		<-commits
	}
	before := namesOf(t, db, e, runs.IterationQuery{Filter: "metric.train/metric_0001 < 0.5 or metric.none = 1", Sort: "-metric.train/metric_0001.max"})
	<-commits
	wantCopies(t, db, map[string]int{"train/metric_0001": search.MinCopies})
	after := namesOf(t, db, e, runs.IterationQuery{Filter: "metric.train/metric_0001 < 0.5 or metric.none = 1", Sort: "-metric.train/metric_0001.max"})
	if before != after || before == "" {
		t.Errorf("without copies it finds %s, with them %s", before, after)
	}
}

func TestCopiesAreOfWhatRests(t *testing.T) {
	f := newSearchFixture(t, 1)
	e := fill(t, f.db, search.MinCopies+2, 0, 1)
	metric := search.Metric{ExperimentID: e, Key: "train/metric_0000"}

	// Two runs were seen just before, and one of them has ended.
	l, err := f.db.Runs.Iterations(context.Background(), domain.System, e, runs.IterationQuery{Page: domain.FirstPage})
	f.must(err)
	f.must(f.db.Runs.Heartbeat(context.Background(), domain.System, l.Data[0].ID))
	f.must(f.db.Runs.UpdateIteration(context.Background(), domain.System, l.Data[1].ID, runs.IterationPatch{Status: new(domain.Failed)}))
	f.must(f.db.Base().Copies.Copy(metric))
	wantCopies(t, f.db, map[string]int{"train/metric_0000": search.MinCopies + 1})

	// If only a single copy is missing, it is not written, however long the metric has not
	// changed.
	f.clock.Add(2 * search.RestTime.Milliseconds())
	f.must(f.db.Base().Copies.Copy(metric))
	wantCopies(t, f.db, map[string]int{"train/metric_0000": search.MinCopies + 1})

	// A metric that no iteration has is not copied.
	f.must(f.db.Base().Copies.Copy(search.Metric{ExperimentID: e, Key: "no such"}))
	f.must(f.db.Base().Copies.Copy(search.Metric{ExperimentID: "no such", Key: "train/metric_0000"}))
	wantCopies(t, f.db, map[string]int{"train/metric_0000": search.MinCopies + 1})
}

func TestCopiesGoWithTheirOriginals(t *testing.T) {
	db := openForTest(t)
	e := fill(t, db, search.MinCopies, 0, 1)
	if err := db.Base().Copies.Copy(search.Metric{ExperimentID: e, Key: "train/metric_0000"}); err != nil {
		t.Fatal(err)
	}
	l, err := db.Runs.Iterations(context.Background(), domain.System, e, runs.IterationQuery{Page: domain.FirstPage})
	if err != nil {
		t.Fatal(err)
	}
	want := search.MinCopies
	for name, do := range map[string]func(id string) error{
		"a point": func(id string) error {
			_, err := db.Runs.CreateMetric(context.Background(), domain.System, id, points.Sample{Key: "train/metric_0000", Value: 5})
			return err
		},
		"the iteration": func(id string) error { return db.Runs.DeleteIteration(context.Background(), domain.System, id) },
		"the series": func(id string) error {
			execute(t, db, `DELETE FROM series WHERE iteration_num = (SELECT num FROM iteration WHERE id = ?)`, id)
			return nil
		},
		"by another program": func(id string) error {
			execute(t, db, `UPDATE series SET last = 7 WHERE iteration_num = (SELECT num FROM iteration WHERE id = ?)`, id)
			return nil
		},
	} {
		id := l.Data[0].ID
		l.Data = l.Data[1:]
		if err := do(id); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want--
		wantCopies(t, db, map[string]int{"train/metric_0000": want})
		wantSound(t, db)
	}

	// Removing a name removes its counts.
	execute(t, db, `UPDATE series SET key = 'renamed' WHERE iteration_num = (SELECT num FROM iteration WHERE id = ?)`, l.Data[0].ID)
	want--
	wantCopies(t, db, map[string]int{"train/metric_0000": want})
	wantSound(t, db)
	l.Data = l.Data[1:]

	// The copy for a run without the metric is deleted when the run logs it.
	late := l.Data[0].ID
	execute(t, db, `DELETE FROM series WHERE iteration_num = (SELECT num FROM iteration WHERE id = ?)`, late)
	copyOne(t, db, late)
	wantCopies(t, db, map[string]int{"train/metric_0000": want})
	if _, err := db.Runs.CreateMetric(context.Background(), domain.System, late, points.Sample{Key: "train/metric_0000", Value: 5}); err != nil {
		t.Fatal(err)
	}
	wantCopies(t, db, map[string]int{"train/metric_0000": want - 1})
	wantSound(t, db)

	// It is also deleted with the run.
	execute(t, db, `DELETE FROM series WHERE iteration_num = (SELECT num FROM iteration WHERE id = ?)`, late)
	copyOne(t, db, late)
	wantCopies(t, db, map[string]int{"train/metric_0000": want})
	if err := db.Runs.DeleteIteration(context.Background(), domain.System, late); err != nil {
		t.Fatal(err)
	}
	wantCopies(t, db, map[string]int{"train/metric_0000": want - 1})
}

// copyOne copies the metric of one run.
func copyOne(t testing.TB, db *store.DB, id string) {
	t.Helper()
	if err := domain.Change(context.Background(), db.Base(), domain.System, func(tx *domain.Tx) error {
		var num int64
		if err := tx.Row(`SELECT num FROM iteration WHERE id = ?`, id).Scan(&num); err != nil {
			return err
		}
		return search.CopyStats(tx.Tx, "train/metric_0000", []int64{num})
	}); err != nil {
		t.Fatal(err)
	}
}

func TestCopiesAreOfABoundedNumberOfMetrics(t *testing.T) {
	db := openForTest(t)
	e := fill(t, db, 1, 0, 1)
	found := namesOf(t, db, e, runs.IterationQuery{})
	for i := range search.MaxSearchKeys + 2 {
		if err := domain.Change(context.Background(), db.Base(), domain.System, func(tx *domain.Tx) error {
			return search.CopyStats(tx.Tx, fmt.Sprint("k", i), []int64{1})
		}); err != nil {
			t.Fatal(err)
		}
	}
	got := copiesOf(t, db)
	for i := range search.MaxSearchKeys + 2 {
		if n, ok := got[fmt.Sprint("k", i)]; ok != (i >= 2) || n != 1 && ok {
			t.Errorf("metric %d has %d copies (%v)", i, n, ok)
		}
	}
	wantSound(t, db)
	if got := namesOf(t, db, e, runs.IterationQuery{Filter: "not metric.k0 = 1 and not metric.k9 = 1"}); got != found {
		t.Errorf("finds %q, want %q", got, found)
	}
}

func TestCheckFindsWrongCopies(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	for range 5 {
		runWith(t, db, e, "run", map[string]string{"param_00": "0", "param_01": "1"}, map[string][]float64{"loss": {1}, "acc": {2}})
	}
	if err := storetest.CopyForSearch(db, "loss"); err != nil {
		t.Fatal(err)
	}
	wantSound(t, db)
	for _, damage := range []string{
		`UPDATE search_value SET last = 5 WHERE id & 0xffffffff = 1`,
		`UPDATE search_value SET min = NULL WHERE id & 0xffffffff = 2`,
		`UPDATE search_value SET max = 0, mean = 1 WHERE id & 0xffffffff = 3`,
		`UPDATE search_value SET count = 0 WHERE id & 0xffffffff = 4`,
		`INSERT INTO search_value (id, count) VALUES ((7 << 32) + 5, 0)`,
	} {
		execute(t, db, damage)
		repairs(t, db, "1 statistics that were copied for searches differ")
	}
	for _, damage := range []string{
		`UPDATE experiment_key SET iterations = 7 WHERE key = 'param_01'`,
		`DELETE FROM experiment_key WHERE kind = 'metric'`,
		`INSERT INTO experiment_key SELECT experiment_id, kind, 'x', 1 FROM experiment_key WHERE key = 'param_01'`,
	} {
		execute(t, db, damage)
		repairs(t, db, "The counts of parameter and metric names do not match")
	}
}

// repairs checks that Check finds exactly this problem, and that the repair removes it.
func repairs(t *testing.T, db *store.DB, want string) {
	t.Helper()
	for _, repair := range []bool{false, true} {
		if got := problemsOf(t, db, repair); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("found %q, want %s", got, want)
		}
	}
	if got := problemsOf(t, db, false); len(got) != 0 {
		t.Errorf("after the repair there is %q", got)
	}
}
