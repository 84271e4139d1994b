package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/sqlite"
)

// filesIn lists the names in a folder.
func filesIn(t testing.TB, folder string) (all []string) {
	t.Helper()
	for _, e := range must(os.ReadDir(folder))(t) {
		all = append(all, e.Name())
	}
	return all
}

// A backup during writes is a snapshot. It has all writes that were acknowledged before the
// backup, and each batch either completely or not at all.
func TestBackupWhileOthersWrite(t *testing.T) {
	b := newBed(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	enough := make(chan struct{})
	enter := sync.OnceFunc(func() { close(enough) })
	for w := range 4 {
		wg.Go(func() {
			defer enter()
			batch := []points.Sample{{Key: fmt.Sprint("a", w)}, {Key: fmt.Sprint("b", w)}, {Key: fmt.Sprint("c", w)}}
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := b.Runs.CreateMetricBatch(ctx, domain.System, b.iteration, batch); err != nil {
					t.Error(err)
					return
				}
				if i == 20 {
					enter()
				}
			}
		})
	}
	<-enough
	folder := t.TempDir()
	for i := range 3 {
		path := filepath.Join(folder, fmt.Sprint("copy ", i))
		before := b.log(t, fmt.Sprint("before ", i), 7, 7)
		wantOK(t, b.Backup(ctx, path))
		if i == 2 {
			close(stop)
		}
		wantOK(t, store.Verify(ctx, path))
		wantPrivate(t, path)
		copied := open(t, store.Options{Path: path})
		wantClean(t, copied)
		if m := must(copied.Runs.Metric(ctx, domain.System, before))(t); m.Value != 7 {
			t.Errorf("the copy has %+v", m)
		}
		file := raw(t, path)
		for w := range 4 {
			n := ask[int](t, file, `SELECT count(DISTINCT count) FROM series WHERE key IN (?, ?, ?)`,
				fmt.Sprint("a", w), fmt.Sprint("b", w), fmt.Sprint("c", w))
			if n != 1 {
				t.Errorf("the copy has a part of a batch")
			}
		}
		wantOK(t, file.Close())
		wantOK(t, copied.Close())
	}
	wg.Wait()
	for _, name := range filesIn(t, folder) {
		if !strings.HasPrefix(name, "copy ") || strings.Contains(name, "partial") || strings.Contains(name, "wal") {
			t.Errorf("there is a file %q", name)
		}
	}
}

func TestBackupDoesNotOverwrite(t *testing.T) {
	b := newBed(t)
	for _, name := range []string{"file", "link", "folder", "dangling"} {
		folder := t.TempDir()
		path := filepath.Join(folder, name)
		switch name {
		case "file":
			wantOK(t, os.WriteFile(path, []byte("precious"), 0o600))
		case "link":
			wantOK(t, os.Symlink(b.Path(), path))
		case "folder":
			wantOK(t, os.Mkdir(path, 0o755))
		case "dangling":
			wantOK(t, os.Symlink(filepath.Join(folder, "nowhere"), path))
		}
		err := b.Backup(ctx, path)
		wantCode(t, err, domain.CodeConflict)
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%q does not name %s", err, path)
		}
		if all := filesIn(t, folder); len(all) != 1 {
			t.Errorf("%s: there are %q", name, all)
		}
		if data, err := os.ReadFile(path); name == "file" && (err != nil || string(data) != "precious") {
			t.Errorf("the file has %q (%v)", data, err)
		}
	}
	wantCode(t, b.Backup(ctx, b.Path()), domain.CodeConflict)
}

func TestFailedBackupLeavesNothing(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 0, 1)
	folder := t.TempDir()
	if err := b.Backup(ctx, filepath.Join(folder, "no", "such", "folder", "copy.db")); err == nil {
		t.Error("a copy into a folder that is not there")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.Backup(gone, filepath.Join(folder, "copy.db")); err == nil {
		t.Error("a copy for a caller who has gone")
	}
	// A damaged database is not copied.
	path, _ := closedDatabase(t)
	root := ask[int64](t, raw(t, path), `SELECT rootpage FROM sqlite_schema WHERE name = 'metric'`)
	damaged := open(t, store.Options{Path: path})
	f := must(os.OpenFile(path, os.O_RDWR, 0))(t)
	must(f.WriteAt(make([]byte, sqlite.PageSize), (root-1)*sqlite.PageSize))(t)
	wantOK(t, f.Close())
	if err := damaged.Backup(ctx, filepath.Join(folder, "copy.db")); err == nil {
		t.Error("a copy of a damaged database")
	}
	if all := filesIn(t, folder); len(all) != 0 {
		t.Errorf("there are %q", all)
	}
	wantOK(t, b.Backup(ctx, filepath.Join(folder, "copy.db")))
	wantOK(t, store.Verify(ctx, filepath.Join(folder, "copy.db")))
}

// Verify changes no files, not even files beside the database.
func TestVerifyOnlyReads(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 0, 1)
	path := filepath.Join(t.TempDir(), "copy.db")
	wantOK(t, b.Backup(ctx, path))
	closed := newBed(t)
	wantOK(t, closed.Close())
	killed := filepath.Join(t.TempDir(), "killed.db")
	copyFiles(t, b.Path(), killed)
	for path, code := range map[string]domain.Code{path: "", closed.Path(): "", killed: domain.CodeConflict, b.Path(): domain.CodeConflict} {
		before := contents(t, filepath.Dir(path))
		if err := store.Verify(ctx, path); codeOf(err) != code {
			t.Errorf("%s: %v, want %q", path, err, code)
		}
		wantSame(t, path, contents(t, filepath.Dir(path)), before)
	}
	for _, bad := range []string{"", "missing.db", t.TempDir()} {
		if err := store.Verify(ctx, bad); err == nil {
			t.Errorf("%q is taken for a database", bad)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	wantOK(t, os.WriteFile(empty, nil, 0o600))
	wantCode(t, store.Verify(ctx, empty), domain.CodeInvalidPayload)
}

// contents returns the bytes of all files in a folder, by name.
func contents(t testing.TB, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range filesIn(t, folder) {
		all[name] = string(must(os.ReadFile(filepath.Join(folder, name)))(t))
	}
	return all
}

func wantSame(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for name, data := range want {
		if now, there := got[name]; !there {
			t.Errorf("%s: %s is gone", what, name)
		} else if now != data {
			t.Errorf("%s: %s was changed", what, name)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			t.Errorf("%s: %s is new", what, name)
		}
	}
}
