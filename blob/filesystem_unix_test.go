//go:build unix

package blob_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tracker/blob"
	"tracker/blob/blobtest"
)

// asChild runs the calling test again in a separate process. There, it calls prepare, which can
// change the process permanently, and then test.
func asChild(t *testing.T, prepare func() error, test func(t *testing.T)) {
	const variable = "BLOB_TEST_CHILD"
	if os.Getenv(variable) == t.Name() {
		wantOK(t, prepare())
		test(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), variable+"="+t.Name())
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFilesystemFull limits the size of files instead of filling a disk. Writes fail in the same
// places as on a full disk.
func TestFilesystemFull(t *testing.T) {
	const limit = 1 << 20
	asChild(t, func() error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
	}, func(t *testing.T) {
		s := newFilesystem(t, t.TempDir())
		small := blobtest.Bytes(1, limit)
		for _, n := range []int{limit + 1, 3 * limit} {
			staged, err := s.Stage(t.Context(), bytes.NewReader(blobtest.Bytes(2, n)))
			if staged != nil {
				t.Error("staged what does not fit")
			}
			wantKind(t, err, blob.ErrFull)
		}
		blobtest.Put(t, s, small)
		blobtest.WantExactly(t, s, small)
	})
}

// unprivileged drops the superuser's privileges, because the superuser can write anywhere.
func unprivileged() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(syscall.Setgid(65534), syscall.Setuid(65534))
}

func TestFilesystemUnwritable(t *testing.T) {
	asChild(t, unprivileged, func(t *testing.T) {
		dir, err := os.MkdirTemp("", "unwritable")
		wantOK(t, err)
		defer os.RemoveAll(dir)
		root := filepath.Join(dir, "artifacts")
		s := newFilesystem(t, root)
		data := blobtest.Bytes(1, 1000)
		b := blobtest.Put(t, s, data)
		staged := blobtest.Stage(t, s, blobtest.Bytes(2, 1000))

		wantOK(t, os.Chmod(filepath.Join(root, "staging"), 0o555))
		wantOK(t, os.Chmod(root, 0o555))
		_, err = blob.NewFilesystem(root)
		wantKind(t, err, blob.ErrRefused, "SERVICE_ARTIFACT_ROOT", root)
		_, err = blob.NewFilesystem(filepath.Join(root, "below"))
		wantKind(t, err, blob.ErrRefused, "SERVICE_ARTIFACT_ROOT", root)
		_, err = s.Stage(t.Context(), bytes.NewReader(data))
		wantKind(t, err, blob.ErrRefused, "SERVICE_ARTIFACT_ROOT", root)
		wantKind(t, staged.Commit(t.Context()), blob.ErrRefused, root)
		wantKind(t, staged.Discard(), blob.ErrRefused, root)
		blobtest.WantBytes(t, s, data)

		wantOK(t, os.Chmod(filepath.Join(root, b.Hash[:2]), 0))
		_, err = s.Open(t.Context(), b)
		wantKind(t, err, blob.ErrRefused, root)
		wantKind(t, s.Walk(t.Context(), func(blob.Info) error { return nil }), blob.ErrRefused, root)

		wantOK(t, os.Chmod(filepath.Join(root, b.Hash[:2]), 0o755))
		wantOK(t, os.Chmod(filepath.Join(root, "staging"), 0o755))
		wantOK(t, os.Chmod(root, 0o755))
		wantOK(t, staged.Commit(t.Context()))
		blobtest.WantExactly(t, s, data, blobtest.Bytes(2, 1000))
	})
}

// wantMode checks the permissions of path, which is relative to the root.
func wantMode(t *testing.T, root, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
	wantOK(t, err)
	if got := info.Mode().Perm(); got != want {
		t.Errorf("the mode of %s is %o, want %o", path, got, want)
	}
}

// Only the server's user can read artifacts, as with the database.
func TestFilesystemModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	root := filepath.Join(t.TempDir(), "above", "artifacts")
	s := newFilesystem(t, root)
	b := blobtest.Put(t, s, blobtest.Bytes(1, 1000))
	blobtest.Stage(t, s, blobtest.Bytes(2, 1000))
	for _, dir := range []string{"..", "", "staging", b.Hash[:2]} {
		wantMode(t, root, dir, 0o700)
	}
	wantMode(t, root, s.URI(b.Hash), 0o600)
	staged, err := filepath.Glob(filepath.Join(root, "staging", "*"))
	wantOK(t, err)
	if len(staged) != 1 {
		t.Fatalf("%d files are staged", len(staged))
	}
	wantMode(t, root, "staging/"+filepath.Base(staged[0]), 0o600)

	// The mode of an existing folder is not changed.
	shared := t.TempDir()
	wantOK(t, os.Chmod(shared, 0o750))
	s = newFilesystem(t, shared)
	b = blobtest.Put(t, s, blobtest.Bytes(1, 1000))
	wantMode(t, shared, "", 0o750)
	wantMode(t, shared, b.Hash[:2], 0o700)
	wantMode(t, shared, s.URI(b.Hash), 0o600)
}
