package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	steadyIterations = 25
	steadyKeys       = 20
)

// measureSteady measures training runs that log their keys once a second: the latency of a request,
// and the bytes written for each point, including the server's last checkpoint.
func (b *benchmark) measureSteady(ctx context.Context) error {
	s, where := (*server)(nil), &b.target
	if b.URL == "" {
		var err error
		if s, where, err = b.launchEmpty(ctx); err != nil {
			return err
		}
	}
	all, err := where.openAll(ctx, steadyIterations)
	if err != nil {
		return err
	}
	defer all.close()
	iterations := make([]string, len(all))
	for i, w := range all {
		if iterations[i], err = w.create("/iteration/experiment/"+where.experiment, `{}`); err != nil {
			return err
		}
	}
	var before written
	if s != nil {
		before = s.writtenNow()
	}
	sum, err := b.logSteadily(ctx, all, iterations)
	if err != nil {
		return err
	}
	points := len(sum.each) * steadyKeys
	b.addLatency(fmt.Sprintf("%d iterations that log %d keys a second for %v", steadyIterations, steadyKeys, b.Steady), sum)
	calls := fmt.Sprintf("written per point, %s points and the last checkpoint", comma(points))
	const disk = "the same in whole blocks of the disk"
	if s == nil {
		b.written += points
		b.addUnknown(calls, "bytes")
		b.addUnknown(disk, "bytes")
		return nil
	}
	all.close() // open connections would delay the server's shutdown
	if err := s.stop(); err != nil {
		return err
	}
	perPoint := func(what string, n int64) {
		b.addSystemValue(what, "bytes", float64(n)/float64(points), n > 0)
	}
	perPoint(calls, s.written.calls-before.calls)
	perPoint(disk, s.written.disk-before.disk)
	return nil
}

// written holds the numbers of bytes that a server has written.
type written struct {
	calls int64 // bytes passed to write calls, including responses to clients
	disk  int64 // bytes written to the disk, in whole blocks
}

// logSteadily sends one request a second over each connection for b.Steady. The connections start
// at different times within the first second. A connection that is late sends its next request
// immediately.
func (b *benchmark) logSteadily(ctx context.Context, all conns, iterations []string) (timing, error) {
	b.progress("steady", int(b.Steady/time.Second))
	timings, errs := make([]timing, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	start := time.Now()
	end := start.Add(b.Steady)
	for i, w := range all {
		group.Go(func() {
			due := start.Add(time.Duration(i) * time.Second / steadyIterations)
			for step := 0; due.Before(end) && (step == 0 || time.Now().Before(end)); step++ {
				request := w.bulkRequest(iterations[i], func(body []byte) []byte {
					for key := range steadyKeys {
						body = appendPoint(body, "layer/"+strconv.Itoa(key)+"/norm", step, metricValue(key, step))
					}
					return body
				})
				if errs[i] = wait(ctx, due); errs[i] != nil {
					return
				}
				sent := time.Now()
				if _, errs[i] = w.do(request); errs[i] != nil {
					return
				}
				timings[i].each = append(timings[i].each, time.Since(sent))
				due = due.Add(time.Second)
				if i == 0 {
					b.advance(1)
				}
			}
		})
	}
	group.Wait()
	var sum timing
	for _, t := range timings {
		sum.add(t)
	}
	return sum, firstError(errs)
}

// wait waits until due. It returns an error if ctx ends first.
func wait(ctx context.Context, due time.Time) error {
	select {
	case <-time.After(time.Until(due)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
