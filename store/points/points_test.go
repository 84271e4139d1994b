package points

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tracker/store/sqlite"
)

// model holds the expected points of iteration 1.
type model struct {
	*testing.T
	*rand.Rand
	*bed
	points map[string]modelPoint // by id
	order  int                   // order of writing
}

type modelPoint struct {
	Sample
	order int
}

// TestPointsAgreeWithTheModel writes, changes, deletes and compacts points at
// random, with and without a head, and compares the results of reads with a model.
func TestPointsAgreeWithTheModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &model{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), bed: newBed(t, seed%3 > 0), points: map[string]modelPoint{}}
			for range 50 {
				m.change()
				m.compare()
			}
			m.wantClean(t)
			// Check the same after a restart.
			wantOK(t, m.db.Close())
			m.bed = openBed(t, m.path, seed%2 == 0)
			m.compare()
			m.wantClean(t)
		})
	}
}

func (m *model) sample() Sample {
	value := math.Round(m.NormFloat64() * 3)
	if m.IntN(20) == 0 {
		value = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[m.IntN(3)]
	}
	return sample([]string{"loss", "acc"}[m.IntN(2)], m.Int64N(2000), value)
}

func (m *model) change() {
	m.Helper()
	switch m.IntN(8) {
	case 0, 1, 2: // a few points or many
		all := make([]Sample, m.IntN([]int{3, 200}[m.IntN(2)])+1)
		for i := range all {
			all[i] = m.sample()
		}
		for i, id := range m.append(m.T, all...) {
			m.points[id] = modelPoint{all[i], m.order}
			m.order++
		}
	case 3: // some points that are rolled back
		err := m.write(sqlite.Change, func(tx *Tx) error {
			return errors.Join(tx.AppendAll(1, []Sample{m.sample(), m.sample()}, 0), errTest)
		})
		if !errors.Is(err, errTest) {
			m.Fatal(err)
		}
	case 4:
		wantOK(m.T, m.Compact(ctx))
	case 5, 6:
		id, ok := m.any()
		if !ok {
			return
		}
		p, to := m.points[id], m.sample()
		patch := Patch{Value: &to.Value, RecordedAt: to.RecordedAt}
		p.Value, p.RecordedAt = to.Value, to.RecordedAt
		if m.IntN(2) == 0 {
			patch.Key, patch.Step = &to.Key, to.Step
			p.Key, p.Step = to.Key, to.Step
		}
		wantOK(m.T, m.write(sqlite.Change, func(tx *Tx) error {
			found, err := tx.Point(id)
			if err != nil {
				return err
			}
			return tx.Update(found, patch)
		}))
		m.points[id] = p
	case 7:
		id, ok := m.any()
		if !ok {
			return
		}
		wantOK(m.T, m.write(sqlite.Change, func(tx *Tx) error {
			found, err := tx.Point(id)
			if err != nil {
				return err
			}
			return tx.Delete(found)
		}))
		delete(m.points, id)
		m.read(m.T, func(tx *Tx) error {
			if _, err := tx.Point(id); !errors.Is(err, ErrNotFound) {
				m.Errorf("a deleted point: %v", err)
			}
			return nil
		})
	}
}

func (m *model) any() (id string, ok bool) {
	ids := make([]string, 0, len(m.points))
	for id := range m.points {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return "", false
	}
	return ids[m.IntN(len(ids))], true
}

// compare reads all points, the statistics and the late statistics.
func (m *model) compare() {
	m.Helper()
	var want []modelPoint
	for _, p := range m.points {
		want = append(want, p)
	}
	slices.SortFunc(want, func(a, b modelPoint) int { return cmp.Or(cmp.Compare(*a.Step, *b.Step), cmp.Compare(a.order, b.order)) })
	got := m.list(m.T)
	if len(got) != len(want) {
		m.Fatalf("%d points, want %d", len(got), len(want))
	}
	for i, p := range got {
		w := want[i]
		if p.Key != w.Key || p.Step != *w.Step || !sameFloat(p.Value, w.Value) || p.RecordedAt != *w.RecordedAt {
			m.Fatalf("point %d is %+v, want %+v", i, p, w)
		}
		if m.points[p.ID()].order != w.order {
			m.Fatalf("point %d has the id %s of another one", i, p.ID())
		}
	}
	m.read(m.T, func(tx *Tx) error {
		known, err := tx.Statistics(1)
		if err != nil {
			return err
		}
		for _, s := range known {
			m.wantStats(s, want)
		}
		// The rows and the late statistics together agree with the model.
		recent, err := tx.Recent([]string{"loss", "acc"})
		if err != nil {
			return err
		}
		late, err := tx.Late(recent)
		for _, s := range late {
			if i := slices.IndexFunc(known, func(k Statistics) bool { return k.Series == s.Series }); i < 0 || !s.sameAs(&known[i].Stats, 1e9) {
				m.Errorf("late are %+v", s)
			}
			known = slices.DeleteFunc(known, func(k Statistics) bool { return k.Series == s.Series })
		}
		for _, s := range known {
			var n int64
			if err := tx.Row(`SELECT count FROM series WHERE id = ?`, s.ID).Scan(&n); err != nil || n != s.Count {
				m.Errorf("the row of %+v has %d points (%v) and is not late", s, n, err)
			}
		}
		return err
	})
}

func (m *model) wantStats(s Statistics, all []modelPoint) {
	m.Helper()
	var want Stats
	ordered := slices.Clone(all)
	slices.SortFunc(ordered, func(a, b modelPoint) int { return cmp.Compare(a.order, b.order) })
	for _, p := range ordered {
		if p.Key == s.Key {
			want.add(point{step: *p.Step, value: p.Value, at: *p.RecordedAt})
		}
	}
	if !s.sameAs(&want, 1e6) {
		m.Errorf("the statistics are %+v, want %+v", s, want)
	}
}

// A change is reported once for each series and transaction, with the series' last step.
func TestChangesAreReported(t *testing.T) {
	b := newBed(t, true)
	ids := b.append(t, sample("loss", 5, 1), sample("acc", 7, 1), sample("loss", 3, 1))
	want := []change{{1, "loss", new(Step(5))}, {1, "acc", new(Step(7))}}
	if got := b.changes; len(got) != 2 || !sameChange(got[0], want[0]) || !sameChange(got[1], want[1]) {
		t.Errorf("reported are %+v", got)
	}
	b.changes = nil
	wantOK(t, b.Compact(ctx))
	if len(b.changes) > 0 {
		t.Errorf("a compaction reports %+v", b.changes)
	}
	wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
		p, err := tx.Point(ids[1])
		if err != nil {
			return err
		}
		return tx.Delete(p)
	}))
	if len(b.changes) != 1 || !sameChange(b.changes[0], change{1, "acc", nil}) {
		t.Errorf("a deletion reports %+v", b.changes)
	}
}

func sameChange(a, b change) bool {
	return a.iteration == b.iteration && a.key == b.key && same(a.last, b.last)
}

// Append stops at the first invalid sample. If a sample is invalid, AppendAll writes nothing.
func TestRefusedSamples(t *testing.T) {
	b := newBed(t, true)
	all := []Sample{sample("loss", math.MaxInt64, 1), {Key: "loss"}, sample("loss", 3, 1)}
	err := b.write(sqlite.Append, func(tx *Tx) error { return tx.AppendAll(1, all, 0) })
	var refused *InvalidError
	if !errors.As(err, &refused) || refused.Field != "step" {
		t.Errorf("the sample is refused with %v", err)
	}
	if got := b.list(t); len(got) != 0 {
		t.Errorf("there are %+v", got)
	}
	wantOK(t, b.write(sqlite.Append, func(tx *Tx) error {
		ids, err := tx.Append(1, all, 0)
		if !errors.As(err, &refused) || len(ids) != 1 {
			t.Errorf("the points %q, then %v", ids, err)
		}
		return nil
	}))
	if got := b.list(t); len(got) != 1 || got[0].Step != math.MaxInt64 {
		t.Errorf("there are %+v", got)
	}
}

// A sample without a step or time gets the next step of its series and the current time.
func TestStepsAndTimesByDefault(t *testing.T) {
	b := newBed(t, true)
	wantOK(t, b.write(sqlite.Append, func(tx *Tx) error {
		return tx.AppendAll(1, []Sample{{Key: "loss"}, sample("loss", 7, 1), {Key: "loss"}, {Key: "acc"}}, 99)
	}))
	b.append(t, Sample{Key: "loss"})
	var got []string
	for _, p := range b.list(t) {
		got = append(got, fmt.Sprint(p.Key, p.Step, " ", p.RecordedAt.Time().UnixMilli()))
	}
	if want := []string{"loss0 99", "acc0 99", "loss7 7", "loss8 99", "loss9 0"}; !slices.Equal(got, want) {
		t.Errorf("the points are %q, want %q", got, want)
	}
}

// Many points go directly to the metric table. A few points go to the recent table.
func TestWherePointsGo(t *testing.T) {
	for _, c := range []struct {
		n         int
		exclusive bool
		recent    int
	}{{bulkPoints, true, 0}, {bulkPoints - 1, true, bulkPoints - 1}, {1, false, 0}} {
		b := newBed(t, c.exclusive)
		all := make([]Sample, c.n)
		for i := range all {
			all[i] = sample("loss", int64(i), 1)
		}
		b.append(t, all...)
		b.read(t, func(tx *Tx) error {
			var recent, metric int
			err := tx.Row(`SELECT (SELECT count(*) FROM recent), (SELECT count(*) FROM metric)`).Scan(&recent, &metric)
			if recent != c.recent || metric != c.n-c.recent {
				t.Errorf("%+v: %d points in recent, %d in metric", c, recent, metric)
			}
			return err
		})
	}
}
