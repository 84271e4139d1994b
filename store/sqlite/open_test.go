package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tracker/store/sqlite"
)

// tryOpen opens the file at path and closes it again.
func tryOpen(path string, exclusive bool) error {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: exclusive, Now: now})
	if err != nil {
		return err
	}
	return db.Close()
}

// A lock file left behind by a killed process, or any other file with that name, does not prevent
// the database from being opened.
func TestLeftLockFile(t *testing.T) {
	for _, left := range []string{"", "123456\n", strings.Repeat("garbage", 100)} {
		path := filepath.Join(t.TempDir(), "notes.db")
		wantOK(t, os.WriteFile(sqlite.LockPath(path), []byte(left), 0o600))
		open(t, exclusive(path))
		text, err := os.ReadFile(sqlite.LockPath(path))
		wantOK(t, err)
		if owner, _, _ := strings.Cut(string(text), "\n"); owner != fmt.Sprint(os.Getpid()) {
			t.Errorf("the lock file says %q", text)
		}
		e := wantProblem(t, tryOpen(path, true), sqlite.Served)
		if !strings.Contains(e.Text, fmt.Sprintf("process %d;", os.Getpid())) || e.Path != path {
			t.Errorf("%+v does not name the process and the file", e)
		}
	}
}

func TestLockIsMetByEveryNameOfTheFile(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "notes.db"), filepath.Join(dir, "link.db")
	open(t, exclusive(target))
	wantOK(t, os.Symlink(target, link))
	wantProblem(t, tryOpen(link, true), sqlite.Served)
	wantOK(t, tryOpen(link, false))
}

func TestPathsThatCanNotBeOpened(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	wantOK(t, os.WriteFile(file, []byte("text"), 0o600))
	for _, path := range []string{folder, filepath.Join(file, "notes.db"), filepath.Join(folder, strings.Repeat("n", 300))} {
		for _, exclusive := range []bool{false, true} {
			var e *sqlite.FileError
			if err := tryOpen(path, exclusive); !errors.As(err, &e) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
}

// A failed Open does not prevent the next Open from succeeding.
func TestOpenAfterAFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	wantOK(t, os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o600))
	wantProblem(t, tryOpen(path, true), sqlite.Damaged)
	wantOK(t, os.Remove(path))
	wantOK(t, tryOpen(path, true))
}

func TestMigrationsAreNumberedWithoutAGap(t *testing.T) {
	for _, second := range []string{"0003_x.sql", "0001_x.sql", "two.sql", "_.sql"} {
		s := sqlite.Schema{Migrations: fstest.MapFS{"0001_init.sql": {Data: []byte(`SELECT 1`)}, second: {Data: []byte(`SELECT 1`)}}}
		if _, err := s.Scripts(); err == nil {
			t.Errorf("%s is taken as the second migration", second)
		}
	}
}

// Open applies the migrations that a file lacks. If the file has data, Open first makes a copy.
func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Now: now})
	wantOK(t, err)
	wantOK(t, db.Write(ctx, sqlite.Change, add("kept")))
	wantOK(t, db.Close())
	if all, err := filepath.Glob(path + ".before*"); err != nil || len(all) > 0 {
		t.Errorf("copies of nothing: %q (%v)", all, err)
	}
	later := schemaOf(notes, `ALTER TABLE note ADD COLUMN color TEXT`)
	db = open(t, sqlite.Options{Path: path, Schema: later})
	if got := texts(t, db); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("there are %q", got)
	}
	copied := path + ".before-v2-20261121T093000Z"
	if got := texts(t, open(t, sqlite.Options{Path: copied, Schema: schemaOf(notes)})); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("the copy has %q", got)
	}
	wantOK(t, db.Close())
	_, err = sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Now: now})
	wantProblem(t, err, sqlite.Newer)
	_, err = sqlite.Open(ctx, sqlite.Options{Path: path, Schema: sqlite.Schema{ID: 78, Migrations: later.Migrations}, Now: now})
	wantProblem(t, err, sqlite.Foreign)
	broken := schemaOf(notes, `ALTER TABLE note ADD COLUMN color TEXT`, `CREATE TABLE broken (n NONSENSE) STRICT`)
	if _, err = sqlite.Open(ctx, sqlite.Options{Path: path, Schema: broken, Now: now}); err == nil || !strings.Contains(err.Error(), "migration 3") {
		t.Errorf("a migration that fails: %v", err)
	}
	open(t, sqlite.Options{Path: path, Schema: later})
}

// A command waits longer for the lock than a server does, because a server must respond to its
// clients.
func TestCommandsWaitLonger(t *testing.T) {
	for exclusive, want := range map[bool]int{true: 10_000, false: 60_000} {
		db := open(t, sqlite.Options{Exclusive: exclusive})
		var got int
		wantOK(t, db.Write(ctx, sqlite.Change, func(tx *sqlite.Tx) error { return tx.Row(`PRAGMA busy_timeout`).Scan(&got) }))
		if got != want {
			t.Errorf("exclusive %v: %d ms", exclusive, got)
		}
	}
}
