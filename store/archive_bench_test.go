//go:build unix

package store_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/record"
)

// stopwatch measures wall clock time and processor time of this process.
type stopwatch struct {
	began time.Time
	cpu   time.Duration
}

func startWatch(b *testing.B) stopwatch {
	b.Helper()
	return stopwatch{time.Now(), processorTime(b)}
}

func (w stopwatch) stop(b *testing.B) (wall, cpu float64) {
	b.Helper()
	return time.Since(w.began).Seconds(), (processorTime(b) - w.cpu).Seconds()
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// logPoints logs the given number of steps for the given number of metrics of each run, size
// points per call.
func logPoints(b *testing.B, bed *bed, runs []string, names, steps, size int) (samples int) {
	b.Helper()
	for _, run := range runs {
		var batch []points.Sample
		send := func() {
			wantOK(b, bed.Runs.CreateMetrics(ctx, domain.System, run, batch))
			samples += len(batch)
			batch = batch[:0]
		}
		for step := range int64(steps) {
			for name := range names {
				if batch = append(batch, point(fmt.Sprintf("metric/%d", name), step, float64(step)/7)); len(batch) == size {
					send()
				}
			}
		}
		if len(batch) > 0 {
			send()
		}
	}
	return samples
}

// BenchmarkPush copies 1,000,000 points from one database to another, as `tracker push` does. It
// first lists all records, and then copies archives of 20 runs each, with the states of their
// records.
func BenchmarkPush(b *testing.B) {
	for b.Loop() {
		bed := newBedWith(b, store.Options{Exclusive: true})
		runs := []string{bed.iteration}
		for len(runs) < 25 {
			runs = append(runs, bed.newIteration(b))
		}
		w := startWatch(b)
		n := logPoints(b, bed, runs, 10, 4000, 10_000)
		logged, loggedCPU := w.stop(b)

		other := open(b, store.Options{Exclusive: true})
		w = startWatch(b)
		order, _, err := bed.Archive.AllRecords(ctx, domain.System, bed.project, func(string) bool { return false })
		wantOK(b, err)
		for len(order) > 0 {
			some := order[:min(len(order), 20)]
			order = order[len(some):]
			path := filepath.Join(b.TempDir(), "archive.zip")
			f, err := os.Create(path)
			wantOK(b, err)
			wantOK(b, bed.Archive.Export(ctx, domain.System, archive.Query{ProjectID: bed.project, Records: some}, archive.Options{State: func(string, record.State) {}}, f))
			wantOK(b, f.Close())
			_, err = other.Archive.Import(ctx, domain.System, path, archive.ImportOptions{Base: map[string]string{}})
			wantOK(b, err)
		}
		pushed, pushedCPU := w.stop(b)
		b.ReportMetric(float64(n), "points")
		b.ReportMetric(logged, "s-logging")
		b.ReportMetric(pushed, "s-pushing")
		b.ReportMetric(pushed/logged, "pushing/logging")
		b.ReportMetric(pushedCPU/loggedCPU, "cpu-pushing/logging")
	}
}

var exportNames = flag.Int("export-names", 100_000, "how many metrics BenchmarkExportOfManyNames exports, of 6 points each")

// BenchmarkExportOfManyNames exports a run with very many metrics.
func BenchmarkExportOfManyNames(b *testing.B) {
	for b.Loop() {
		bed := newBedWith(b, store.Options{Exclusive: true})
		w := startWatch(b)
		n := logPoints(b, bed, []string{bed.iteration}, *exportNames, 6, 10_000)
		logged, loggedCPU := w.stop(b)
		w = startWatch(b)
		var out bytes.Buffer
		wantOK(b, bed.Archive.Export(ctx, domain.System, archive.Query{ProjectID: bed.project}, archive.Options{}, io.Writer(&out)))
		exported, exportedCPU := w.stop(b)
		b.ReportMetric(float64(n), "points")
		b.ReportMetric(logged, "s-logging")
		b.ReportMetric(exported, "s-exporting")
		b.ReportMetric(exported/logged, "exporting/logging")
		b.ReportMetric(exportedCPU/loggedCPU, "cpu-exporting/logging")
	}
}
