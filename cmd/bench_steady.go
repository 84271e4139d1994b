package cmd

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

// measureSteady measures live trainings that each log their keys once a
// second: how long a request takes, and how much the server writes to the disk
// for each point until all of it is in the database file.
func (b *bench) measureSteady(ctx context.Context) error {
	server, where := (*benchServer)(nil), &b.target
	if b.url == "" {
		var err error
		if server, where, err = b.launchFresh(ctx); err != nil {
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
		if iterations[i], err = w.made("/iteration/experiment/"+where.experiment, `{}`); err != nil {
			return err
		}
	}
	var before benchWritten
	if server != nil {
		before = server.writtenNow()
	}
	sum, err := b.logSteadily(ctx, all, iterations)
	if err != nil {
		return err
	}
	points := len(sum.each) * steadyKeys
	b.latency(fmt.Sprintf("%d iterations, %d keys a second each, for %v", steadyIterations, steadyKeys, b.steady), sum)
	calls := fmt.Sprintf("written a point, %s points and the last checkpoint", count(points))
	const disk = "the same in whole blocks of the disk"
	if server == nil {
		b.count(points)
		b.unknown(calls, "bytes")
		b.unknown(disk, "bytes")
		return nil
	}
	all.close() // or the server would wait for what they might ask
	if err := server.stop(); err != nil {
		return err
	}
	perPoint := func(what string, written int64) {
		b.knownHere(what, "bytes", float64(written)/float64(points), written > 0)
	}
	perPoint(calls, server.written.calls-before.calls)
	perPoint(disk, server.written.disk-before.disk)
	return nil
}

// benchWritten is what a server has written, in bytes: what it has passed to
// write calls, its answers among them, and what the kernel has made the disk
// write for that, where each call counts for all the blocks that it touches.
type benchWritten struct{ calls, disk int64 }

// logSteadily sends a request a second over each connection, spread over the
// second, until the time is over. Who comes late goes on at once.
func (b *bench) logSteadily(ctx context.Context, all wires, iterations []string) (timing, error) {
	b.progress("steady", int(b.steady/time.Second))
	timings, errs := make([]timing, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	start := time.Now()
	end := start.Add(b.steady)
	for i, w := range all {
		group.Go(func() {
			due := start.Add(time.Duration(i) * time.Second / steadyIterations)
			for step := 0; due.Before(end) && (step == 0 || time.Now().Before(end)); step++ {
				request := w.bulkRequest(iterations[i], func(body []byte) []byte {
					for key := range steadyKeys {
						body = appendPoint(body, "layer/"+strconv.Itoa(key)+"/norm", step, benchValue(key, step))
					}
					return body
				})
				if errs[i] = wait(ctx, due); errs[i] != nil {
					return
				}
				sent := time.Now()
				if _, errs[i] = w.sent(request); errs[i] != nil {
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

// wait returns at the time due, or when ctx ends.
func wait(ctx context.Context, due time.Time) error {
	select {
	case <-time.After(time.Until(due)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
