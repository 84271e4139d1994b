//go:build unix

package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/sqlite"
)

// SQLite names the write-ahead log after the path, so a file with two names would have two logs.
func TestHardLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	db, err := sqlite.Open(ctx, exclusive(path))
	wantOK(t, err)
	wantOK(t, db.Close())
	other := path + ".other"
	wantOK(t, os.Link(path, other))
	for _, name := range []string{path, other} {
		_, err := sqlite.Open(ctx, sqlite.Options{Path: name, Schema: schemaOf(notes)})
		var e *sqlite.FileError
		if !errors.As(err, &e) || e.Problem != sqlite.Linked {
			t.Errorf("opening %s: %v", filepath.Base(name), err)
		}
	}
	wantOK(t, os.Remove(other))
	open(t, exclusive(path))
}
