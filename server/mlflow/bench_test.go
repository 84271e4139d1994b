package mlflow_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"tracker/server/mlflow"
)

// BenchmarkBatch logs 1000 points of 20 metrics, through MLflow's log-batch and through the native
// bulk route.
func BenchmarkBatch(b *testing.B) {
	bench := func(b *testing.B, path func(id string) string, body func(id string, n int) string, status int) {
		bed := start(b)
		id := bed.run(bed.experiment("e"), ``)
		h := bed.server.Config.Handler
		b.ReportAllocs()
		begun, _ := processorTime()
		for n := range b.N {
			b.StopTimer()
			r := httptest.NewRequest("POST", path(id), strings.NewReader(body(id, n)))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			b.StartTimer()
			if h.ServeHTTP(w, r); w.Code != status {
				b.Fatal(w.Body)
			}
		}
		reportProcessorTime(b, begun)
	}
	points := func(n int, time func(int) string) string {
		var all []string
		for i := range 1000 {
			all = append(all, fmt.Sprintf(`{"key": "m%d", "value": %g, "step": %d, %s}`, i%20, 1/float64(i+1), 50*n+i/20, time(1000*n+i)))
		}
		return strings.Join(all, ", ")
	}
	b.Run("log-batch", func(b *testing.B) {
		bench(b, func(string) string { return api + "runs/log-batch" }, func(id string, n int) string {
			return `{"run_id": "` + id + `", "metrics": [` +
				points(n, func(i int) string { return fmt.Sprintf(`"timestamp": %d`, begin+i) }) + `]}`
		}, 200)
	})
	b.Run("bulk", func(b *testing.B) {
		bench(b, func(id string) string { return "/metric/iteration/" + uuid.MustParse(id).String() + "/bulk" }, func(id string, n int) string {
			return `{"metrics": [` + points(n, func(i int) string {
				return fmt.Sprintf(`"recorded_at": "2026-01-01T%02d:%02d:%02d.%03dZ"`, i/3_600_000%24, i/60_000%60, i/1000%60, i%1000)
			}) + `]}`
		}, 201)
	})
}

// BenchmarkDecode decodes the body of a log-batch request.
func BenchmarkDecode(b *testing.B) {
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf(`{"key": "m%d", "value": %g, "step": %d, "timestamp": %d}`, i%20, 1/float64(i+1), i/20, begin+i))
	}
	body := []byte(`{"run_id": "r", "metrics": [` + strings.Join(all, ", ") + `]}`)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := mlflow.DecodeBatch(body); n != 1000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkSingle calls log-metric from four concurrent clients, each with its own run.
func BenchmarkSingle(b *testing.B) {
	bed := start(b)
	experiment := bed.experiment("e")
	h := bed.server.Config.Handler
	const clients = 4
	var ids [clients]string
	for i := range ids {
		ids[i] = bed.run(experiment, ``)
	}
	b.ReportAllocs()
	b.ResetTimer()
	begun, _ := processorTime()
	var all sync.WaitGroup
	for c, id := range ids {
		all.Go(func() {
			for n := c; n < b.N; n += clients {
				r := httptest.NewRequest("POST", api+"runs/log-metric", strings.NewReader(fmt.Sprintf(
					`{"run_uuid": %q, "run_id": %q, "key": "loss", "value": %g, "timestamp": %d, "step": %d}`, id, id, 1/float64(n+1), begin+n, n)))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != 200 {
					b.Error(w.Body)
					return
				}
			}
		})
	}
	all.Wait()
	reportProcessorTime(b, begun)
}
