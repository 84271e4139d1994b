package cmd

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

	// A bulk request has so many keys times so many steps.
	bulkKeys   = 10
	bulkSteps  = 100
	bulkPoints = bulkKeys * bulkSteps

	// After so many requests a client goes on with a new iteration.
	ingestLength = 250

	// What is compared is measured in turns, so that what else the machine does
	// meets both.
	turns = 5
)

// benchValue is a value that is neither the same each time nor short to write.
func benchValue(key, step int) float64 {
	return math.Exp(-float64(step%100_000)/5000) + float64(key) + math.Sin(float64(step*(key+1)))/10
}

// appendPoint writes a point of a bulk request.
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

// bulkRequest is a request with the points that fill appends.
func (w *wire) bulkRequest(iteration string, fill func(body []byte) []byte) []byte {
	body := append(fill([]byte(`{"metrics":[`)), `]}`...)
	return w.request("POST", "/metric/iteration/"+iteration+"/bulk", "", string(body))
}

// ingest is a number of clients that write points in bulk, each to an
// iteration of its own.
type ingest struct {
	target     target
	wires      wires
	iterations []string
	sent       int // requests so far; they go to the clients in turn
}

func (t *target) openIngest(ctx context.Context) (*ingest, error) {
	all, err := t.openAll(ctx, ingestClients)
	if err != nil {
		return nil, err
	}
	return &ingest{target: *t, wires: all, iterations: make([]string, ingestClients)}, nil
}

// bulk sends n requests and returns how long that took without the making of
// them.
func (g *ingest) bulk(n int) (timing, error) {
	lists := make([][][]byte, ingestClients)
	for range n {
		client, nth := g.sent%ingestClients, g.sent/ingestClients
		w := g.wires[client]
		if nth%ingestLength == 0 {
			var err error
			if g.iterations[client], err = w.made("/iteration/experiment/"+g.target.experiment, `{}`); err != nil {
				return timing{}, err
			}
		}
		first := nth % ingestLength * bulkSteps
		lists[client] = append(lists[client], w.bulkRequest(g.iterations[client], func(body []byte) []byte {
			for step := first; step < first+bulkSteps; step++ {
				for key := range bulkKeys {
					body = appendPoint(body, "layer/"+strconv.Itoa(key)+"/norm", step, benchValue(key, step))
				}
			}
			return body
		}))
		g.sent++
	}
	return g.wires.sendAll(lists)
}

// requestsATurn is how many bulk requests a turn has: all turns together write
// at most half a million points.
func (b *bench) requestsATurn() int {
	return min(max(b.points/bulkPoints/turns, 1), 100)
}

// measureIngest measures bulk requests, in turns with the bare driver.
func (b *bench) measureIngest(ctx context.Context) error {
	g, err := b.target.openIngest(ctx)
	if err != nil {
		return err
	}
	defer g.wires.close()
	n := b.requestsATurn()
	points := float64(n * bulkPoints)
	bare := func() (time.Duration, error) { return 0, nil }
	if b.url == "" {
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
		b.count(n * bulkPoints)
		b.bulk += n * bulkPoints
		b.advance(1)
		all.add(t)
		rates = append(rates, points/t.took.Seconds())
		bareRates = append(bareRates, points/alone.Seconds())
		ratios = append(ratios, alone.Seconds()/t.took.Seconds())
	}
	what := fmt.Sprintf("%s points a request, %d clients", count(bulkPoints), ingestClients)
	b.rate(what, "points/s", quantile(rates, 0.5), all)
	b.compared(fmt.Sprintf("bare driver, %s points a commit", count(bulkPoints)), "points/s", bareRates, ratios)
	return nil
}

// compared adds what a server was compared with, and the ratio of the two.
func (b *bench) compared(what, unit string, rates, ratios []float64) {
	if b.url != "" {
		b.unknown(what, unit)
		b.unknown("ratio to it", "")
		return
	}
	b.value(what, unit, quantile(rates, 0.5))
	b.value("ratio to it", "", quantile(ratios, 0.5))
}

// count remembers that so many points are in the file.
func (b *bench) count(points int) { b.written += points }

// fill writes bulk points until there are as many as --points says.
func (b *bench) fill(ctx context.Context) error {
	left := (b.points - b.bulk) / bulkPoints
	if left <= 0 {
		return nil
	}
	g, err := b.target.openIngest(ctx)
	if err != nil {
		return err
	}
	defer g.wires.close()
	b.progress("filling", left)
	for left > 0 {
		n := min(left, 100)
		if _, err := g.bulk(n); err != nil {
			return err
		}
		left -= n
		b.count(n * bulkPoints)
		b.bulk += n * bulkPoints
		b.advance(n)
	}
	return nil
}

// measureDisk measures the file while it has nothing but bulk points.
func (b *bench) measureDisk(ctx context.Context) error {
	if b.url != "" {
		b.unknown("on disk a point", "bytes")
		return nil
	}
	if err := b.fill(ctx); err != nil {
		return err
	}
	former := b.main
	if err := former.stop(); err != nil {
		return err
	}
	size, err := former.size()
	if err != nil {
		return err
	}
	b.value(fmt.Sprintf("on disk a point, %s points in bulk", count(b.bulk)), "bytes", float64(size)/float64(b.bulk))
	return b.restart(ctx)
}

// measureSingle measures requests of one point, in turns with commits of one
// row by the bare driver.
func (b *bench) measureSingle(ctx context.Context) error {
	all, err := b.target.openAll(ctx, singleClients)
	if err != nil {
		return err
	}
	defer all.close()
	n := min(max(b.points/bulkPoints/singleClients*2, 5), 250) // for each client in a turn
	lists := make([][][]byte, len(all))
	for i, w := range all {
		iteration, err := w.made("/iteration/experiment/"+b.target.experiment, `{}`)
		if err != nil {
			return err
		}
		request := w.request("POST", "/metric/iteration/"+iteration, "", `{"key": "loss", "value": 0.6931471805599453}`)
		for range n {
			lists[i] = append(lists[i], request)
		}
	}
	requests, commits := n*len(all), n*len(all)/4
	bare := func() (time.Duration, error) { return 0, nil }
	if b.url == "" {
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
		b.count(requests)
		b.advance(1)
		sum.add(t)
		rate, bareRate := float64(requests)/t.took.Seconds(), float64(commits)/alone.Seconds()
		rates, bareRates, ratios = append(rates, rate), append(bareRates, bareRate), append(ratios, rate/bareRate)
	}
	b.rate(fmt.Sprintf("one point a request, %d connections", len(all)), "requests/s", quantile(rates, 0.5), sum)
	b.compared("bare driver, one row a commit", "commits/s", bareRates, ratios)
	return nil
}

// measureLate measures bulk requests into the file with all that is in it by
// now, in turns with such requests to a server on a new file.
func (b *bench) measureLate(ctx context.Context) error {
	if err := b.fill(ctx); err != nil {
		return err
	}
	before := b.written
	full, err := b.target.openIngest(ctx)
	if err != nil {
		return err
	}
	defer full.wires.close()
	n := b.requestsATurn()
	empty, end := func() (timing, error) { return timing{}, nil }, func() {}
	if b.url == "" {
		s, t, err := b.launchFresh(ctx)
		if err != nil {
			return err
		}
		g, err := t.openIngest(ctx)
		if err != nil {
			return err
		}
		defer g.wires.close()
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
		b.count(n * bulkPoints)
		b.advance(1)
		sum.add(t)
		points := float64(n * bulkPoints)
		rates = append(rates, points/t.took.Seconds())
		emptyRates = append(emptyRates, points/e.took.Seconds())
		ratios = append(ratios, e.took.Seconds()/t.took.Seconds())
	}
	end()
	b.rate(fmt.Sprintf("%s points a request, %d clients, %s points in the file", count(bulkPoints), ingestClients, count(before)), "points/s", quantile(rates, 0.5), sum)
	b.compared("the same to a new file", "points/s", emptyRates, ratios)
	return nil
}

// launchFresh starts a server on a file of its own.
func (b *bench) launchFresh(ctx context.Context) (*benchServer, *target, error) {
	dir, err := b.fresh()
	if err != nil {
		return nil, nil, err
	}
	s, err := b.launch(ctx, filepath.Join(dir, "tracker.db"))
	if err != nil {
		return nil, nil, err
	}
	t := &target{api: s.api}
	return s, t, t.makeProject(ctx)
}
