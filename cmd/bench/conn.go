package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tracker/cmd/bench/httpconn"
)

// conn is a connection to the measured server.
type conn struct{ *httpconn.Conn }

// conns holds connections that send concurrently.
type conns []*conn

// open connects to the server. When ctx ends, the connection is closed.
func (t *target) open(ctx context.Context) (*conn, error) {
	c, err := httpconn.Dial(ctx, t.api)
	if err != nil {
		return nil, err
	}
	c.Token, c.Timeout = t.token, requestTimeout
	context.AfterFunc(ctx, func() { c.Close() })
	return &conn{c}, nil
}

func (t *target) openAll(ctx context.Context, n int) (all conns, err error) {
	for range n {
		w, err := t.open(ctx)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (all conns) close() {
	for _, w := range all {
		w.Close()
	}
}

// do sends a request and returns the response. It returns an error if the status is not 2xx.
func (w *conn) do(request []byte) (httpconn.Reply, error) {
	r, err := w.Send(request)
	if err == nil && r.Status >= 300 {
		err = fmt.Errorf("the server answers %d: %s", r.Status, r.Body[:min(len(r.Body), 500)])
	}
	return r, err
}

// create sends a POST request that creates a record, and returns the record's id.
func (w *conn) create(path, body string) (string, error) {
	r, err := w.do(w.Request("POST", path, "", body))
	if err != nil {
		return "", err
	}
	ids, err := r.IDs()
	if err != nil || len(ids) != 1 {
		return "", fmt.Errorf("POST %s answers %s", path, r)
	}
	return ids[0], nil
}

// timing holds the total time of some requests and the latency of each.
type timing struct {
	took time.Duration
	each []time.Duration
}

func (t *timing) add(o timing) {
	t.took += o.took
	t.each = append(t.each, o.each...)
}

// sendAll sends the requests in lists[i] over connection i, one after another. The connections send
// concurrently.
func (all conns) sendAll(lists [][][]byte) (timing, error) {
	timings, errs := make([]timing, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	start := time.Now()
	for i, w := range all {
		group.Go(func() {
			for _, request := range lists[i] {
				sent := time.Now()
				if _, errs[i] = w.do(request); errs[i] != nil {
					return
				}
				timings[i].each = append(timings[i].each, time.Since(sent))
			}
		})
	}
	group.Wait()
	var sum timing
	for _, t := range timings {
		sum.add(t)
	}
	sum.took = time.Since(start)
	return sum, firstError(errs)
}

// firstError returns the first error in errs. It drops the other errors, because all
// connections usually fail for the same reason.
func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// repeat sends a request once with cold caches and then up to 50 times, but at least twice, until
// ten seconds have passed. first is the latency of the first request, and t holds the latencies of
// the others.
func (w *conn) repeat(request []byte) (first time.Duration, t timing, err error) {
	start := time.Now()
	for n := 0; n <= 50 && (n < 3 || time.Since(start) < 10*time.Second); n++ {
		sent := time.Now()
		if _, err := w.do(request); err != nil {
			return 0, t, err
		}
		if n == 0 {
			first = time.Since(sent)
		} else {
			t.each = append(t.each, time.Since(sent))
		}
	}
	return first, t, nil
}

// quantile returns the q-quantile of all, without interpolation. It panics if all is empty.
func quantile[T float64 | time.Duration](all []T, q float64) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
