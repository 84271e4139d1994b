package store_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// benchClients is the number of concurrent callers.
const benchClients = 8

// benchBed returns a bed that counts commits and reports the number of requests per commit.
func benchBed(b *testing.B) *bed {
	var commits, jobs atomic.Int64
	bed := newBedWith(b, store.Options{OnCommit: func(s sqlite.CommitStats) {
		commits.Add(1)
		jobs.Add(int64(s.Jobs))
	}})
	commits.Store(0)
	jobs.Store(0)
	b.Cleanup(func() { b.ReportMetric(float64(jobs.Load())/float64(commits.Load()), "requests/commit") })
	return bed
}

// parallel runs fn in benchClients goroutines, each with its own number.
func parallel(b *testing.B, fn func(client, i int) error) {
	b.SetParallelism(max(1, benchClients/runtime.GOMAXPROCS(0)))
	var clients atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		client := int(clients.Add(1))
		for i := 0; pb.Next(); i++ {
			if err := fn(client, i); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkCreateMetric measures eight runs that log one value at a time.
func BenchmarkCreateMetric(b *testing.B) {
	bed := benchBed(b)
	var iterations []string
	for range benchClients + runtime.GOMAXPROCS(0) {
		iterations = append(iterations, bed.newIteration(b))
	}
	parallel(b, func(client, i int) error {
		_, err := bed.Runs.CreateMetric(ctx, domain.System, iterations[client%len(iterations)],
			points.Sample{Key: "loss", Value: scalar.Value(i)})
		return err
	})
}

// BenchmarkCreateMetricBatch20 measures eight runs that log twenty keys for each step.
func BenchmarkCreateMetricBatch20(b *testing.B) {
	bed := benchBed(b)
	var iterations []string
	for range benchClients + runtime.GOMAXPROCS(0) {
		iterations = append(iterations, bed.newIteration(b))
	}
	batch := make([]points.Sample, 20)
	for k := range batch {
		batch[k] = points.Sample{Key: fmt.Sprint("metric/", k), Value: scalar.Value(k)}
	}
	parallel(b, func(client, i int) error {
		_, err := bed.Runs.CreateMetricBatch(ctx, domain.System, iterations[client%len(iterations)], batch)
		return err
	})
	b.ReportMetric(float64(len(batch)*b.N)/b.Elapsed().Seconds(), "points/s")
}

// BenchmarkMetricsPage reads pages from the middle of a long series.
func BenchmarkMetricsPage(b *testing.B) {
	bed := newBed(b)
	all := make([]points.Sample, 100_000)
	for i := range all {
		all[i] = point("loss", int64(i), float64(i))
	}
	wantOK(b, bed.Runs.CreateMetrics(ctx, domain.System, bed.iteration, all))
	for _, offset := range []int{0, 10_000, 90_000} {
		for _, key := range []*string{nil, new("loss")} {
			name := fmt.Sprintf("all keys, offset %d", offset)
			if key != nil {
				name = fmt.Sprintf("one key, offset %d", offset)
			}
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					l, err := bed.Runs.Metrics(ctx, domain.System, bed.iteration,
						runs.MetricQuery{Page: domain.Page{Limit: domain.DefaultLimit, Offset: offset}, Key: key})
					if err != nil || len(l.Data) != domain.DefaultLimit {
						b.Fatalf("%d points (%v)", len(l.Data), err)
					}
				}
			})
		}
	}
}

// BenchmarkBareDriver measures the driver alone, for comparison with the rates above: durable
// inserts into the same table, one row for each commit.
func BenchmarkBareDriver(b *testing.B) {
	schema := open(b, store.Options{Path: filepath.Join(b.TempDir(), "bare.db")})
	path := schema.Path()
	wantOK(b, schema.Close())
	db := raw(b, path)
	execSQL(b, db, `PRAGMA journal_mode = WAL`)
	execSQL(b, db, `PRAGMA synchronous = FULL`)
	insert := must(db.Prepare(`INSERT INTO metric (series_id, step, seq, value, recorded_at) VALUES (?, ?, ?, ?, ?)`))(b)
	defer insert.Close()
	i := 0
	for b.Loop() {
		if _, err := insert.Exec(i%benchClients, i/benchClients, i, float64(i), 1795253400000); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "requests/s")
}
