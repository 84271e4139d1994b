//go:build linux || darwin

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"tracker/store/sqlite"
)

// The lock file can be removed, and another path of the database has another lock file. The
// lock on the database file still excludes a second server.
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
		// A command would use another log, or can't check that it would not.
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
