package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/search"
)

// openForTest opens an empty database and closes it at the end of the test.
func openForTest(t testing.TB) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// newExperiment creates a project with an experiment and returns the id of the experiment.
func newExperiment(t testing.TB, db *store.DB) string {
	t.Helper()
	p, err := db.Projects.CreateProject(context.Background(), domain.System, domain.NewProject{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := db.Projects.CreateExperiment(context.Background(), domain.System, p.ID, projects.NewExperiment{Name: "e"})
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// fill creates iterations that ran long ago, with parameters param_00 … and metrics
// train/metric_0000 …
func fill(t testing.TB, db *store.DB, iterations, params, metrics int) string {
	t.Helper()
	experimentID := newExperiment(t, db)
	rng := rand.New(rand.NewPCG(1, 1))
	one := func(tx *domain.Tx) error {
		id := domain.NewID()
		if _, err := tx.Exec(`INSERT INTO iteration (id, experiment_id, name, status, created_date, last_seen)
			VALUES (?, ?, ?, ?, ?, ?)`, id, experimentID, "run "+id[30:], domain.Running, 1000, 2000); err != nil {
			return err
		}
		var num int64
		if err := tx.Row(`SELECT num FROM iteration WHERE id = ?`, id).Scan(&num); err != nil {
			return err
		}
		for k := range params {
			id := domain.NewID()
			if _, err := tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)`,
				num, fmt.Sprintf("param_%02d", k), id, fmt.Sprint(rng.Float64())); err != nil {
				return err
			}
		}
		for k := range metrics {
			v := rng.Float64()
			if _, err := tx.Exec(`INSERT INTO series (iteration_num, key, count, finite, last, last_step, last_at, min, min_step, max, max_step, sum)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, num, fmt.Sprintf("train/metric_%04d", k),
				1000, 1000, v, 999, 1_700_000_000_000, v/2, 500, v*2, 20, v*1000); err != nil {
				return err
			}
		}
		return nil
	}
	for done := 0; done < iterations; done += 100 {
		err := domain.Change(context.Background(), db.Base(), domain.System, func(tx *domain.Tx) error {
			for range min(100, iterations-done) {
				if err := one(tx); err != nil {
					return err
				}
			}
			return tx.DB.Points.Participant().Load(tx.Tx, true) // the head does not know these series yet
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return experimentID
}

// columnsOf returns n columns. If there are parameters, half of the columns are parameters.
func columnsOf(params, n int) string {
	var all string
	for i := range n {
		if i < params/2 {
			all += fmt.Sprintf("param.param_%02d,", i)
		} else {
			all += fmt.Sprintf("metric.train/metric_%04d,", 3*i)
		}
	}
	return all[:len(all)-1]
}

// BenchmarkSearch lists 50 iterations with 20 columns, filtered by one metric and sorted by
// another, with and without copies of both in search_value. Without copies it measures the first
// search after the runs have logged.
func BenchmarkSearch(b *testing.B) {
	for _, size := range []struct{ iterations, params, metrics int }{{10_000, 20, 100}, {1500, 20, 1500}} {
		b.Run(fmt.Sprintf("%dx%d", size.iterations, size.metrics), func(b *testing.B) {
			db := openForTest(b)
			experimentID := fill(b, db, size.iterations, size.params, size.metrics)
			for _, c := range []struct {
				name, filter, sort string
				copies             []string
			}{
				{"first", "metric.train/metric_0010 < 0.5", "-metric.train/metric_0050", nil},
				{"copied", "metric.train/metric_0011 < 0.5", "-metric.train/metric_0051", []string{"train/metric_0011", "train/metric_0051"}},
				{"all", "", "metric.train/metric_0051.min", []string{"train/metric_0051"}},
				{"param", "param.param_03 < 0.5", "param.param_04", nil},
				{"plain", "", "", nil},
			} {
				for _, key := range c.copies {
					if err := db.Base().Copies.Copy(search.Metric{ExperimentID: experimentID, Key: key}); err != nil {
						b.Fatal(err)
					}
				}
				q := runs.IterationQuery{Page: domain.FirstPage, Filter: c.filter, Sort: c.sort, Columns: columnsOf(size.params, 20)}
				b.Run(c.name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						if c.name == "first" {
							b.StopTimer()
							dropCopies(b, db)
							b.StartTimer()
						}
						start := time.Now()
						l, err := db.Runs.Iterations(context.Background(), domain.System, experimentID, q)
						if err != nil || len(l.Data) != 50 || len(l.Data[0].Metrics) != 10 {
							b.Fatal(len(l.Data), err)
						}
						took = append(took, time.Since(start))
					}
					reportMedian(b, took)
				})
			}
		})
	}
}

// reportMedian reports the median time. On a shared machine it is more useful than the mean.
func reportMedian(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}

func dropCopies(t testing.TB, db *store.DB) {
	t.Helper()
	if err := domain.Change(context.Background(), db.Base(), domain.System, func(tx *domain.Tx) error {
		_, err := tx.Exec(`DELETE FROM search_value`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkKeys lists the names of an experiment, and searches them.
func BenchmarkKeys(b *testing.B) {
	for _, size := range []struct{ iterations, params, metrics int }{{1500, 20, 1500}, {1, 0, 100_000}} {
		b.Run(fmt.Sprintf("%dx%d", size.iterations, size.metrics), func(b *testing.B) {
			db := openForTest(b)
			experimentID := fill(b, db, size.iterations, size.params, size.metrics)
			for name, part := range map[string]string{"all": "", "part": "RIC_0123", "unicode": "métric", "none": "no such"} {
				b.Run(name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						start := time.Now()
						if _, err := db.Runs.Keys(context.Background(), domain.System, experimentID, runs.KeyQuery{Page: domain.FirstPage, Part: part}); err != nil {
							b.Fatal(err)
						}
						took = append(took, time.Since(start))
					}
					reportMedian(b, took)
				})
			}
		})
	}
}
