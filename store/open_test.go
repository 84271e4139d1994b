package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
)

// wantPrivate checks that other users can't read a file.
func wantPrivate(t testing.TB, path string) {
	t.Helper()
	if mode := must(os.Stat(path))(t).Mode(); mode.Perm() != 0o600 {
		t.Errorf("%s has the mode %v", path, mode)
	}
}

var oddNames = []string{
	"with space.db", "hash#.db", "question?x=1.db", "percent%41.db", "%", "a&b=c+d;e.db", `quotes'".db`, `back\slash.db`,
	"ŭnıcode 🙂.db", "new\nline.db", ":memory:", "file:x.db?mode=memory", "-dash", "a.db-wal", strings.Repeat("n", 80),
}

// A database can have any path that the file system accepts. Its companion files are created
// beside it.
func TestOddPaths(t *testing.T) {
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "made", name+".d")
			path := filepath.Join(folder, name)
			b := newBedWith(t, store.Options{Path: path, Exclusive: true})
			b.log(t, "loss", 0, 1)
			if b.Path() != path {
				t.Errorf("path %q, want %q", b.Path(), path)
			}
			copied := filepath.Join(folder, "copy of "+name)
			wantOK(t, b.Backup(ctx, copied))
			wantOK(t, b.Close())
			wantOK(t, store.Verify(ctx, path))
			aside := must(store.Restore(ctx, copied, path, true, b.clock.Now()))(t)
			if len(pointsOf(t, open(t, store.Options{Path: path}), b.iteration, nil)) != 1 {
				t.Error("the restored database has not the point")
			}
			want := map[string]bool{name: true, name + "-wal": true, name + "-shm": true, name + ".lock": true,
				filepath.Base(copied): true, filepath.Base(aside): true}
			for _, e := range must(os.ReadDir(folder))(t) {
				if !want[e.Name()] {
					t.Errorf("there is a file %q", e.Name())
				}
			}
		})
	}
}

func TestRelativePaths(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	for _, name := range []string{"plain", "./dot.db", "sub/../up.db", "deep/er/x.db", "file:x.db", ":memory:", "-dash"} {
		b := newBedWith(t, store.Options{Path: name})
		b.log(t, "loss", 0, 1)
		if want := filepath.Join(folder, name); b.Path() != want {
			t.Errorf("path %q, want %q", b.Path(), want)
		}
		copied := filepath.Join("copies", name)
		wantOK(t, os.MkdirAll(filepath.Dir(copied), 0o755))
		wantOK(t, b.Backup(ctx, copied))
		plain := filepath.Base(name) + ".copy"
		wantOK(t, b.Backup(ctx, plain))
		wantOK(t, b.Close())
		for _, c := range []string{copied, plain} {
			wantOK(t, store.Verify(ctx, c))
			must(store.Restore(ctx, c, "restored.db", true, b.clock.Now()))(t)
			wantOK(t, store.Verify(ctx, "restored.db"))
			wantOK(t, os.Remove("restored.db"))
		}
	}
}

// Other users must not be able to read the password hashes in the file.
func TestFilesArePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "here", "tracker.db")
	b := newBedWith(t, store.Options{Path: path, Exclusive: true})
	b.log(t, "loss", 0, 1)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		wantPrivate(t, path+suffix)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	wantOK(t, b.Backup(ctx, copied))
	wantPrivate(t, copied)
	wantOK(t, b.Close())
	wantOK(t, os.Chmod(copied, 0o644))
	must(store.Restore(ctx, copied, path, true, b.clock.Now()))(t)
	wantPrivate(t, path)
}

func TestLock(t *testing.T) {
	server := newBedWith(t, store.Options{Exclusive: true})
	_, err := store.Open(ctx, store.Options{Path: server.Path(), Exclusive: true})
	wantCode(t, err, domain.CodeUnavailable)
	for _, part := range []string{server.Path(), fmt.Sprintf("process %d;", os.Getpid())} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
	if strings.Contains(err.Error(), ".lock") {
		t.Errorf("%q names the lock file, not the database", err)
	}
	// A command works while the server is running.
	admin := open(t, store.Options{Path: server.Path()})
	must(admin.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "beside"}))(t)
	wantOK(t, admin.Close())
	server.log(t, "loss", 0, 1)

	wantOK(t, server.Close())
	again := open(t, store.Options{Path: server.Path(), Exclusive: true})
	wantOK(t, again.Ping(ctx))
}
