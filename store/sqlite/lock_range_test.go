//go:build linux || darwin

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"tracker/store/sqlite"
)

// The lock file can be removed, and another path to the database has another lock file. The lock
// on the database file itself still excludes a second server.
func TestLockOfTheFileItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	first := open(t, exclusive(path))
	other := filepath.Join(t.TempDir(), "other.db")
	wantOK(t, os.Link(path, other))
	for _, name := range []string{path, other} {
		if name == path {
			wantOK(t, os.Remove(sqlite.LockPath(path)))
		}
		_, err := sqlite.Open(ctx, exclusive(name))
		wantProblem(t, err, sqlite.Served)
		// A command is rejected, because it might use another write-ahead log.
		_, err = sqlite.Open(ctx, sqlite.Options{Path: other, Schema: schemaOf(notes)})
		wantProblem(t, err, sqlite.Served)
		_, err = schemaOf(notes).Restore(ctx, path, other, true, now())
		if err == nil {
			t.Error("restored over the file of a server")
		}
	}
	wantOK(t, os.Remove(other))
	wantOK(t, first.Write(ctx, sqlite.Change, add("after")))
	wantOK(t, first.Close())
	open(t, exclusive(path))
}
