package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
)

// BenchmarkSteady measures the number of bytes that are written per point if 25 runs log 20
// metrics each, one point a second, for 20 minutes. This includes the write-ahead log,
// checkpoints, and as many compactions as in a server.
func BenchmarkSteady(b *testing.B) {
	const runs, keys, seconds, movedEach = 25, 20, 1200, 300
	for b.Loop() {
		bed := newBed(b)
		iterations := make([]string, runs)
		for i := range iterations {
			iterations[i] = bed.newIteration(b)
		}
		before := written(b)
		for second := range seconds {
			for _, id := range iterations {
				all := make([]points.Sample, keys)
				for k := range all {
					at := bed.clock.Time()
					all[k] = points.Sample{Key: fmt.Sprint("layer/", k), Value: scalar.Value(second) / 7, Step: new(scalar.Step(second)), RecordedAt: &at}
				}
				wantOK(b, bed.Runs.CreateMetrics(ctx, domain.System, id, all))
			}
			bed.clock.Add(1e9)
			if second%movedEach == movedEach-1 {
				wantOK(b, bed.Compact())
			}
		}
		wantOK(b, bed.Close())
		points := float64(runs * keys * seconds)
		b.ReportMetric((written(b)-before)/points, "B-written/point")
		file := must(os.Stat(bed.Path()))(b)
		b.ReportMetric(float64(file.Size())/points, "B-on-disk/point")
		b.ReportMetric(0, "ns/op")
	}
}

// written returns the number of bytes that this process has passed to write calls.
func written(b *testing.B) float64 {
	for line := range strings.Lines(string(must(os.ReadFile("/proc/self/io"))(b))) {
		var n float64
		if _, err := fmt.Sscanf(line, "wchar: %g", &n); err == nil {
			return n
		}
	}
	b.Fatal("the kernel does not tell what was written")
	return 0
}
