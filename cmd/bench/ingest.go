package bench

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"
)

const (
	ingestClients = 4
	singleClients = 8

	// A bulk request has bulkKeys × bulkSteps points.
	bulkKeys   = 10
	bulkSteps  = 100
	bulkPoints = bulkKeys * bulkSteps

	// ingestLength is the number of requests that a client sends to an iteration before it
	// creates the next iteration.
	ingestLength = 250

	// turns is how often a comparison measures the server and its baseline.
	turns = 5
)

// metricValue returns a value that varies with the step and has many digits, like a real
// metric.
func metricValue(key, step int) float64 {
	return math.Exp(-float64(step%100_000)/5000) + float64(key) + math.Sin(float64(step*(key+1)))/10
}

// appendPoint appends the JSON of one point to body, the body of a bulk request.
func appendPoint(body []byte, key string, step int, value float64) []byte {
	if body[len(body)-1] == '}' {
		body = append(body, ',')
	}
	body = append(body, `{"key":"`...)
	body = append(body, key...)
	body = append(body, `","step":`...)
	body = strconv.AppendInt(body, int64(step), 10)
	body = append(body, `,"value":`...)
	body = strconv.AppendFloat(body, value, 'g', -1, 64)
	return append(body, '}')
}

// bulkRequest returns a bulk request for the iteration. fill appends the points to the body.
func (w *conn) bulkRequest(iteration string, fill func(body []byte) []byte) []byte {
	body := append(fill([]byte(`{"metrics":[`)), `]}`...)
	return w.Request("POST", "/metric/iteration/"+iteration+"/bulk", "", string(body))
}

// ingest holds clients that send bulk requests. Each client writes to its own iteration.
type ingest struct {
	target     target
	conns      conns
	iterations []string
	sent       int // number of requests sent so far; the clients take turns
}

func (t *target) openIngest(ctx context.Context) (*ingest, error) {
	all, err := t.openAll(ctx, ingestClients)
	if err != nil {
		return nil, err
	}
	return &ingest{target: *t, conns: all, iterations: make([]string, ingestClients)}, nil
}

// bulk prepares n requests and sends them. It returns the latencies and the total time of
// sending.
func (g *ingest) bulk(n int) (timing, error) {
	lists := make([][][]byte, ingestClients)
	for range n {
		client, nth := g.sent%ingestClients, g.sent/ingestClients
		w := g.conns[client]
		if nth%ingestLength == 0 {
			var err error
			if g.iterations[client], err = w.create("/iteration/experiment/"+g.target.experiment, `{}`); err != nil {
				return timing{}, err
			}
		}
		first := nth % ingestLength * bulkSteps
		lists[client] = append(lists[client], w.bulkRequest(g.iterations[client], func(body []byte) []byte {
			for step := first; step < first+bulkSteps; step++ {
				for key := range bulkKeys {
					body = appendPoint(body, "layer/"+strconv.Itoa(key)+"/norm", step, metricValue(key, step))
				}
			}
			return body
		}))
		g.sent++
	}
	return g.conns.sendAll(lists)
}

// requestsATurn returns the number of bulk requests in one turn of a comparison. All turns together
// write at most 500,000 points.
func (b *benchmark) requestsATurn() int {
	return min(max(b.Points/bulkPoints/turns, 1), 100)
}

// measureIngest measures bulk requests. It alternates between the server and the bare driver.
func (b *benchmark) measureIngest(ctx context.Context) error {
	g, err := b.target.openIngest(ctx)
	if err != nil {
		return err
	}
	defer g.conns.close()
	n := b.requestsATurn()
	points := float64(n * bulkPoints)
	bare := func() (time.Duration, error) { return 0, nil }
	if b.URL == "" {
		d, err := openBareDriver(filepath.Join(b.extra, "bulk.db"))
		if err != nil {
			return err
		}
		defer d.close()
		bare = func() (time.Duration, error) { return d.bulk(n) }
	}
	b.progress("ingest", turns)
	var rates, bareRates, ratios []float64
	var all timing
	for range turns {
		alone, err := bare()
		if err != nil {
			return err
		}
		t, err := g.bulk(n)
		if err != nil {
			return err
		}
		b.written += n * bulkPoints
		b.bulk += n * bulkPoints
		b.advance(1)
		all.add(t)
		rates = append(rates, points/t.took.Seconds())
		bareRates = append(bareRates, points/alone.Seconds())
		ratios = append(ratios, alone.Seconds()/t.took.Seconds())
	}
	what := fmt.Sprintf("%s points per request, %d clients", comma(bulkPoints), ingestClients)
	b.addRate(what, "points/s", quantile(rates, 0.5), all)
	b.addComparison(fmt.Sprintf("bare driver, %s points per commit", comma(bulkPoints)), "points/s", bareRates, ratios)
	return nil
}

// fill writes bulk points until the file holds b.Points points.
func (b *benchmark) fill(ctx context.Context) error {
	left := (b.Points - b.bulk) / bulkPoints
	if left <= 0 {
		return nil
	}
	g, err := b.target.openIngest(ctx)
	if err != nil {
		return err
	}
	defer g.conns.close()
	b.progress("filling", left)
	for left > 0 {
		n := min(left, 100)
		if _, err := g.bulk(n); err != nil {
			return err
		}
		left -= n
		b.written += n * bulkPoints
		b.bulk += n * bulkPoints
		b.advance(n)
	}
	return nil
}

// measureDisk measures the size of a file that holds only bulk points.
func (b *benchmark) measureDisk(ctx context.Context) error {
	if b.URL != "" {
		b.addUnknown("on disk per point", "bytes")
		return nil
	}
	if err := b.fill(ctx); err != nil {
		return err
	}
	if err := b.main.stop(); err != nil {
		return err
	}
	size, err := b.main.size()
	if err != nil {
		return err
	}
	b.addValue(fmt.Sprintf("on disk per point, %s points in bulk", comma(b.bulk)), "bytes", float64(size)/float64(b.bulk))
	return b.restart(ctx)
}

// measureSingle measures requests with one point each. It alternates between the server and the
// bare driver, which commits one row at a time.
func (b *benchmark) measureSingle(ctx context.Context) error {
	all, err := b.target.openAll(ctx, singleClients)
	if err != nil {
		return err
	}
	defer all.close()
	n := min(max(b.Points/bulkPoints/singleClients*2, 5), 250) // requests that each client sends in a turn
	lists := make([][][]byte, len(all))
	for i, w := range all {
		iteration, err := w.create("/iteration/experiment/"+b.target.experiment, `{}`)
		if err != nil {
			return err
		}
		request := w.Request("POST", "/metric/iteration/"+iteration, "", `{"key": "loss", "value": 0.6931471805599453}`)
		for range n {
			lists[i] = append(lists[i], request)
		}
	}
	requests, commits := n*len(all), n*len(all)/4
	bare := func() (time.Duration, error) { return 0, nil }
	if b.URL == "" {
		d, err := openBareDriver(filepath.Join(b.extra, "single.db"))
		if err != nil {
			return err
		}
		defer d.close()
		bare = func() (time.Duration, error) { return d.singles(commits) }
	}
	b.progress("single", turns)
	var rates, bareRates, ratios []float64
	var sum timing
	for range turns {
		alone, err := bare()
		if err != nil {
			return err
		}
		t, err := all.sendAll(lists)
		if err != nil {
			return err
		}
		b.written += requests
		b.advance(1)
		sum.add(t)
		rate, bareRate := float64(requests)/t.took.Seconds(), float64(commits)/alone.Seconds()
		rates, bareRates, ratios = append(rates, rate), append(bareRates, bareRate), append(ratios, rate/bareRate)
	}
	b.addRate(fmt.Sprintf("one point per request, %d connections", len(all)), "requests/s", quantile(rates, 0.5), sum)
	b.addComparison("bare driver, one row per commit", "commits/s", bareRates, ratios)
	return nil
}

// measureLate measures bulk requests to a server on the full file. It alternates between this
// server and a server on a new file.
func (b *benchmark) measureLate(ctx context.Context) error {
	if err := b.fill(ctx); err != nil {
		return err
	}
	before := b.written
	full, err := b.target.openIngest(ctx)
	if err != nil {
		return err
	}
	defer full.conns.close()
	n := b.requestsATurn()
	empty, end := func() (timing, error) { return timing{}, nil }, func() {}
	if b.URL == "" {
		s, t, err := b.launchEmpty(ctx)
		if err != nil {
			return err
		}
		g, err := t.openIngest(ctx)
		if err != nil {
			return err
		}
		defer g.conns.close()
		empty, end = func() (timing, error) { return g.bulk(n) }, s.kill
	}
	b.progress("late", turns)
	var rates, emptyRates, ratios []float64
	var sum timing
	for range turns {
		e, err := empty()
		if err != nil {
			return err
		}
		t, err := full.bulk(n)
		if err != nil {
			return err
		}
		b.written += n * bulkPoints
		b.advance(1)
		sum.add(t)
		points := float64(n * bulkPoints)
		rates = append(rates, points/t.took.Seconds())
		emptyRates = append(emptyRates, points/e.took.Seconds())
		ratios = append(ratios, e.took.Seconds()/t.took.Seconds())
	}
	end()
	b.addRate(fmt.Sprintf("%s points per request, %d clients, %s points in the file", comma(bulkPoints), ingestClients, comma(before)), "points/s", quantile(rates, 0.5), sum)
	b.addComparison("the same into a new file", "points/s", emptyRates, ratios)
	return nil
}

// launchEmpty starts a server on a new file and creates a project on that server.
func (b *benchmark) launchEmpty(ctx context.Context) (*server, *target, error) {
	dir, err := b.emptyFolder()
	if err != nil {
		return nil, nil, err
	}
	s, err := b.launch(ctx, filepath.Join(dir, "tracker.db"))
	if err != nil {
		return nil, nil, err
	}
	t := &target{api: s.api}
	return s, t, t.createProject(ctx)
}
