//go:build unix

package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/sqlite"
)

// shell runs a script in another process, because closing a file in this process would release
// SQLite's locks on it.
func shell(t testing.TB, script string, args ...string) {
	t.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func addRandom(tx *sqlite.Tx) error {
	_, err := tx.Exec(`INSERT INTO note (text) VALUES (hex(randomblob(400)))`)
	return err
}

// addPages adds n notes, each as long as a page.
func addPages(t testing.TB, db *sqlite.DB, n int) {
	t.Helper()
	for range n {
		wantOK(t, db.Write(ctx, sqlite.Change, addRandom))
	}
}

// checkpoint copies the whole log into the file through another connection.
func checkpoint(t testing.TB, db *sqlite.DB, how string) {
	t.Helper()
	execSQL(t, raw(t, db.Path()), `PRAGMA wal_checkpoint(`+how+`)`)
}

// After another program has overwritten the database or its log, no write is acknowledged.
func TestOverwrittenFile(t *testing.T) {
	for _, c := range []struct {
		name, script string // $1 is the database, $2 a folder with other files
	}{
		{"another database", `cp "$2/other.db" "$1"`},
		{"a backup", `cp "$2/backup.db" "$1"`},
		{"a backup of the current state", `cp "$2/latest.db" "$1"`},
		{"an older copy", `cp "$2/older.db" "$1"`},
		{"text", `echo nothing > "$1"`},
		{"nothing", `: > "$1"`},
		{"the first half", `truncate -s "$(($(wc -c < "$1") / 2048 * 1024))" "$1"`},
		{"all but the last page", `truncate -s -1024 "$1"`},
		{"zeros", `head -c 4096 /dev/zero | dd of="$1" conv=notrunc status=none`},
		{"an empty log", `: > "$1-wal"`},
		{"another log", `cp "$2/other.db-wal" "$1-wal"`},
		{"an older log", `cp "$2/older.db-wal" "$1-wal"`},
		{"a removed log", `rm "$1-wal"`},
		{"a replaced log", `cp "$1-wal" "$1-wal.new"; mv "$1-wal.new" "$1-wal"`},
		{"a removed index of the log", `rm "$1-shm"`},
	} {
		for _, logged := range []bool{true, false} { // whether the log has changes that the file lacks
			if !logged && strings.Contains(c.name, "log") && !strings.Contains(c.script, "rm") {
				continue // the next write restarts the log
			}
			t.Run(fmt.Sprintf("%s, logged %v", c.name, logged), func(t *testing.T) {
				dir := t.TempDir()
				other := open(t, sqlite.Options{Path: filepath.Join(dir, "other.db")})
				addPages(t, other, 60)
				shell(t, `cp "$1/other.db-wal" "$1/kept"`, dir)
				checkpoint(t, other, "TRUNCATE")
				shell(t, `cp "$1/kept" "$1/other.db-wal"`, dir)

				var log bytes.Buffer
				o := exclusive(filepath.Join(t.TempDir(), "notes.db"))
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				db, err := sqlite.Open(ctx, o)
				wantOK(t, err)
				t.Cleanup(func() { db.Close() })
				addPages(t, db, 20)
				checkpoint(t, db, "TRUNCATE")
				addPages(t, db, 20)
				wantOK(t, db.Backup(ctx, filepath.Join(dir, "backup.db")))
				shell(t, `cp "$1" "$2/older.db"; cp "$1-wal" "$2/older.db-wal"`, db.Path(), dir)
				addPages(t, db, 20)
				checkpoint(t, db, "TRUNCATE")
				if logged {
					addPages(t, db, 5)
				}
				wantOK(t, db.Backup(ctx, filepath.Join(dir, "latest.db")))
				wantOK(t, db.Ping(ctx))

				shell(t, c.script, db.Path(), dir)
				for _, kind := range []sqlite.Kind{sqlite.Change, sqlite.Append, sqlite.Upkeep} {
					err := db.Write(ctx, kind, add("lost"))
					if !errors.Is(err, sqlite.ErrOverwritten) && !errors.Is(err, sqlite.ErrMoved) {
						t.Errorf("a write: %v", err)
					}
				}
				if err := db.Ping(ctx); err == nil {
					t.Error("Ping finds nothing wrong")
				}
				if !strings.Contains(log.String(), "no more writes are accepted") {
					t.Errorf("the log has %q", log.String())
				}
				if err := db.Backup(ctx, filepath.Join(dir, "late.db")); err == nil {
					t.Error("a backup is made of it")
				}
			})
		}
	}
}

// An older copy is detected after a checkpoint, even if the last transaction saw the same first
// page as in the copy.
func TestOverwrittenAfterCheckpoint(t *testing.T) {
	db, err := sqlite.Open(ctx, exclusive(filepath.Join(t.TempDir(), "notes.db")))
	wantOK(t, err)
	t.Cleanup(func() { db.Close() })
	older := filepath.Join(t.TempDir(), "older.db")
	addPages(t, db, 20)
	checkpoint(t, db, "TRUNCATE")
	addPages(t, db, 20)
	shell(t, `cp "$1" "$2"`, db.Path(), older)
	addPages(t, db, 20)
	checkpoint(t, db, "TRUNCATE")
	shell(t, `cp "$1" "$2"`, older, db.Path())
	for range 3 {
		wantIs(t, "a write", db.Write(ctx, sqlite.Change, add("lost")), sqlite.ErrOverwritten)
	}
}

// Ping of an idle server reports that the file was overwritten.
func TestPingOfAnOverwrittenFile(t *testing.T) {
	db, err := sqlite.Open(ctx, exclusive(filepath.Join(t.TempDir(), "notes.db")))
	wantOK(t, err)
	t.Cleanup(func() { db.Close() })
	addPages(t, db, 20)
	backup := filepath.Join(t.TempDir(), "backup.db")
	wantOK(t, db.Backup(ctx, backup))
	checkpoint(t, db, "TRUNCATE")
	wantOK(t, db.Ping(ctx))
	shell(t, `cp "$1" "$2"`, backup, db.Path())
	for db.Ping(ctx) == nil { // Ping wakes the writer, which checks the file
	}
	wantIs(t, "a write", db.Write(ctx, sqlite.Change, add("lost")), sqlite.ErrOverwritten)
}

// Writes, checkpoints, vacuums and copies by other processes are not mistaken for an overwritten
// file.
func TestOthersAreNoOverwriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	db := open(t, exclusive(path))
	addPages(t, db, 50)
	dir := t.TempDir()
	other := raw(t, path)
	exec := func(statement string) func(int) error {
		return func(int) error { _, err := other.Exec(statement); return err }
	}
	others := []func(i int) error{
		func(int) error { // an admin command
			command, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes)})
			if err != nil {
				return err
			}
			return errors.Join(command.Write(ctx, sqlite.Change, addRandom), command.Close())
		},
		func(i int) error { return db.Backup(ctx, filepath.Join(dir, fmt.Sprint(i))) },
		func(int) error { return db.Checkpoint(ctx) },
		exec(`VACUUM`),
		exec(`DELETE FROM note WHERE id % 3 = 0`),
		exec(`PRAGMA wal_checkpoint(RESTART)`),
		exec(`INSERT INTO note (text) VALUES (hex(randomblob(5000)))`),
		exec(`PRAGMA wal_checkpoint(PASSIVE)`),
		exec(`CREATE TABLE IF NOT EXISTS litestream (x)`),
		exec(`PRAGMA wal_checkpoint(TRUNCATE)`),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 3 * len(others) {
			if err := others[i%len(others)](i); err != nil && !sqlite.IsBusy(err) {
				t.Errorf("%d: %v", i%len(others), err)
			}
		}
	}()
	for writes := 0; ; writes++ {
		select {
		case <-ended:
			wantOK(t, db.Ping(ctx))
			t.Logf("%d writes", writes)
			return
		default:
		}
		wantOK(t, db.Write(ctx, sqlite.Change, addRandom))
		if writes%10 == 0 {
			wantOK(t, db.Ping(ctx))
		}
	}
}
