package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store/sqlite"
)

// journal records the calls of several participants in their order.
type journal struct{ calls []string }

func (j *journal) take() []string {
	all := j.calls
	j.calls = nil
	return all
}

// recorder is a participant that records each call except Mark.
type recorder struct {
	*journal
	name  string
	taken int64
	late  bool  // result of Overdue
	fail  error // result of the next Flush before a commit
}

func (r *recorder) record(format string, args ...any) {
	r.calls = append(r.calls, r.name+" "+fmt.Sprintf(format, args...))
}

func (r *recorder) Load(_ *sqlite.Tx, foreign bool) error {
	r.record("load %v", foreign)
	return nil
}

func (r *recorder) Mark() int64 { return r.taken }

func (r *recorder) Flush(_ *sqlite.Tx, stage sqlite.Stage) error {
	r.record("flush %d", stage)
	err := r.fail
	if stage == sqlite.AroundJob {
		return nil
	}
	r.fail = nil
	return err
}

func (r *recorder) Changed()   { r.record("changed") }
func (r *recorder) Committed() { r.record("committed") }

func (r *recorder) RolledBack(mark int64) {
	r.record("rolled back to %d", mark)
	r.taken = mark
}

func (r *recorder) Overdue() bool {
	late := r.late
	r.late = false
	return late
}

func newRecorders() (*journal, *recorder, *recorder) {
	var j journal
	return &j, &recorder{journal: &j, name: "a"}, &recorder{journal: &j, name: "b"}
}

func wantCalls(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	var both []string // each call is made to a and then to b
	for _, call := range want {
		if strings.HasPrefix(call, "job") {
			both = append(both, call)
		} else {
			both = append(both, "a "+call, "b "+call)
		}
	}
	if !slices.Equal(got, both) {
		t.Errorf("%s: the calls are %q, want %q", what, got, both)
	}
}

func TestParticipantsAreCalledInOrder(t *testing.T) {
	j, a, b := newRecorders()
	db := open(t, sqlite.Options{Participants: []sqlite.Participant{a, b}})
	job := func(*sqlite.Tx) error {
		j.calls = append(j.calls, "job")
		return nil
	}
	wantOK(t, db.Write(ctx, sqlite.Change, job))
	wantCalls(t, "the first", j.take(), "load true", "flush 0", "job", "flush 0", "changed", "flush 1", "committed")
	wantOK(t, db.Write(ctx, sqlite.Change, job))
	wantCalls(t, "a change", j.take(), "flush 0", "job", "flush 0", "changed", "flush 1", "committed")
	wantOK(t, db.Write(ctx, sqlite.Upkeep, job))
	wantCalls(t, "upkeep", j.take(), "flush 0", "job", "flush 0", "flush 1", "committed")
	wantOK(t, db.Write(ctx, sqlite.Append, job))
	wantCalls(t, "an append", j.take(), "job", "flush 1", "committed")
	wantOK(t, db.Read(ctx, func(*sqlite.Tx) error { return nil }))
	wantCalls(t, "a read", j.take())
}

func TestJobsShareTheCallsOfACommit(t *testing.T) {
	j, a, b := newRecorders()
	db := open(t, sqlite.Options{Participants: []sqlite.Participant{a, b}})
	release := hold(t, db)
	var waits []func() error
	for range 2 {
		waits = append(waits, queue(db, sqlite.Append, func(*sqlite.Tx) error {
			j.calls = append(j.calls, "job")
			return nil
		}))
	}
	release()
	for _, wait := range waits {
		wantOK(t, wait())
	}
	wantCalls(t, "together", j.take(), "load true", "flush 0", "flush 0", "job", "job", "flush 1", "committed")
}

func TestRollbackOfOneJob(t *testing.T) {
	j, a, b := newRecorders()
	db := open(t, sqlite.Options{Participants: []sqlite.Participant{a, b}})
	wantOK(t, db.Write(ctx, sqlite.Change, add("before")))
	j.take()
	a.taken, b.taken = 4, 7
	err := db.Write(ctx, sqlite.Change, func(tx *sqlite.Tx) error {
		a.taken++
		b.taken++
		return errors.Join(add("undone")(tx), errTest)
	})
	if !errors.Is(err, errTest) {
		t.Errorf("the job failed with %v", err)
	}
	want := []string{"a flush 0", "b flush 0", "a rolled back to 4", "b rolled back to 7",
		"a flush 1", "b flush 1", "a committed", "b committed"}
	if got := j.take(); !slices.Equal(got, want) {
		t.Errorf("the calls are %q, want %q", got, want)
	}
	if got := texts(t, db); !slices.Equal(got, []string{"before"}) {
		t.Errorf("there are %q", got)
	}
}

// If the shared commit fails, everything since the start of the transaction is rolled back, and
// the jobs run again one by one.
func TestFailureOfTheSharedCommit(t *testing.T) {
	j, a, b := newRecorders()
	db := open(t, sqlite.Options{Participants: []sqlite.Participant{a, b}})
	wantOK(t, db.Write(ctx, sqlite.Change, add("before")))
	a.taken, b.taken = 1, 2
	release := hold(t, db)
	j.take()
	var waits []func() error
	for i := range 2 {
		waits = append(waits, queue(db, sqlite.Append, func(tx *sqlite.Tx) error {
			a.taken++
			b.taken += 10
			return add(fmt.Sprint("note ", i))(tx)
		}))
	}
	a.fail = errTest
	release()
	for _, wait := range waits {
		wantOK(t, wait())
	}
	want := []string{"a flush 0", "b flush 0", // for the job that held the writer
		"a flush 1", "a rolled back to 1", "b rolled back to 2",
		"a load false", "b load false", "a flush 0", "b flush 0", "a flush 0", "b flush 0", "a flush 1", "b flush 1", "a committed", "b committed",
		"a flush 1", "b flush 1", "a committed", "b committed",
		"a flush 1", "b flush 1", "a committed", "b committed"}
	if got := j.take(); !slices.Equal(got, want) {
		t.Errorf("the calls are\n%q, want\n%q", got, want)
	}
	if a.taken != 3 || b.taken != 22 {
		t.Errorf("a has %d and b %d, want 3 and 22", a.taken, b.taken)
	}
	if got := texts(t, db); !slices.Equal(got, []string{"before", "note 0", "note 1"}) {
		t.Errorf("there are %q", got)
	}
}

func TestFailureOfALoneCommit(t *testing.T) {
	j, a, b := newRecorders()
	db := open(t, sqlite.Options{Participants: []sqlite.Participant{a, b}})
	wantOK(t, db.Write(ctx, sqlite.Change, add("before")))
	j.take()
	a.fail = errTest
	if err := db.Write(ctx, sqlite.Change, add("undone")); !errors.Is(err, errTest) {
		t.Errorf("the commit failed with %v", err)
	}
	want := []string{"a flush 0", "b flush 0", "a flush 0", "b flush 0", "a changed", "b changed",
		"a flush 1", "a rolled back to 0", "b rolled back to 0"}
	if got := j.take(); !slices.Equal(got, want) {
		t.Errorf("the calls are %q, want %q", got, want)
	}
	if got := texts(t, db); !slices.Equal(got, []string{"before"}) {
		t.Errorf("there are %q", got)
	}
}

// An Append job that fails before it adds anything does not affect other jobs. If it fails later,
// the whole transaction is rolled back and the other jobs are repeated.
func TestFailingAppends(t *testing.T) {
	for _, late := range []bool{false, true} {
		j, a, b := newRecorders()
		db := open(t, sqlite.Options{Participants: []sqlite.Participant{a, b}})
		wantOK(t, db.Write(ctx, sqlite.Upkeep, add("before")))
		release := hold(t, db)
		j.take()
		good := queue(db, sqlite.Append, func(*sqlite.Tx) error { b.taken++; return nil })
		bad := queue(db, sqlite.Append, func(*sqlite.Tx) error {
			if late {
				b.taken++
			}
			return errTest
		})
		release()
		wantOK(t, good())
		if err := bad(); !errors.Is(err, errTest) {
			t.Errorf("the append failed with %v", err)
		}
		if b.taken != 1 {
			t.Errorf("late %v: b has taken %d, want 1", late, b.taken)
		}
		if rolledBack := slices.Contains(j.take(), "b rolled back to 0"); rolledBack != late {
			t.Errorf("late %v: rolled back: %v", late, rolledBack)
		}
	}
}

func TestLoadAfterAnotherProcess(t *testing.T) {
	j, a, b := newRecorders()
	path := filepath.Join(t.TempDir(), "notes.db")
	db := open(t, sqlite.Options{Path: path, Participants: []sqlite.Participant{a, b}})
	other := open(t, sqlite.Options{Path: path})
	nothing := func(*sqlite.Tx) error { return nil }
	wantOK(t, db.Write(ctx, sqlite.Append, nothing))
	j.take()
	wantOK(t, other.Write(ctx, sqlite.Change, add("theirs")))
	wantOK(t, db.Write(ctx, sqlite.Append, nothing))
	wantCalls(t, "after another process", j.take(), "load true", "flush 1", "committed")
	wantOK(t, db.Write(ctx, sqlite.Change, add("ours")))
	j.take()
	wantOK(t, db.Write(ctx, sqlite.Append, nothing))
	wantCalls(t, "after its own", j.take(), "flush 1", "committed")
}

func TestOverdueIsWrittenBeforeClose(t *testing.T) {
	for _, late := range []bool{false, true} {
		j, a, b := newRecorders()
		db := open(t, sqlite.Options{Participants: []sqlite.Participant{a, b}})
		wantOK(t, db.Write(ctx, sqlite.Append, func(*sqlite.Tx) error { return nil }))
		j.take()
		b.late = late
		wantOK(t, db.Close())
		if late {
			wantCalls(t, "overdue", j.take(), "flush 0", "flush 0", "flush 2", "committed")
		} else {
			wantCalls(t, "not overdue", j.take())
		}
	}
}

// shelf is a participant that holds notes until they are flushed.
type shelf struct {
	sqlite.Passive
	held   []string
	handed int64
}

func (s *shelf) hold(text string) {
	s.held = append(s.held, text)
	s.handed++
}

func (s *shelf) Mark() int64 { return s.handed }

func (s *shelf) Flush(tx *sqlite.Tx, _ sqlite.Stage) error {
	for _, text := range s.held {
		if err := add(text)(tx); err != nil {
			return err
		}
	}
	s.held = s.held[:0]
	return nil
}

func (s *shelf) RolledBack(mark int64) {
	s.held = s.held[:max(0, len(s.held)-int(s.handed-mark))]
	s.handed = mark
}

// Wherever a failure happens, the table has exactly the acknowledged writes, each of them once
// and in order.
func TestWhatIsAcknowledgedIsThereOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	var s shelf
	path := filepath.Join(t.TempDir(), "notes.db")
	db := open(t, sqlite.Options{Path: path, Participants: []sqlite.Participant{&s}})
	execSQL(t, raw(t, path), `CREATE TRIGGER gone BEFORE INSERT ON note WHEN NEW.text LIKE 'bad%'
		BEGIN SELECT RAISE(ROLLBACK, 'all gone'); END`)
	var want []string
	for round := range 60 {
		release := hold(t, db)
		type sent struct {
			text string
			wait func() error
		}
		var all []sent
		for i := range 1 + random.IntN(12) {
			text := fmt.Sprintf("%d.%d", round, i)
			kind := []sqlite.Kind{sqlite.Change, sqlite.Upkeep, sqlite.Append}[random.IntN(3)]
			outcome := random.IntN(8)
			if outcome == 0 {
				text = "bad " + text
			}
			fn := func(*sqlite.Tx) error {
				if outcome == 1 && kind == sqlite.Append {
					return errTest
				}
				s.hold(text)
				if outcome == 1 || outcome == 2 {
					return errTest
				}
				return nil
			}
			if kind != sqlite.Append && random.IntN(2) == 0 {
				fn = func(tx *sqlite.Tx) error {
					if err := add(text)(tx); err != nil {
						return err
					}
					if outcome == 1 {
						panic("no such luck")
					}
					return nil
				}
			}
			all = append(all, sent{text, queue(db, kind, fn)})
		}
		release()
		for _, job := range all {
			if err := job.wait(); err == nil {
				want = append(want, job.text)
			}
		}
	}
	if got := texts(t, db); !slices.Equal(got, want) {
		t.Errorf("there are %d notes, want %d: %q, want %q", len(got), len(want), got, want)
	}
	if len(want) < 100 {
		t.Errorf("only %d jobs succeeded", len(want))
	}
}
