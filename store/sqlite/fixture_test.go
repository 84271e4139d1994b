package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tracker/store/sqlite"
)

var (
	ctx     = context.Background()
	errTest = errors.New("a failure of the test's own")
)

const notes = `CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL UNIQUE) STRICT;
	CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL) STRICT;`

// schemaOf returns a schema with these migrations.
func schemaOf(scripts ...string) sqlite.Schema {
	files := fstest.MapFS{}
	for i, text := range scripts {
		files[string(rune('1'+i))+"_x.sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	return sqlite.Schema{Application: "notes", ID: 77, Migrations: files}
}

func now() time.Time { return time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC) }

// open opens a file, by default a new one with the note table. It is closed when the test ends.
func open(t testing.TB, o sqlite.Options) *sqlite.DB {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "notes.db")
	}
	if o.Schema.ID == 0 {
		o.Schema = schemaOf(notes)
	}
	if o.Now == nil {
		o.Now = now
	}
	db, err := sqlite.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the file: %v", err)
		}
	})
	db.SetMaxBatch(time.Hour) // queued jobs share a transaction, however slow the machine is
	return db
}

// add returns a job that adds a note.
func add(text string) func(*sqlite.Tx) error {
	return func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`INSERT INTO note (text) VALUES (?)`, text)
		return err
	}
}

// texts returns all notes in their order.
func texts(t testing.TB, db *sqlite.DB) (all []string) {
	t.Helper()
	wantOK(t, db.Read(ctx, func(tx *sqlite.Tx) error { return tx.Select(&all, `SELECT text FROM note ORDER BY id`) }))
	return all
}

// raw opens a file as another program would do.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", sqlite.DSN(path))
	wantOK(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func execSQL(t testing.TB, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// hold keeps the writer busy until release is called, so that writes wait in the
// queue.
func hold(t testing.TB, db *sqlite.DB) (release func()) {
	t.Helper()
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		done <- db.Write(ctx, sqlite.Upkeep, func(*sqlite.Tx) error {
			once.Do(func() { close(began) })
			<-end
			return nil
		})
	}()
	<-began
	release = sync.OnceFunc(func() {
		close(end)
		wantOK(t, <-done)
	})
	t.Cleanup(release)
	return release
}

// queue queues a job for the writer, which must be held. wait returns its result.
func queue(db *sqlite.DB, kind sqlite.Kind, fn func(*sqlite.Tx) error) (wait func() error) {
	done := make(chan error, 1)
	before := db.QueueLength()
	go func() { done <- db.Write(ctx, kind, fn) }()
	for db.QueueLength() == before {
		runtime.Gosched()
	}
	return func() error { return <-done }
}

func wantOK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantProblem checks that err is a FileError of this kind.
func wantProblem(t testing.TB, err error, problem sqlite.Problem) *sqlite.FileError {
	t.Helper()
	var e *sqlite.FileError
	if !errors.As(err, &e) || e.Problem != problem {
		t.Fatalf("%#v (%v), want problem %d", err, err, problem)
	}
	return e
}
