package bench

import (
	"context"
	"encoding/json"
	"fmt"
)

const (
	longCurve     = 1_000_000 // maximum number of points in the long curve
	comparedCurve = 100_000   // maximum number of points in each of many curves
	curveRequest  = 10_000    // points in one write request
)

// measureSeries measures requests for one long curve and requests for the curves of many
// iterations.
func (b *benchmark) measureSeries(ctx context.Context) error {
	all, err := b.target.openAll(ctx, ingestClients)
	if err != nil {
		return err
	}
	defer all.close()
	long, each := min(b.Points, longCurve), min(max(b.Points/b.Series, 1), comparedCurve)
	b.progress("curves", long+each*b.Series)
	var iterations []string
	for i := range b.Series + 1 {
		points := each
		if i == 0 {
			points = long
		}
		id, err := b.createCurve(all, points)
		if err != nil {
			return err
		}
		iterations = append(iterations, id)
	}

	w := all[0]
	b.progress("series", 2)
	_, t, err := w.repeat(w.Request("GET", "/metric/iteration/"+iterations[0]+"/series?key=loss&points=1000", "", ""))
	if err != nil {
		return err
	}
	b.advance(1)
	b.addLatency(fmt.Sprintf("1 curve of %s points, reduced to 1,000 points", comma(long)), t)
	body, err := json.Marshal(map[string]any{"iterations": iterations[1:], "keys": []string{"loss"}, "points": 300})
	if err != nil {
		return err
	}
	if _, t, err = w.repeat(w.Request("POST", "/series", "", string(body))); err != nil {
		return err
	}
	b.addLatency(fmt.Sprintf("%s curves of %s points, in 300", comma(b.Series), comma(each)), t)
	return nil
}

// createCurve creates an iteration with one series of the given number of points and returns the
// iteration's id.
func (b *benchmark) createCurve(all conns, points int) (string, error) {
	id, err := all[0].create("/iteration/experiment/"+b.target.experiment, `{}`)
	if err != nil {
		return "", err
	}
	for first := 0; first < points; {
		lists := make([][][]byte, len(all))
		start := first
		for i, w := range all {
			n := min(curveRequest, points-first)
			if n <= 0 {
				break
			}
			from := first
			lists[i] = append(lists[i], w.bulkRequest(id, func(body []byte) []byte {
				for step := from; step < from+n; step++ {
					body = appendPoint(body, "loss", step, metricValue(1, step))
				}
				return body
			}))
			first += n
		}
		if _, err := all.sendAll(lists); err != nil {
			return "", err
		}
		b.written += first - start
		b.advance(first - start)
	}
	return id, nil
}
