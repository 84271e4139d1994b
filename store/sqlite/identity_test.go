package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/sqlite"
)

func exclusive(path string) sqlite.Options {
	return sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: true, Now: now}
}

func wantIs(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A server that finds the name of another process in the database must not acknowledge any
// further write.
func TestSecondOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	first := open(t, exclusive(path))
	wantOK(t, first.Write(ctx, sqlite.Change, add("of the first")))
	wantOK(t, first.Ping(ctx))

	execSQL(t, raw(t, path), `UPDATE owner SET name = 'another'`)
	for range 2 {
		for _, kind := range []sqlite.Kind{sqlite.Change, sqlite.Upkeep, sqlite.Append} {
			wantIs(t, "a write of the first", first.Write(ctx, kind, add("lost")), sqlite.ErrTaken)
		}
	}
	wantIs(t, "asking the first whether it is well", first.Ping(ctx), sqlite.ErrTaken)
	if got := texts(t, first); len(got) != 1 {
		t.Errorf("the file has %q", got)
	}
}

// A process that does not serve the database can change it while the server runs.
func TestAnotherProcessIsNoOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	server := open(t, exclusive(path))
	command := open(t, sqlite.Options{Path: path, Schema: schemaOf(notes)})
	wantOK(t, command.Write(ctx, sqlite.Change, add("of the command")))
	wantOK(t, server.Write(ctx, sqlite.Change, add("of the server")))
	wantOK(t, command.Write(ctx, sqlite.Change, add("of the command again")))
}

// A write to a file that has been moved or deleted is lost at the next start.
func TestMovedFile(t *testing.T) {
	for _, suffix := range []string{"", "-wal"} {
		t.Run("the file"+suffix, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "notes.db")
			db := open(t, exclusive(path))
			wantOK(t, db.Write(ctx, sqlite.Change, add("before")))
			for range 1000 { // more than the number of connections; Ping must not open a new one
				wantOK(t, db.Ping(ctx))
			}
			aside := path + ".aside"
			wantOK(t, os.Rename(path+suffix, aside))
			wantIs(t, "asking before a write", db.Ping(ctx), sqlite.ErrMoved)
			wantIs(t, "a write", db.Write(ctx, sqlite.Change, add("lost")), sqlite.ErrMoved)
			wantIs(t, "asking whether it is well", db.Ping(ctx), sqlite.ErrMoved)

			wantOK(t, os.WriteFile(path+suffix, nil, 0o600))
			wantIs(t, "a write beside a new file", db.Write(ctx, sqlite.Change, add("lost")), sqlite.ErrMoved)

			wantOK(t, os.Rename(aside, path+suffix))
			wantOK(t, db.Write(ctx, sqlite.Change, add("after")))
			wantOK(t, db.Ping(ctx))
			if got := texts(t, db); len(got) != 2 {
				t.Errorf("the file has %q", got)
			}
		})
	}
}
