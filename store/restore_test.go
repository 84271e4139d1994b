package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

// backedUp is a closed database with a backup. The database was changed after the backup.
type backedUp struct {
	*bed
	copy  string
	saved []runs.Metric // in the backup
	now   []runs.Metric // in the database
}

func newBackedUp(t testing.TB, o store.Options) *backedUp {
	t.Helper()
	b := &backedUp{bed: newBedWith(t, o), copy: filepath.Join(t.TempDir(), "copy.db")}
	b.log(t, "loss", 0, 1)
	wantOK(t, b.Backup(ctx, b.copy))
	b.saved = pointsOf(t, b.DB, b.iteration, nil)
	b.log(t, "loss", 1, 2)
	b.now = pointsOf(t, b.DB, b.iteration, nil)
	return b
}

// wantPoints checks that the database at path has no problems and has the given points.
func (b *backedUp) wantPoints(t testing.TB, path string, want []runs.Metric) {
	t.Helper()
	db, err := store.Open(ctx, store.Options{Path: path, BcryptCost: 4})
	wantOK(t, err)
	defer db.Close()
	if got := pointsOf(t, db, b.iteration, nil); !slices.Equal(got, want) {
		t.Errorf("%s has %+v, want %+v", path, got, want)
	}
	wantClean(t, db)
}

func TestRestore(t *testing.T) {
	b := newBackedUp(t, store.Options{})
	wantOK(t, b.Close())

	other := filepath.Join(t.TempDir(), "made", "other.db")
	aside := must(store.Restore(ctx, b.copy, other, false, b.clock.Now()))(t)
	if aside != "" {
		t.Errorf("a database that was not there was put at %s", aside)
	}
	b.wantPoints(t, other, b.saved)

	before := contents(t, filepath.Dir(b.Path()))
	_, err := store.Restore(ctx, b.copy, b.Path(), false, b.clock.Now())
	wantCode(t, err, domain.CodeConflict)
	if !strings.Contains(err.Error(), "force") || !strings.Contains(err.Error(), b.Path()) {
		t.Errorf("%q does not say what to do", err)
	}
	wantSame(t, "refused", contents(t, filepath.Dir(b.Path())), before)

	aside = must(store.Restore(ctx, b.copy, b.Path(), true, b.clock.Now()))(t)
	if want := b.Path() + ".before-restore-20261121T093000Z"; aside != want {
		t.Errorf("put aside at %s, want %s", aside, want)
	}
	wantPrivate(t, b.Path())
	b.wantPoints(t, b.Path(), b.saved)
	b.wantPoints(t, aside, b.now)

	// The old database is a backup like any other.
	second := must(store.Restore(ctx, aside, b.Path(), true, b.clock.Now().Add(time.Second)))(t)
	b.wantPoints(t, b.Path(), b.now)
	b.wantPoints(t, second, b.saved)
	for _, name := range filesIn(t, filepath.Dir(b.Path())) {
		if strings.Contains(name, "partial") || strings.Contains(name, "-wal") {
			t.Errorf("there is a file %q", name)
		}
	}
	if _, err := os.Stat(b.copy); err != nil {
		t.Errorf("the backup is gone: %v", err)
	}
}

func TestRestoreWhileServing(t *testing.T) {
	b := newBackedUp(t, store.Options{Exclusive: true})
	for _, force := range []bool{false, true} {
		_, err := store.Restore(ctx, b.copy, b.Path(), force, b.clock.Now())
		wantCode(t, err, domain.CodeUnavailable)
		if pid := fmt.Sprintf("process %d;", os.Getpid()); !strings.Contains(err.Error(), pid) {
			t.Errorf("%q does not name %s", err, pid)
		}
	}
	if now := pointsOf(t, b.DB, b.iteration, nil); !slices.Equal(now, b.now) {
		t.Errorf("points %+v, want %+v", now, b.now)
	}
	for _, name := range filesIn(t, filepath.Dir(b.Path())) {
		if strings.Contains(name, "partial") || strings.Contains(name, "before") {
			t.Errorf("there is a file %q", name)
		}
	}
	wantOK(t, b.Close())
	must(store.Restore(ctx, b.copy, b.Path(), true, b.clock.Now()))(t)
	server := open(t, store.Options{Path: b.Path(), Exclusive: true}) // the lock was released
	if now := pointsOf(t, server, b.iteration, nil); !slices.Equal(now, b.saved) {
		t.Errorf("points %+v, want %+v", now, b.saved)
	}
}

// The write-ahead log of a killed server is moved away together with the database.
func TestRestoreOverTheDatabaseOfAKilledProcess(t *testing.T) {
	b := newBackedUp(t, store.Options{})
	killed := filepath.Join(t.TempDir(), "killed.db")
	copyFiles(t, b.Path(), killed)
	if info := must(os.Stat(killed + "-wal"))(t); info.Size() == 0 {
		t.Fatal("there is nothing in the log")
	}
	aside := must(store.Restore(ctx, b.copy, killed, true, b.clock.Now()))(t)
	b.wantPoints(t, killed, b.saved)
	b.wantPoints(t, aside, b.now)
}

// The write-ahead log of a removed database is not used for the restored one.
func TestRestoreBesideALogThatWasLeft(t *testing.T) {
	for _, companions := range [][]string{{"-wal"}, {"-wal", "-shm"}, {"-journal"}} {
		b := newBackedUp(t, store.Options{})
		left := filepath.Join(t.TempDir(), "left.db")
		copyFiles(t, b.Path(), left)
		wantOK(t, os.Remove(left))
		log := string(must(os.ReadFile(left + "-wal"))(t))
		for _, c := range companions {
			wantOK(t, os.WriteFile(left+c, []byte(log), 0o600))
		}
		aside := must(store.Restore(ctx, b.copy, left, false, b.clock.Now()))(t)
		if aside != "" {
			t.Errorf("a database that was not there was put at %s", aside)
		}
		b.wantPoints(t, left, b.saved)
		kept := left + ".before-restore-20261121T093000Z" + companions[0]
		if data := string(must(os.ReadFile(kept))(t)); data != log {
			t.Errorf("%s is not the log that was left", kept)
		}
	}
}

func TestRestoreOverADamagedDatabase(t *testing.T) {
	b := newBackedUp(t, store.Options{})
	wantOK(t, b.Close())
	path := filepath.Join(t.TempDir(), "damaged.db")
	garbage := strings.Repeat("garbage", 1000)
	wantOK(t, os.WriteFile(path, []byte(garbage), 0o600))
	aside := must(store.Restore(ctx, b.copy, path, true, b.clock.Now()))(t)
	b.wantPoints(t, path, b.saved)
	if data := must(os.ReadFile(aside))(t); string(data) != garbage {
		t.Errorf("%s is not what was put aside", aside)
	}
}

func TestRestoringWhatIsNoBackup(t *testing.T) {
	b := newBackedUp(t, store.Options{})
	sound, _ := closedDatabase(t)
	sources := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(sources, name)
		wantOK(t, os.WriteFile(path, data, 0o600))
		return path
	}
	data := must(os.ReadFile(sound))(t)
	newer := write("newer.db", data)
	execSQL(t, raw(t, newer), `PRAGMA user_version = 99`)
	other := filepath.Join(sources, "other.db")
	execSQL(t, raw(t, other), `CREATE TABLE theirs (n)`)
	unclosed := filepath.Join(sources, "unclosed.db")
	copyFiles(t, b.Path(), unclosed)
	wantOK(t, b.Close())
	before := contents(t, filepath.Dir(b.Path()))
	for _, c := range []struct{ src, says string }{
		{write("text.db", []byte(strings.Repeat("text", 1000))), "choose another backup"},
		{write("empty.db", nil), "empty"},
		{write("half.db", data[:len(data)/2/4096*4096]), "choose another backup"},
		{newer, "newer"},
		{other, "another program"},
		{unclosed, "not closed"},
		{filepath.Join(sources, "missing.db"), "does not exist"},
		{sources, "choose another backup|directory|written"},
	} {
		for _, force := range []bool{false, true} {
			_, err := store.Restore(ctx, c.src, b.Path(), force, b.clock.Now())
			ok := false
			for word := range strings.SplitSeq(c.says, "|") {
				ok = ok || err != nil && strings.Contains(err.Error(), word)
			}
			if !ok {
				t.Errorf("%s: %v, which does not say %s", filepath.Base(c.src), err, c.says)
			}
			wantSame(t, filepath.Base(c.src), contents(t, filepath.Dir(b.Path())), before)
		}
	}
}

// A restore that can't move away the old database changes nothing.
func TestRestoreTwiceInASecond(t *testing.T) {
	b := newBackedUp(t, store.Options{})
	wantOK(t, b.Close())
	must(store.Restore(ctx, b.copy, b.Path(), true, b.clock.Now()))(t)
	before := contents(t, filepath.Dir(b.Path()))
	_, err := store.Restore(ctx, b.copy, b.Path(), true, b.clock.Now())
	wantCode(t, err, domain.CodeConflict)
	wantSame(t, "second restore", contents(t, filepath.Dir(b.Path())), before)
}
