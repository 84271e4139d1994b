package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/storetest"
)

// childPath names the environment variable with the path of the database for the second process.
const childPath = "TRACKER_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := child(path, os.Getenv(childPath+"_ITERATION")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child writes points until its standard input ends, and prints their ids.
func child(path, iteration string) error {
	db, err := store.Open(ctx, store.Options{Path: path, Exclusive: os.Getenv(childPath+"_EXCLUSIVE") != ""})
	if err != nil {
		return err
	}
	if os.Getenv(childPath+"_COMPACTS") != "" {
		return childCompacts(db, iteration)
	}
	ended := make(chan struct{})
	go func() {
		bufio.NewReader(os.Stdin).ReadByte()
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return db.Close()
		default:
		}
		c, err := db.Runs.CreateMetric(ctx, domain.System, iteration, points.Sample{Key: "loss"})
		if err != nil {
			return err
		}
		fmt.Println(c.ID)
	}
}

func TestTwoProcessesWrite(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+b.Path(), childPath+"_ITERATION="+b.iteration)
	cmd.Stderr = os.Stderr
	input := must(cmd.StdinPipe())(t)
	output := must(cmd.StdoutPipe())(t)
	wantOK(t, cmd.Start())
	var acknowledged answers
	var read sync.WaitGroup
	enough := make(chan struct{})
	enter := sync.OnceFunc(func() { close(enough) })
	read.Go(func() {
		defer enter()
		lines := bufio.NewScanner(output)
		for i := 0; lines.Scan(); i++ {
			acknowledged.add(t, lines.Text())
			if i == 50 {
				enter()
			}
		}
	})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for range 25 {
				ids, err := writeSome(b, b.iteration, w)
				if err != nil {
					t.Errorf("a write beside another process: %v", err)
					return
				}
				acknowledged.add(t, ids...)
			}
		})
	}
	wg.Wait()
	<-enough
	wantOK(t, input.Close())
	read.Wait()
	wantOK(t, cmd.Wait())
	acknowledged.check(t, b.DB, b.iteration)
	wantNoSeqTwice(t, b.DB)
	loss := "loss"
	for i, m := range pointsOf(t, b.DB, b.iteration, &loss) {
		if m.Step != scalar.Step(i) {
			t.Fatalf("point %d is at step %d", i, m.Step)
		}
	}
	wantClean(t, b.DB)
}

// Two handles write to the same file, like a server and a command.
func TestTwoHandlesWrite(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true})
	other := open(t, store.Options{Path: b.Path(), Now: b.clock.Now})
	var acknowledged answers
	var wg sync.WaitGroup
	for w := range 8 {
		db := &bed{Bed: &storetest.Bed{DB: []*store.DB{b.DB, other}[w%2]}}
		wg.Go(func() {
			for i := range 30 {
				ids, err := writeSome(db, b.iteration, w/2)
				if err != nil {
					t.Errorf("a write beside another handle: %v", err)
					return
				}
				acknowledged.add(t, ids...)
				// A handle can change a record that the other handle has written.
				if i%3 == 0 {
					err := db.Runs.UpdateMetric(ctx, domain.System, ids[0], points.Patch{Key: new("moved"), Step: new(scalar.Step(i))})
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	acknowledged.check(t, b.DB, b.iteration)
	acknowledged.check(t, other, b.iteration)
	wantNoSeqTwice(t, b.DB)
	wantClean(t, b.DB)
}

// A change through one handle is visible to the next write through the other handle, despite the
// other handle's caches.
func TestHandlesSeeEachOther(t *testing.T) {
	b := newBed(t)
	other := open(t, store.Options{Path: b.Path(), Now: b.clock.Now})
	next := func(db *store.DB) (scalar.Step, error) {
		c, err := db.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"})
		if err != nil {
			return 0, err
		}
		m, err := db.Runs.Metric(ctx, domain.System, c.ID)
		return m.Step, err
	}
	for want := range scalar.Step(10) {
		if got := must(next([]*store.DB{b.DB, other}[want%2]))(t); got != want {
			t.Fatalf("step %d, want %d", got, want)
		}
	}
	for _, m := range pointsOf(t, other, b.iteration, nil) {
		wantOK(t, other.Runs.DeleteMetric(ctx, domain.System, m.ID))
	}
	if got := must(next(b.DB))(t); got != 0 {
		t.Errorf("step %d in a series that the other handle has emptied", got)
	}
	wantOK(t, other.Runs.UpdateIteration(ctx, domain.System, b.iteration, runs.IterationPatch{Status: new(domain.Failed)}))
	_, err := next(b.DB)
	wantCode(t, err, domain.CodeIterationEnded)
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.iteration, runs.IterationPatch{Status: new(domain.Running)}))
	if got := must(next(other))(t); got != 1 {
		t.Errorf("step %d after it was opened again, want 1", got)
	}
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.iteration))
	_, err = next(other)
	wantCode(t, err, domain.CodeNotFound)
	wantClean(t, b.DB)
}

// wantNoSeqTwice checks that no two points have the same seq, and that the counter is not lower
// than any seq.
func wantNoSeqTwice(t *testing.T, db *store.DB) {
	t.Helper()
	file := raw(t, db.Path())
	const all = `(SELECT seq FROM metric UNION ALL SELECT seq FROM recent JOIN series ON series.id = series_id AND seq > moved_seq)`
	if n := ask[int](t, file, `SELECT count(*) - count(DISTINCT seq) FROM `+all); n != 0 {
		t.Errorf("%d points have the seq of another one", n)
	}
	counter := ask[int64](t, file, `SELECT max(value, (SELECT coalesce(max(seq), 0) FROM recent)) FROM counter WHERE name = 'metric_seq'`)
	if used := ask[int64](t, file, `SELECT coalesce(max(seq), 0) FROM metric`); counter < used {
		t.Errorf("the counter stands at %d, behind point %d", counter, used)
	}
}

// The lock of a killed process is released.
func TestLockOfAnotherProcess(t *testing.T) {
	b := newBed(t)
	path, iteration := b.Path(), b.iteration
	wantOK(t, b.Close())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childPath+"_ITERATION="+iteration, childPath+"_EXCLUSIVE=1")
	_ = must(cmd.StdinPipe())(t)
	output := must(cmd.StdoutPipe())(t)
	wantOK(t, cmd.Start())
	must(bufio.NewReader(output).ReadString('\n'))(t)
	_, err := store.Open(ctx, store.Options{Path: path, Exclusive: true})
	wantCode(t, err, domain.CodeUnavailable)
	if pid := fmt.Sprintf("process %d;", cmd.Process.Pid); !strings.Contains(err.Error(), pid) {
		t.Errorf("%q does not name %s", err, pid)
	}
	wantOK(t, cmd.Process.Kill())
	cmd.Wait()
	wantClean(t, open(t, store.Options{Path: path, Exclusive: true}))
}
