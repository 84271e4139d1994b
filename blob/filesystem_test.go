package blob_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracker/blob"
	"tracker/blob/blobtest"
)

func newFilesystem(t testing.TB, root string) *blob.Filesystem {
	t.Helper()
	f, err := blob.NewFilesystem(root)
	wantOK(t, err)
	return f
}

func wantOK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantKind checks that err is of the given kind, contains the given strings and states a remedy.
func wantKind(t testing.TB, err, kind error, says ...string) {
	t.Helper()
	var e *blob.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		t.Errorf("error %v, want kind %v", err, kind)
		return
	}
	if !strings.HasSuffix(e.Message, ".") || !strings.Contains(e.Message, ";") {
		t.Errorf("%q does not say what to do", e.Message)
	}
	for _, word := range says {
		if !strings.Contains(e.Error(), word) {
			t.Errorf("%q does not say %q", e, word)
		}
	}
}

func TestFilesystem(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return newFilesystem(t, t.TempDir()) })
}

func TestFilesystemRoot(t *testing.T) {
	dir := t.TempDir()
	data := blobtest.Bytes(1, 1000)

	missing := filepath.Join(dir, "a", "b c#?%", "ü")
	s := newFilesystem(t, missing)
	b := blobtest.Put(t, s, data)
	stored, err := os.ReadFile(filepath.Join(missing, filepath.FromSlash(s.URI(b.Hash))))
	wantOK(t, err)
	if !bytes.Equal(stored, data) {
		t.Error("the file under the URI has other bytes")
	}
	blobtest.WantExactly(t, newFilesystem(t, missing), data)

	moved := filepath.Join(dir, "moved")
	wantOK(t, os.Rename(missing, moved))
	blobtest.WantExactly(t, newFilesystem(t, moved), data)

	linked := filepath.Join(dir, "linked")
	wantOK(t, os.Symlink("moved", linked))
	s = newFilesystem(t, linked)
	blobtest.Put(t, s, data)
	blobtest.WantExactly(t, s, data)

	t.Chdir(dir)
	relative := newFilesystem(t, "moved")
	t.Chdir(moved)
	blobtest.WantExactly(t, relative, data)

	file := filepath.Join(dir, "file")
	wantOK(t, os.WriteFile(file, nil, 0o644))
	for _, root := range []string{file, filepath.Join(file, "below")} {
		_, err := blob.NewFilesystem(root)
		wantKind(t, err, blob.ErrRefused, "SERVICE_ARTIFACT_ROOT", file)
	}
	dangling := filepath.Join(dir, "dangling")
	wantOK(t, os.Symlink(filepath.Join(file, "nothing"), dangling))
	_, err = blob.NewFilesystem(dangling)
	wantKind(t, err, blob.ErrRefused, "SERVICE_ARTIFACT_ROOT", dangling)
}

// An unmounted disk is not mistaken for a disk without artifacts.
func TestFilesystemRootGone(t *testing.T) {
	root := filepath.Join(t.TempDir(), "artifacts")
	s := newFilesystem(t, root)
	data := blobtest.Bytes(1, 1000)
	b := blobtest.Put(t, s, data)
	staged := blobtest.Stage(t, s, blobtest.Bytes(2, 1000))
	wantOK(t, os.Rename(root, root+".away"))
	for range 2 {
		_, err := s.Open(t.Context(), b)
		wantKind(t, err, blob.ErrUnavailable, "mount", root)
		_, err = s.Stage(t.Context(), bytes.NewReader(data))
		wantKind(t, err, blob.ErrUnavailable, "mount", root)
		wantKind(t, staged.Commit(t.Context()), blob.ErrUnavailable, "mount", root)
		wantKind(t, s.Walk(t.Context(), func(blob.Info) error { return nil }), blob.ErrUnavailable, "mount", root)
		wantKind(t, s.WalkStaged(t.Context(), time.Now(), func(blob.StagedInfo) error { return nil }), blob.ErrUnavailable, "mount", root)
		_ = os.Mkdir(root, 0o755) // the bare mount point
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("%v, %v were written beside the disk", left, err)
	}
	wantOK(t, os.Remove(root))
	wantOK(t, os.Rename(root+".away", root))
	wantOK(t, staged.Commit(t.Context()))
	blobtest.WantExactly(t, s, data, blobtest.Bytes(2, 1000))
}

// Other files in the folder are neither listed as blobs nor changed.
func TestFilesystemForeignFiles(t *testing.T) {
	root := t.TempDir()
	s := newFilesystem(t, root)
	data := blobtest.Bytes(1, 1000)
	b := blobtest.Put(t, s, data)
	for _, name := range []string{"README", "ab/README", "ab/" + strings.Repeat("c", 64), "abc/" + b.Hash, "AB/" + strings.Repeat("A", 64), "ac", "staging/mine"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		wantOK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		wantOK(t, os.WriteFile(path, []byte("mine"), 0o644))
	}
	wantOK(t, os.MkdirAll(filepath.Join(root, "staging", "folder"), 0o755))
	wantOK(t, os.MkdirAll(filepath.Join(root, "ab", "ab"+strings.Repeat("d", 62)), 0o755))
	blobtest.WantExactly(t, s, data)
}

func TestFilesystemDamage(t *testing.T) {
	root := t.TempDir()
	s := newFilesystem(t, root)
	data := blobtest.Bytes(1, 600<<10)
	b := blobtest.Put(t, s, data)
	path := filepath.Join(root, filepath.FromSlash(s.URI(b.Hash)))

	r, err := s.Open(t.Context(), b)
	wantOK(t, err)
	wantOK(t, os.Truncate(path, 400<<10))
	n, err := io.Copy(io.Discard, r)
	wantKind(t, err, blob.ErrDamaged, b.Hash)
	wantOK(t, r.Close())
	if n != 400<<10 {
		t.Errorf("%d bytes read", n)
	}
	_, err = s.Open(t.Context(), b)
	wantKind(t, err, blob.ErrDamaged, b.Hash)

	flipped := bytes.Clone(data)
	flipped[5] ^= 1
	wantOK(t, os.WriteFile(path, flipped, 0o644))
	wantKind(t, blob.Verify(t.Context(), s, b), blob.ErrDamaged, b.Hash)

	blobtest.Put(t, s, data)
	wantOK(t, blob.Verify(t.Context(), s, b))
	blobtest.WantExactly(t, s, data)

	wantOK(t, s.Delete(t.Context(), b.Hash))
	err = blob.Verify(t.Context(), s, b)
	wantKind(t, err, blob.ErrNotFound, b.Hash)
	if errors.Is(err, fs.ErrNotExist) {
		t.Error("a missing blob shows where it would be")
	}
}

// A folder that is removed while the store is open is re-created.
func TestFilesystemFolderGone(t *testing.T) {
	root := t.TempDir()
	s := newFilesystem(t, root)
	data := blobtest.Bytes(1, 1000)
	b := blobtest.Put(t, s, data)
	wantOK(t, os.RemoveAll(filepath.Join(root, b.Hash[:2])))
	blobtest.Put(t, s, data)
	blobtest.WantExactly(t, s, data)
}
