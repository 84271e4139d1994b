package bench

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	listedMetrics = 20
	listedSteps   = 3
	wideSize      = 1500 // number of iterations with --wide, and number of metrics in each
)

// measureListing measures requests for a page of a long list of iterations, and requests that
// search the metric names.
func (b *benchmark) measureListing(ctx context.Context) error {
	if err := b.measurePage(ctx, "listing", b.Iterations, listedMetrics, listedSteps); err != nil || !b.Wide {
		return err
	}
	return b.measurePage(ctx, "wide", wideSize, wideSize, 1)
}

func (b *benchmark) measurePage(ctx context.Context, name string, iterations, metrics, steps int) error {
	all, err := b.target.openAll(ctx, singleClients)
	if err != nil {
		return err
	}
	defer all.close()
	experiment, err := b.target.createExperiment(all[0], name)
	if err != nil {
		return err
	}
	b.progress("iterations", iterations)
	for first := 0; first < iterations; first += 200 {
		n := min(200, iterations-first)
		if err := all.createIterations(experiment, first, n, metrics, steps); err != nil {
			return err
		}
		b.written += n * metrics * steps
		b.advance(n)
	}

	columns := make([]string, 20)
	for i := range columns {
		columns[i] = "metric." + listedKey(i*metrics/len(columns))
	}
	page := "/iteration/experiment/" + experiment + "?" + url.Values{
		"filter":  {"metric." + listedKey(3) + " < 0.5"},
		"sort":    {"-metric." + listedKey(7)},
		"columns": {strings.Join(columns, ",")},
		"limit":   {"50"},
	}.Encode()
	keys := "/experiment/" + experiment + "/keys?q=" + url.QueryEscape(listedKey(1))
	b.progress(name, 2)
	size := fmt.Sprintf("%s iterations × %s metrics", comma(iterations), comma(metrics))
	first, t, err := all[0].repeat(all[0].Request("GET", page, "", ""))
	if err != nil {
		return err
	}
	b.advance(1)
	b.addLatency(size+": filter, sort, 50 rows, 20 columns", t)
	b.addLatency("the same, first request", timing{each: []time.Duration{first}})
	if _, t, err = all[0].repeat(all[0].Request("GET", keys, "", "")); err != nil {
		return err
	}
	b.addLatency(size+": search of names", t)
	return nil
}

func listedKey(i int) string { return fmt.Sprintf("train/metric_%04d", i) }

// createIterations creates n iterations, numbered from first, whose metrics have different values.
func (all conns) createIterations(experiment string, first, n, metrics, steps int) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for c, w := range all {
		group.Go(func() {
			for i := first + c; i < first+n && errs[c] == nil; i += len(all) {
				errs[c] = w.createIteration(experiment, i, metrics, steps)
			}
		})
	}
	group.Wait()
	return firstError(errs)
}

func (w *conn) createIteration(experiment string, number, metrics, steps int) error {
	iteration, err := w.create("/iteration/experiment/"+experiment, `{"name": "run `+strconv.Itoa(number)+`"}`)
	if err != nil {
		return err
	}
	_, err = w.do(w.bulkRequest(iteration, func(body []byte) []byte {
		for key := range metrics {
			for step := range steps {
				body = appendPoint(body, listedKey(key), step, scattered(number, key, step))
			}
		}
		return body
	}))
	return err
}

// scattered returns a pseudo-random number in [0, 1) that depends only on its arguments.
func scattered(number, key, step int) float64 {
	h := uint64(number)*0x9E3779B97F4A7C15 + uint64(key)*0xBF58476D1CE4E5B9 + uint64(step)*0x94D049BB133111EB
	h ^= h >> 31
	h *= 0xD6E8FEB86659FD93
	return float64(h>>11) / (1 << 53)
}
