package artifact_test

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/sqlite"
	_ "tracker/store/wandb" // a migration calls one of its SQL functions
)

var ctx = context.Background()

// bench is a store with a separate database.
type bench struct {
	*artifact.Store
	kernel *sqlite.DB
	root   string // folder of the filesystem backend
	dir    string // folder of resumable uploads
}

// options holds the options of a bench.
type options struct {
	path      string // path of the database; "" for a new database
	exclusive bool
	backend   artifact.Backend
}

func newBench(t testing.TB, o options) *bench {
	t.Helper()
	if o.path == "" {
		o.path = filepath.Join(t.TempDir(), "tracker.db")
	}
	b := &bench{root: filepath.Join(filepath.Dir(o.path), "artifacts"), dir: filepath.Join(filepath.Dir(o.path), "uploads")}
	b.kernel = must(sqlite.Open(ctx, sqlite.Options{Path: o.path, Exclusive: o.exclusive,
		Schema: sqlite.Schema{Application: "test", ID: 1, Migrations: os.DirFS("../migrations")}}))(t)
	t.Cleanup(func() { wantOK(t, b.kernel.Close()) })
	b.Store = artifact.New(artifact.Options{
		Database: b.kernel, UploadDir: b.dir, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Backends: artifact.Backends{Default: o.backend, Open: map[artifact.Backend]func() (blob.Store, error){
			artifact.Filesystem: func() (blob.Store, error) { return blob.NewFilesystem(b.root) }}},
	})
	return b
}

// inline returns the inline backend.
func (b *bench) inline(t testing.TB) blob.Store {
	t.Helper()
	return must(b.Backend(artifact.Inline))(t)
}

func wantOK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns a function that returns v, or ends the test if err is not nil.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// exec changes the database directly, as another program could do.
func (b *bench) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	_, err := b.raw(t).Exec(query, args...)
	wantOK(t, err)
}

// count runs a query and returns the number in its result.
func (b *bench) count(t testing.TB, query string, args ...any) (n int) {
	t.Helper()
	wantOK(t, b.raw(t).QueryRow(query, args...).Scan(&n))
	return n
}

func (b *bench) raw(t testing.TB) *sql.DB {
	t.Helper()
	db := must(sql.Open("sqlite", sqlite.DSN(b.kernel.Path())))(t)
	t.Cleanup(func() { db.Close() })
	return db
}
