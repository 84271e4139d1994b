package store_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

// The results of random writes agree with the model, both one at a time from two handles and many
// in one transaction.
func TestRandomWrites(t *testing.T) {
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprintf("one by one, seed %d", seed), func(t *testing.T) { newProperty(t, seed).run(500, 1) })
		t.Run(fmt.Sprintf("together, seed %d", seed), func(t *testing.T) { newProperty(t, seed).run(100, 15) })
	}
}

type property struct {
	*testing.T
	*rand.Rand
	model
	path       string
	handles    []*store.DB
	file       *sql.DB
	clock      *clock
	experiment string
	log        []string // the last operations
}

func newProperty(t *testing.T, seed uint64) *property {
	b := newBed(t)
	p := &property{T: t, Rand: rand.New(rand.NewPCG(seed, seed)), path: b.Path(), clock: b.clock,
		experiment: b.experiment, handles: []*store.DB{b.DB}, file: raw(t, b.Path())}
	p.iterations = []*modelIteration{{id: b.iteration}}
	execSQL(t, p.file, `CREATE TRIGGER breaks BEFORE INSERT ON tag WHEN NEW.value = 'breaks'
		BEGIN SELECT RAISE(ROLLBACK, 'broken'); END`)
	p.handles = append(p.handles, open(t, store.Options{Path: p.path, Now: p.clock.Now}))
	return p
}

// run executes the given number of rounds. Each round has together operations. If together is
// more than 1, the operations of a round are queued for the writer at the same time.
func (p *property) run(rounds, together int) {
	for round := range rounds {
		p.clock.Add(time.Duration(p.IntN(3)) * time.Second)
		db := p.handles[p.IntN(len(p.handles))]
		release := func() {}
		if together > 1 {
			release = hold(p, db)
		}
		var operations []operation
		var waits []func() error
		answers := make([][]string, together)
		for i := range together {
			o := p.operation()
			write := func() (err error) {
				answers[i], err = o.store(db)
				return err
			}
			if together > 1 {
				write = queue(db, write)
			}
			operations, waits = append(operations, o), append(waits, write)
		}
		release()
		for i, wait := range waits {
			err := wait()
			want, code := operations[i].model(answers[i])
			p.log = append(p.log, fmt.Sprintf("%s: %d ids, %q", operations[i].name, len(answers[i]), codeOf(err)))
			if codeOf(err) != code || len(answers[i]) != want {
				p.fail("round %d: %d ids and %q (%v), want %d and %q", round, len(answers[i]), codeOf(err), err, want, code)
			}
		}
		switch i := p.pick(); {
		case round%100 == 99:
			p.checkAll()
		case i.deleted:
		case round%2 == 0 && len(i.points) > 0:
			p.checkListing(db, i, new(i.points[p.IntN(len(i.points))].Key))
		default:
			p.checkStatistics(i)
		}
		if p.IntN(40) == 0 {
			wantOK(p, p.handles[0].Compact())
		}
		if p.IntN(100) == 0 {
			i := p.IntN(len(p.handles))
			wantOK(p, p.handles[i].Close())
			p.handles[i] = open(p, store.Options{Path: p.path, Now: p.clock.Now, Exclusive: i == 0})
		}
	}
	p.checkAll()
}

// fail ends the test and prints the last operations.
func (p *property) fail(format string, args ...any) {
	p.Helper()
	p.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(p.log[max(0, len(p.log)-40):], "\n"))
}

func (p *property) checkAll() {
	for _, i := range p.iterations {
		p.checkIteration(i)
	}
	wantClean(p, p.handles[0])
	for _, id := range p.gone[max(0, len(p.gone)-50):] {
		_, err := p.handles[0].Runs.Metric(ctx, domain.System, id)
		wantCode(p, err, domain.CodeNotFound)
	}
	if p.Failed() {
		p.fail("check")
	}
}

// checkIteration compares the stored records of an iteration with the model.
func (p *property) checkIteration(i *modelIteration) {
	db := p.handles[p.IntN(len(p.handles))]
	if i.deleted {
		_, err := db.Runs.Metrics(ctx, domain.System, i.id, runs.MetricQuery{Page: domain.FirstPage})
		wantCode(p, err, domain.CodeNotFound)
		return
	}
	p.checkListing(db, i, nil)
	for key := range p.checkStatistics(i) {
		p.checkListing(db, i, &key)
	}
}

// checkStatistics compares the series of an iteration with the model, and
// returns their keys.
func (p *property) checkStatistics(i *modelIteration) (keys map[string]bool) {
	db := p.handles[p.IntN(len(p.handles))]
	rows := knownStatistics(p, db, i.id)
	keys = map[string]bool{}
	for _, point := range i.points {
		keys[point.Key] = true
	}
	if len(rows) != len(keys) {
		p.fail("series %q are stored, want %q", slices.Collect(maps.Keys(rows)), slices.Collect(maps.Keys(keys)))
	}
	for key := range keys {
		want, tolerance := i.statistics(key)
		if !rows[key].same(want, tolerance) {
			p.fail("statistics %+v, want %+v", rows[key], want)
		}
	}
	return keys
}

// checkListing reads a listing page by page.
func (p *property) checkListing(db *store.DB, i *modelIteration, key *string) {
	want := i.listed(key)
	limit := 1 + p.IntN(200)
	for offset := 0; offset <= len(want); offset += limit {
		l := must(db.Runs.Metrics(ctx, domain.System, i.id,
			runs.MetricQuery{Page: domain.Page{Limit: limit, Offset: offset}, Key: key}))(p)
		if l.Total != len(want) || len(l.Data) != min(limit, len(want)-offset) {
			p.fail("%d points of %d at offset %d, want %d", len(l.Data), l.Total, offset, len(want))
		}
		for n, got := range l.Data {
			point := want[offset+n]
			if point.ID == "" {
				point.ID = got.ID
			}
			if !samePoint(got, point.Metric) {
				p.fail("point %d is %+v, want %+v", offset+n, got, point.Metric)
			}
			if n%7 == 0 {
				if found, err := db.Runs.Metric(ctx, domain.System, got.ID); err != nil || !samePoint(found, got) {
					p.fail("point %s is found as %+v (%v), want %+v", got.ID, found, err, got)
				}
			}
		}
	}
}
