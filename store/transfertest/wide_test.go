package transfertest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/table"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfertest"
)

// widePoints is the number of points of the table that the benchmark imports.
const widePoints = 500_000

// BenchmarkWide imports the same number of points as a few long series and as many short series.
// Run it with -benchtime 1x. cpu-ns/point is the processor time per point.
func BenchmarkWide(b *testing.B) {
	for _, columns := range []int{5, 500, 5000, 50_000} {
		b.Run(fmt.Sprintf("csv/%d-columns", columns), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "wide.csv")
			writeTo(b, path, func(out *bufio.Writer) error { return wideTable(out, columns, widePoints/columns) })
			measureWide(b, table.Kind(), path, widePoints)
		})
	}
	for _, tags := range []int{5, 5000, 200_000} {
		points := max(widePoints/tags, 1) * tags
		b.Run(fmt.Sprintf("tensorboard/%d-tags", tags), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "events.out.tfevents.1")
			writeTo(b, path, func(out *bufio.Writer) error { return wideEvents(out, tags, points/tags) })
			measureWide(b, tensorboard.Kind(), path, points)
		})
	}
}

func measureWide(b *testing.B, kind transfer.Kind, path string, points int) {
	for b.Loop() {
		db, _ := transfertest.Open(b)
		runtime.GC()
		before := cpuTime(b)
		r := transfertest.Import(b, db, kind, path, transfer.Options{})
		b.ReportMetric(float64(cpuTime(b)-before)/float64(points), "cpu-ns/point")
		if r.Points != points || r.Lost > 0 {
			b.Fatalf("%+v", r)
		}
	}
}

func writeTo(t testing.TB, path string, fn func(*bufio.Writer) error) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	if err := errors.Join(fn(out), out.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// wideTable writes a table with a step column and the given number of other columns.
func wideTable(out *bufio.Writer, columns, rows int) error {
	out.WriteString("step")
	for c := range columns {
		fmt.Fprintf(out, ",layer/%d/norm", c)
	}
	for r := range rows {
		out.WriteString("\n" + strconv.Itoa(r))
		for c := range columns {
			out.WriteByte(',')
			out.WriteString(strconv.FormatFloat(1/float64(1+r+7*c), 'g', 6, 64))
		}
	}
	return out.WriteByte('\n')
}

// wideEvents writes the given number of points for each tag.
func wideEvents(out *bufio.Writer, tags, steps int) error {
	w, err := tensorboard.NewWriter(out, t0)
	for step := 0; step < steps && err == nil; step++ {
		for tag := 0; tag < tags && err == nil; tag++ {
			err = w.Scalar(fmt.Sprintf("layer/%d/norm", tag), transfer.Step(step), 1/float64(1+step+7*tag), t0+transfer.Time(step))
		}
	}
	return err
}

// TestWide checks that a run with very many metrics is imported completely in bounded batches.
func TestWide(t *testing.T) {
	const tags = 150_000
	path := filepath.Join(t.TempDir(), "events.out.tfevents.1")
	writeTo(t, path, func(out *bufio.Writer) error { return wideEvents(out, tags, 2) })
	sink := &sizes{}
	r, err := transfertest.Run(t, sink, tensorboard.Kind(), path, transfer.Options{})
	if err != nil || r.Points != 2*tags || r.Lost != 0 {
		t.Errorf("%v: %+v", err, r)
	}
	if sink.writes < 2 || sink.largest > 300_000 {
		t.Errorf("%d batches, the largest with %d points", sink.writes, sink.largest)
	}
}

// sizes is a sink that records the number of writes and the number of points in the largest write.
type sizes struct {
	transfer.Nowhere
	writes, largest int
}

func (s *sizes) Write(_ context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	points := 0
	for _, b := range batches {
		for _, one := range b.Series {
			points += len(one.Steps)
		}
	}
	s.writes, s.largest = s.writes+1, max(s.largest, points)
	return []transfer.Outcome{{Points: points}}, nil
}
