package tensorboard

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tracker/store/transfer"
)

// TestOpened checks that opened returns the same information as os.Lstat and does not open a pipe.
func TestOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, link, file := filepath.Join(dir, "pipe.tfevents"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, link, file, filepath.Join(dir, "missing")} {
		want, wantErr := os.Lstat(path)
		got, err := opened(path)
		if (err == nil) != (wantErr == nil) || err == nil && (got.Mode() != want.Mode() || got.Size() != want.Size() || !got.ModTime().Equal(want.ModTime())) {
			t.Errorf("%s: %v, %v; want %v, %v", path, got, err, want, wantErr)
		}
	}
}

// TestFollowByOpening checks that a follower that uses opened finds the same files.
func TestFollowByOpening(t *testing.T) {
	dir := t.TempDir()
	f, err := NewFollower(transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true}), dir)
	if err != nil {
		t.Fatal(err)
	}
	f.stat = opened
	for step := range 3 {
		out, err := os.OpenFile(filepath.Join(dir, "events.out.tfevents.1"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		w := &Writer{w: out}
		if step == 0 {
			w, err = NewWriter(out, 1_700_000_000_000)
		}
		if err == nil {
			err = w.Scalar("loss", transfer.Step(step), 0.5, 1_700_000_000_000)
		}
		if err != nil || out.Close() != nil {
			t.Fatal(err)
		}
		if something, err := f.Poll(t.Context()); err != nil || !something {
			t.Fatalf("poll %d: %v, %v", step, something, err)
		}
		if something, err := f.Poll(t.Context()); err != nil || something {
			t.Fatalf("again after poll %d: %v, %v", step, something, err)
		}
	}
}
