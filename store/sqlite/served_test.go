package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tracker/store/sqlite"
)

func TestServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	command := open(t, sqlite.Options{Path: path, Schema: schemaOf(notes)})
	want := func(want bool) {
		t.Helper()
		if got, err := command.Served(); err != nil || got != want {
			t.Errorf("served is %v, %v, want %v", got, err, want)
		}
	}
	want(false)
	server, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: true})
	wantOK(t, err)
	want(true)
	if got, err := server.Served(); err != nil || !got {
		t.Errorf("the server itself says %v, %v", got, err)
	}
	wantOK(t, server.Close())
	want(false)
}

// A program that only asks whether a file is served must not prevent a server from
// starting.
func TestServedDoesNotRefuseAServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	command := open(t, sqlite.Options{Path: path, Schema: schemaOf(notes)})
	done, asked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := command.Served(); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 50 {
		server, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: true})
		wantOK(t, err)
		wantOK(t, server.Close())
	}
	close(done)
	<-asked
}

// A program that is killed after it has copied the file makes another copy when it is started
// again, even within the same second, which is part of the copy's name.
func TestMigrationAgainWithinASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Now: now})
	wantOK(t, err)
	wantOK(t, db.Close())
	two := schemaOf(notes, `ALTER TABLE note ADD COLUMN color TEXT`)
	failing := schemaOf(notes, `ALTER TABLE nothing ADD COLUMN color TEXT`)
	for range 3 {
		if db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: failing, Now: now}); err == nil {
			db.Close()
			t.Fatal("the migration does not fail")
		}
	}
	open(t, sqlite.Options{Path: path, Schema: two, Now: now})
	copies, err := filepath.Glob(path + ".before-v2-*")
	wantOK(t, err)
	if len(copies) != 4 {
		t.Errorf("the copies are %q", copies)
	}
	for _, c := range copies {
		wantOK(t, schemaOf(notes).Verify(ctx, c))
	}
}

// An empty file is a new database for a server and an error for commands.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	wantOK(t, os.WriteFile(path, nil, 0o600))
	_, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), MustExist: true})
	wantProblem(t, err, sqlite.Empty)
	missing := filepath.Join(t.TempDir(), "missing.db")
	_, err = sqlite.Open(ctx, sqlite.Options{Path: missing, Schema: schemaOf(notes), MustExist: true})
	wantProblem(t, err, sqlite.Missing)
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was created: %v", err)
	}
	open(t, sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: true})
}

// A truncated file is rejected, whether it has a write-ahead log or not.
func TestTruncatedFile(t *testing.T) {
	for _, lost := range []int64{1, 512, 1024, 5000} {
		path := filepath.Join(t.TempDir(), "notes.db")
		db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Now: time.Now})
		wantOK(t, err)
		for i := range 300 {
			wantOK(t, db.Write(ctx, sqlite.Change, add(string(rune('a'+i%26))+time.Duration(i).String()+string(make([]byte, 500)))))
		}
		wantOK(t, db.Close())
		info, err := os.Stat(path)
		wantOK(t, err)
		wantOK(t, os.Truncate(path, info.Size()-lost))
		for _, exclusive := range []bool{true, false} {
			db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: exclusive})
			if err == nil {
				db.Close()
				t.Errorf("opened without its last %d bytes", lost)
				continue
			}
			wantProblem(t, err, sqlite.Damaged)
		}
	}
}

// A killed process leaves a write-ahead log behind. The log may or may not have the pages that
// the file lacks.
func TestTruncatedFileWithALog(t *testing.T) {
	dir := t.TempDir()
	db := open(t, sqlite.Options{})
	fill := func(n int) {
		t.Helper()
		for range n {
			wantOK(t, db.Write(ctx, sqlite.Change, func(tx *sqlite.Tx) error {
				_, err := tx.Exec(`INSERT INTO note (text) VALUES (hex(randomblob(600)))`)
				return err
			}))
		}
	}
	copied := 0
	// copyOf copies the file as a kill would leave it, without the last lost bytes.
	copyOf := func(lost int) string {
		t.Helper()
		copied++
		path := filepath.Join(dir, string(rune('a'+copied))+".db")
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(db.Path() + suffix)
			wantOK(t, err)
			if suffix == "" {
				data = data[:len(data)-lost]
			}
			wantOK(t, os.WriteFile(path+suffix, data, 0o600))
		}
		return path
	}
	fill(300)
	_, err := raw(t, db.Path()).Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	wantOK(t, err)
	fill(20)
	sound := open(t, sqlite.Options{Path: copyOf(0)})
	if n := len(texts(t, sound)); n != 320 {
		t.Errorf("%d notes, want 320", n)
	}
	for _, lost := range []int{300, 20_000} {
		_, err := sqlite.Open(ctx, sqlite.Options{Path: copyOf(lost), Schema: schemaOf(notes)})
		wantProblem(t, err, sqlite.Damaged)
	}
}
