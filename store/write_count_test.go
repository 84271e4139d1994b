package store_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracker/store"
)

// killed returns a copy of a database in the state in which a kill of the server would leave it
// now.
func killed(t *testing.T, db *store.DB, suffixes ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracker.db")
	for _, suffix := range append(suffixes, "", ".lock") {
		data, err := os.ReadFile(db.Path() + suffix)
		wantOK(t, err)
		wantOK(t, os.WriteFile(path+suffix, data, 0o600))
	}
	return path
}

// wantLoss checks whether Check and the start of a server report lost commits.
func wantLoss(t *testing.T, path string, want bool) {
	t.Helper()
	const says = "lacks the latest writes"
	command := open(t, store.Options{Path: path})
	found := false
	for _, p := range must(command.Check(ctx, false))(t) {
		found = found || strings.Contains(p.Text, says)
	}
	wantOK(t, command.Close())
	if found != want {
		t.Errorf("a check finds the loss: %v, want %v", found, want)
	}
	var log bytes.Buffer
	server := open(t, store.Options{Path: path, Exclusive: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	wantOK(t, server.Close())
	if got := strings.Contains(log.String(), says); got != want {
		t.Errorf("the start says %q, want the loss %v", log.String(), want)
	}
}

// Deleting the write-ahead log after a kill loses commits.
func TestDeletedWriteAheadLog(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 1, 1)
	wantLoss(t, killed(t, b.DB, "-wal"), false)
	// A new database is still completely in the log. Opening the file without the log creates a
	// new database.
	wantLoss(t, killed(t, b.DB), true)

	// Another program writes the log into the file.
	merged := killed(t, b.DB, "-wal")
	file := raw(t, merged)
	if n := ask[int](t, file, `SELECT count(*) FROM counter`); n == 0 {
		t.Error("the copy has no counters")
	}
	wantOK(t, file.Close())
	wantOK(t, os.RemoveAll(merged+"-wal"))
	wantLoss(t, merged, false)

	execSQL(t, raw(t, b.Path()), `PRAGMA wal_checkpoint(TRUNCATE)`)
	b.clock.Add(10 * time.Second)
	b.log(t, "loss", 2, 2)
	wantLoss(t, killed(t, b.DB, "-wal"), false)
	wantLoss(t, killed(t, b.DB), true)
}

// After a server has closed the database, no log is needed.
func TestWriteCountAfterAClose(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 1, 1)
	path := b.Path()
	wantOK(t, b.Close())
	wantLoss(t, path, false)
}

// A restored backup counts as having lost no commits, although it is older.
func TestWriteCountAfterARestore(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 1, 1)
	path, copied := b.Path(), filepath.Join(t.TempDir(), "copy.db")
	wantOK(t, b.Backup(ctx, copied))
	b.clock.Add(10 * time.Second)
	b.log(t, "loss", 2, 2)
	wantOK(t, b.Close())
	must(store.Restore(ctx, copied, path, true, b.clock.Now()))(t)
	wantLoss(t, path, false)
}
