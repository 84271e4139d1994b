package store_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// childCompacts writes points with every method until it is killed, while another goroutine
// compacts continuously. For each acknowledged write, it prints the key and the number of points
// written so far.
func childCompacts(db *store.DB, iteration string) error {
	failed := make(chan error)
	go func() {
		for {
			if err := db.Compact(); err != nil {
				failed <- err
				return
			}
		}
	}()
	for w := range 3 {
		go func() {
			key := fmt.Sprint("key ", w)
			l, err := db.Runs.Metrics(ctx, domain.System, iteration, runs.MetricQuery{Key: &key})
			for n := l.Total; err == nil; {
				size := []int{1, 1, 1, 10, 100}[rand.IntN(5)]
				all := make([]points.Sample, size)
				for i := range all {
					all[i] = points.Sample{Key: key, Value: scalar.Value(n + i)}
				}
				if err = db.Runs.CreateMetrics(ctx, domain.System, iteration, all); err == nil {
					n += size
					fmt.Printf("%d %d\n", w, n)
				}
			}
			failed <- err
		}()
	}
	return <-failed
}

// A process that compacts the same file is killed 25 times, each time at a random moment. Each
// acknowledged point is stored once. The only other stored points come from the last write of
// each writer.
func TestKilledWhileCompacting(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true})
	wantOK(t, b.Close())
	moved := 0
	for round := range 25 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childPath+"="+b.Path(), childPath+"_ITERATION="+b.iteration,
			childPath+"_EXCLUSIVE=1", childPath+"_COMPACTS=1")
		var complaint strings.Builder
		cmd.Stderr = &complaint
		output := must(cmd.StdoutPipe())(t)
		wantOK(t, cmd.Start())
		acknowledged := [3]int{}
		lines := bufio.NewScanner(output)
		kill := time.AfterFunc(10*time.Minute, func() { cmd.Process.Kill() })
		for n := 0; lines.Scan(); n++ {
			var w, count int
			must(fmt.Sscan(lines.Text(), &w, &count))(t)
			acknowledged[w] = count
			if n == 0 {
				kill.Reset(time.Duration(rand.IntN(100)) * time.Millisecond) // the random moment
			}
		}
		cmd.Wait() // returns an error, because the process was killed
		if complaint.Len() > 0 {
			t.Fatal(complaint.String())
		}
		db := open(t, store.Options{Path: b.Path(), Exclusive: round%2 == 0})
		for w, want := range acknowledged {
			key := fmt.Sprint("key ", w)
			all := pointsOf(t, db, b.iteration, &key)
			if len(all) < want || len(all) > want+100 && want > 0 {
				t.Errorf("round %d: %d points of %s, of which %d were acknowledged", round, len(all), key, want)
			}
			for i, m := range all {
				if m.Step != scalar.Step(i) || m.Value != scalar.Value(i) {
					t.Fatalf("round %d: point %d of %s is %v at %d", round, i, key, m.Value, m.Step)
				}
			}
		}
		if n := ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM recent JOIN series ON series.id = series_id AND seq <= moved_seq`); n > 0 {
			moved++
		}
		wantNoSeqTwice(t, db)
		wantClean(t, db)
		wantOK(t, db.Close())
	}
	t.Logf("%d of 25 kills came between a move and the removal of its rows", moved)
}
