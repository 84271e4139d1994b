package store_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tracker/store"
	"tracker/store/domain"
)

// futureMigrations adds migrations to the migrations of the program until the end of the test. It
// must not be used in parallel tests.
func futureMigrations(t *testing.T, scripts ...string) {
	t.Helper()
	files := fstest.MapFS{}
	for i, text := range append(must(store.ReadMigrations())(t), scripts...) {
		files[fmt.Sprintf("migrations/%04d_x.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	t.Cleanup(store.SetMigrations(files))
}

const addColour = `ALTER TABLE project ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';
	CREATE INDEX project_by_colour ON project (colour);`

func names(t testing.TB, pattern string) []string {
	t.Helper()
	return must(filepath.Glob(pattern))(t)
}

func version(t testing.TB, path string) int {
	t.Helper()
	return ask[int](t, raw(t, path), `PRAGMA user_version`)
}

func TestMigrationKeepsDataAndACopy(t *testing.T) {
	b := newPlainBed(t)
	b.log(t, "loss", 1, 0.5)
	path := filepath.Join(t.TempDir(), "killed.db")
	copyFiles(t, b.Path(), path) // with the write-ahead log, as after a kill
	before := pointsOf(t, b.DB, b.iteration, nil)

	var log bytes.Buffer
	db := func() *store.DB {
		futureMigrations(t, addColour, `CREATE TABLE second (n INTEGER) STRICT;`)
		return open(t, store.Options{Path: path, Now: b.clock.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	}()
	known := len(must(store.ReadMigrations())(t))
	if v := version(t, path); v != known {
		t.Errorf("schema %d, want %d", v, known)
	}
	if after := pointsOf(t, db, b.iteration, nil); len(after) != 1 || after[0] != before[0] {
		t.Errorf("points %+v after the migration, %+v before", after, before)
	}
	if c := ask[string](t, raw(t, path), `SELECT colour FROM project`); c != "grey" {
		t.Errorf("the new column has %q", c)
	}
	wantClean(t, db)
	wantOK(t, db.Close())

	copies := names(t, path+".before*")
	if want := fmt.Sprintf("%s.before-v%d-20261121T093000Z", path, known-1); len(copies) != 1 || copies[0] != want {
		t.Fatalf("copies %q, want %s", copies, want)
	}
	if !strings.Contains(log.String(), copies[0]) {
		t.Errorf("the log does not name the copy: %s", &log)
	}
	wantPrivate(t, copies[0])
	if v := version(t, copies[0]); v != known-2 {
		t.Errorf("the copy has the schema %d", v)
	}
	if n := ask[int](t, raw(t, copies[0]), `SELECT count(*) FROM metric`); n != 1 {
		t.Errorf("the copy has %d points", n)
	}
	again := open(t, store.Options{Path: path})
	wantClean(t, again)
	if now := names(t, path+".before*"); len(now) != 1 {
		t.Errorf("copies %q after it was opened again", now)
	}
}

func TestNewDatabaseHasNoCopy(t *testing.T) {
	futureMigrations(t, addColour)
	path := open(t, store.Options{}).Path()
	if all := names(t, filepath.Dir(path)+"/*before*"); len(all) != 0 {
		t.Errorf("copies of nothing: %q", all)
	}
}

func TestFailingMigrationChangesNothing(t *testing.T) {
	b := newPlainBed(t)
	b.log(t, "loss", 1, 0.5)
	wantOK(t, b.Close())
	before := dumpSchema(t, raw(t, b.Path()))
	own := must(store.ReadMigrations())(t)
	files := fstest.MapFS{}
	for i, text := range append(own, addColour+`CREATE TABLE broken (n NONSENSE) STRICT;`) {
		files[fmt.Sprintf("migrations/%04d_x.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	restore := store.SetMigrations(files)
	_, err := store.Open(ctx, store.Options{Path: b.Path(), Now: b.clock.Now})
	restore()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("migration ", len(own)+1)) || !strings.Contains(err.Error(), b.Path()) {
		t.Errorf("the error does not say what failed: %v", err)
	}
	if after := dumpSchema(t, raw(t, b.Path())); after != before {
		t.Errorf("the schema is now %s", after)
	}
	db := open(t, store.Options{Path: b.Path()})
	if n := len(pointsOf(t, db, b.iteration, nil)); n != 1 {
		t.Errorf("%d points", n)
	}
	wantClean(t, db)
}

// A file that belongs to another program or to a newer version of this one is rejected and not
// changed.
func TestForeignDatabasesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		says   string
	}{
		"tables":           {`CREATE TABLE theirs (n)`, "another program"},
		"a version":        {`PRAGMA user_version = 3`, "another program"},
		"an id and tables": {`PRAGMA application_id = 7; CREATE TABLE theirs (n)`, "another program"},
		"another id":       {`PRAGMA application_id = 7; PRAGMA user_version = 1`, "another program"},
		"newer":            {`PRAGMA application_id = 0x54524b52; PRAGMA user_version = 99; CREATE TABLE user (n)`, "newer"},
		"no version":       {`PRAGMA application_id = 0x54524b52; CREATE TABLE user (n)`, "damaged"},
		"negative version": {`PRAGMA application_id = 0x54524b52; PRAGMA user_version = -5; CREATE TABLE user (n)`, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "other.db")
			db := raw(t, path)
			execSQL(t, db, c.script)
			wantOK(t, db.Close())
			before := must(os.ReadFile(path))(t)
			_, err := store.Open(ctx, store.Options{Path: path})
			wantCode(t, err, domain.CodeConflict)
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q does not say %q", err, c.says)
			}
			wantCode(t, store.Verify(ctx, path), domain.CodeConflict)
			if !bytes.Equal(before, must(os.ReadFile(path))(t)) {
				t.Error("the file was changed")
			}
			if all := names(t, path+"*"); len(all) != 1 {
				t.Errorf("files %q were left beside it", all)
			}
		})
	}
}

func TestEmptyFilesAreAccepted(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.db")
	wantOK(t, os.WriteFile(empty, nil, 0o600))
	blank := filepath.Join(t.TempDir(), "blank.db")
	db := raw(t, blank)
	execSQL(t, db, `VACUUM`)
	wantOK(t, db.Close())
	if info := must(os.Stat(blank))(t); info.Size() == 0 {
		t.Fatal("the blank database is an empty file")
	}
	for _, path := range []string{empty, blank} {
		db := open(t, store.Options{Path: path})
		wantClean(t, db)
		wantOK(t, db.Close())
		wantOK(t, store.Verify(ctx, path))
	}
}

// If many processes open a file at once, it is migrated only once. Other calls of Open can return
// UNAVAILABLE during the migration.
func TestMigratingAtOnce(t *testing.T) {
	all := func(t *testing.T, path string, now func() time.Time) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		opened := 0
		for i := range 8 {
			wg.Go(func() {
				db, err := store.Open(ctx, store.Options{Path: path, Now: now, Exclusive: i%4 == 3})
				if err != nil {
					if codeOf(err) != domain.CodeUnavailable {
						t.Errorf("opened by one of many: %v", err)
					}
					return
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				opened++
			})
		}
		wg.Wait()
		if opened == 0 {
			t.Error("nobody could open it")
		}
		wantClean(t, open(t, store.Options{Path: path}))
	}
	t.Run("new", func(t *testing.T) {
		for range 3 {
			path := filepath.Join(t.TempDir(), "new.db")
			all(t, path, newClock().Now)
		}
	})
	t.Run("with data", func(t *testing.T) {
		var beds []*bed
		for range 3 {
			b := newPlainBed(t)
			b.log(t, "loss", 0, 1)
			wantOK(t, b.Close())
			beds = append(beds, b)
		}
		futureMigrations(t, addColour)
		for _, b := range beds {
			all(t, b.Path(), b.clock.Now)
			if copies := names(t, b.Path()+".before*"); len(copies) != 1 {
				t.Errorf("copies %q, want one", copies)
			}
			if n := ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM metric`); n != 1 {
				t.Errorf("%d points", n)
			}
		}
	})
}

func TestNoMigrationUnderARunningServer(t *testing.T) {
	server := newBedWith(t, store.Options{Exclusive: true})
	known := version(t, server.Path())
	futureMigrations(t, addColour)
	_, err := store.Open(ctx, store.Options{Path: server.Path()})
	wantCode(t, err, domain.CodeUnavailable)
	if v := version(t, server.Path()); v != known {
		t.Errorf("the schema went from %d to %d", known, v)
	}
	if copies := names(t, server.Path()+".before*"); len(copies) != 0 {
		t.Errorf("copies %q", copies)
	}
	server.log(t, "loss", 0, 1)
	wantOK(t, server.Close())
	db := open(t, store.Options{Path: server.Path()})
	if v := version(t, db.Path()); v != known+1 {
		t.Errorf("schema %d after the server has ended", v)
	}
	wantClean(t, db)
}
