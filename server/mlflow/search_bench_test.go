package mlflow_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// Constants of BenchmarkRunSearch.
const (
	searchedRuns    = 10_000
	searchedWriters = 16
	settled         = 10 * time.Second // time for the background work after the writes
)

// fillSearched creates an experiment with searchedRuns ended runs, each with 20 metrics, 5
// parameters and 3 tags. It returns the experiment's id.
func (b bed) fillSearched() string {
	b.Helper()
	experiment := b.experiment("searched")
	one := func(n int) error {
		r, err := b.db.Runs.CreateIteration(b.Context(), domain.System, experiment, runs.NewIteration{})
		if err != nil {
			return err
		}
		var l runs.IterationLog
		for k := range 20 {
			step, at := scalar.Step(10), scalar.Time(begin)
			l.Metrics = append(l.Metrics, points.Sample{Key: fmt.Sprintf("m%d", k), Value: scalar.Value((n*(k+7919))%searchedRuns) / searchedRuns,
				Step: &step, RecordedAt: &at})
		}
		for k := range 5 {
			l.Params = append(l.Params, domain.Property{Key: fmt.Sprintf("p%d", k), Value: fmt.Sprint(n % (k + 2))})
		}
		for k := range 3 {
			l.Properties = append(l.Properties, domain.Property{Key: fmt.Sprintf("tag%d", k), Value: fmt.Sprint("value ", n%(k+5))})
		}
		if err := b.db.Runs.LogIteration(b.Context(), domain.System, r.ID, l); err != nil {
			return err
		}
		return b.db.Runs.UpdateIteration(b.Context(), domain.System, r.ID, runs.IterationPatch{Status: new(domain.Succeeded)})
	}
	var all sync.WaitGroup
	for w := range searchedWriters {
		all.Go(func() {
			for n := w; n < searchedRuns; n += searchedWriters {
				if err := one(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	if all.Wait(); b.Failed() {
		b.FailNow()
	}
	return experiment
}

// BenchmarkRunSearch measures runs/search over 10,000 runs with conditions on two metrics and an
// order by a third. The sub-benchmarks repeat the same search, repeat it after one of the runs has
// changed, or use another search each time, so that no cached order helps.
func BenchmarkRunSearch(b *testing.B) {
	bed := start(b)
	experiment := bed.fillSearched()
	changed, err := bed.db.Runs.Iterations(b.Context(), domain.System, experiment, runs.IterationQuery{Page: domain.Page{Limit: 1}})
	if err != nil {
		b.Fatal(err)
	}
	h := bed.server.Config.Handler
	number := 0
	write := func(b *testing.B) {
		tag := []domain.Property{{Key: "written", Value: fmt.Sprint(number)}}
		if err := bed.db.Runs.LogIteration(b.Context(), domain.System, changed.Data[0].ID, runs.IterationLog{Properties: tag}); err != nil {
			b.Fatal(err)
		}
	}
	for _, page := range []int{100, 1000} {
		for _, kind := range []string{"again", "written", "other"} {
			other := 0
			search := func(b *testing.B) {
				body := fmt.Sprintf(`{"experiment_ids": [%q], "filter": "metrics.m3 > 0.01%06d and metrics.m5 < 1",
				"order_by": ["metrics.m7 DESC"], "max_results": %d}`, experiment, other, page)
				r := httptest.NewRequest("POST", api+"runs/search", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != 200 || strings.Count(w.Body.String(), `"run_uuid"`) != page {
					b.Fatalf("%d %.500s", w.Code, w.Body)
				}
			}
			b.Run(fmt.Sprintf("page=%d,%s", page, kind), func(b *testing.B) {
				search(b) // the first search copies the metrics for later searches
				time.Sleep(settled)
				b.ReportAllocs()
				var took time.Duration
				for b.Loop() {
					b.StopTimer()
					switch number++; kind {
					case "written":
						write(b)
					case "other":
						other = number
					}
					begun, _ := processorTime()
					b.StartTimer()
					search(b)
					now, _ := processorTime()
					took += now - begun
				}
				if took > 0 {
					b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "cpu-ms/op")
				}
			})
		}
	}
}

// reportProcessorTime reports the processor time per iteration since begun. On a shared machine it
// varies less than the elapsed time.
func reportProcessorTime(b *testing.B, begun time.Duration) {
	if t, ok := processorTime(); ok {
		b.ReportMetric(float64((t-begun).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	}
}
