package transfertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/domain"
	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfertest"
)

// poll calls Poll once. It fails the test if Poll returns an error or a result other than want.
func poll(t *testing.T, f *tensorboard.Follower, want bool) {
	t.Helper()
	if something, err := f.Poll(t.Context()); err != nil || something != want {
		t.Errorf("%v, %v; want %v", something, err, want)
	}
}

func follower(t *testing.T, sink transfer.Sink, dir string) *tensorboard.Follower {
	t.Helper()
	f, err := tensorboard.NewFollower(transfer.New(sink, transfer.Options{}), dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFollow follows files that do not exist yet, files in new folders, files that end in the
// middle of a record, and files that are truncated, replaced or removed. A second follower then
// continues.
func TestFollow(t *testing.T) {
	logs := t.TempDir()
	db, path := transfertest.Open(t)
	f := follower(t, db.Imports.Sink(domain.System), logs)
	poll(t, f, false)
	if err := os.MkdirAll(filepath.Join(logs, "a", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	poll(t, f, false)
	name := filepath.Join(logs, "a", "deep", "events.out.tfevents.1")
	all := events(t, t0, 0, 50, 1)
	for _, size := range []int{0, 10, 40, 100, 101, 500, len(all) - 1, len(all)} {
		write(t, name, all[:size])
		poll(t, f, size > 0)
	}
	poll(t, f, false)
	if got := points(t, path); got != "series|a/deep|loss|50|49|49|0|49" {
		t.Errorf("the series is %s", got)
	}

	write(t, filepath.Join(logs, "a", "deep", "events.out.tfevents.2"), events(t, t0+100, 40, 60, -1))
	poll(t, f, true)
	if got := points(t, path); got != "series|a/deep|loss|60|-59|59|-59|39" {
		t.Errorf("after a restart the series is %s", got)
	}

	if err := os.RemoveAll(filepath.Join(logs, "a")); err != nil {
		t.Fatal(err)
	}
	poll(t, f, false)
	write(t, filepath.Join(logs, "b", "events.out.tfevents.1"), events(t, t0+5, 0, 5, 1))
	f = follower(t, db.Imports.Sink(domain.System), logs)
	poll(t, f, true)
	write(t, filepath.Join(logs, "b", "events.out.tfevents.1"), events(t, t0+5, 0, 7, 1))
	poll(t, f, true)
	if got := points(t, path); got != "series|a/deep|loss|60|-59|59|-59|39\nseries|b|loss|7|6|6|0|6" &&
		got != "series|b|loss|7|6|6|0|6\nseries|a/deep|loss|60|-59|59|-59|39" {
		t.Errorf("the series are %s", got)
	}

	// Replace the file with a different one of the same name.
	if err := os.Remove(filepath.Join(logs, "b", "events.out.tfevents.1")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(logs, "b", "events.out.tfevents.1"), events(t, t0+900, 0, 3, 9))
	poll(t, f, true)
	checked(t, db)
}

// TestFollowAfterError checks that a later call of Poll repeats a failed write.
func TestFollowAfterError(t *testing.T) {
	logs := t.TempDir()
	write(t, filepath.Join(logs, "events.out.tfevents.1"), events(t, t0, 0, 50, 1))
	for _, after := range []bool{false, true} {
		db, path := transfertest.Open(t)
		sink := &failing{Sink: db.Imports.Sink(domain.System), stop: transfertest.Stop(db.Imports.Sink(domain.System), 1, after)}
		f := follower(t, sink, logs)
		if _, err := f.Poll(t.Context()); !errors.Is(err, transfertest.ErrStopped) {
			t.Errorf("%v", err)
		}
		sink.stop = sink.Sink
		poll(t, f, true)
		poll(t, f, false)
		if got := points(t, path); got != fmt.Sprintf("series|%s|loss|50|49|49|0|49", filepath.Base(logs)) {
			t.Errorf("the series is %s", got)
		}
	}
}

// failing is a sink that passes writes to stop and all other calls to Sink.
type failing struct {
	transfer.Sink
	stop transfer.Sink
}

func (f *failing) Write(ctx context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	return f.stop.Write(ctx, batches)
}
