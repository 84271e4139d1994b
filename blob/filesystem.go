package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// These are the modes of new folders and files. Only the server's user can read artifacts and
// the database. The modes of existing folders are not changed.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Filesystem stores blobs as files ab/abcd… below a root folder. Stage writes a file in
// staging/, on the same file system. Commit renames the complete file.
type Filesystem struct {
	root string

	mu     sync.Mutex
	synced map[string]bool // folders with a durable directory entry
}

// NewFilesystem returns the store in the folder root. It creates the folder if necessary. It
// returns ErrRefused if it can't write to the folder.
func NewFilesystem(root string) (*Filesystem, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, newError(ErrRefused, err, "The artifacts folder %q can't be resolved; set an absolute path.", root)
	}
	f := &Filesystem{root: abs, synced: map[string]bool{}}
	if err := makeDir(f.path(stagingDir)); err != nil {
		return nil, f.explain(err)
	}
	probe, err := f.create()
	if err != nil {
		return nil, f.explain(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, f.explain(err)
	}
	return f, nil
}

// makeDir durably creates a folder and its missing parents.
func makeDir(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, dirMode); err != nil && !isDir(path) {
		return err
	}
	return syncDir(parent)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// path returns the file path of key. The key has slashes on all systems.
func (f *Filesystem) path(key string) string {
	return filepath.Join(f.root, filepath.FromSlash(key))
}

// create creates a new file in staging/.
func (f *Filesystem) create() (*os.File, error) {
	return os.OpenFile(f.path(stagingKey()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

// FreeSpace returns the number of bytes that the server's user can still write to the file
// system.
func (f *Filesystem) FreeSpace() (int64, error) {
	n, err := FreeSpace(f.root)
	if err != nil {
		return 0, f.explain(err)
	}
	return n, nil
}

// Stage writes the bytes to a file in staging/.
func (f *Filesystem) Stage(ctx context.Context, r io.Reader) (Staged, error) {
	file, err := f.create()
	if err != nil {
		return nil, f.explain(err)
	}
	w := &explainingWriter{w: file, explain: f.explain}
	b, err := copyHashed(ctx, w, r)
	if err == nil {
		err = f.explain(file.Sync())
	}
	if closing := file.Close(); err == nil {
		err = f.explain(closing)
	}
	if err != nil {
		return nil, errors.Join(err, f.remove(file.Name()))
	}
	return &stagedFile{store: f, blob: b, path: file.Name()}, nil
}

// explainingWriter passes errors from w to explain, so that the caller can distinguish them from
// errors of the reader that is copied to w.
type explainingWriter struct {
	w       io.Writer
	explain func(error) error
}

func (e *explainingWriter) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	return n, e.explain(err)
}

type stagedFile struct {
	store *Filesystem
	blob  Blob
	path  string // path in staging/; "" after Commit or Discard
	moved bool   // whether the file was renamed
	named bool   // whether the new name is durable
}

func (s *stagedFile) Blob() Blob { return s.blob }

// Commit renames the file. The rename replaces a file with the same hash, which repairs a
// damaged file.
func (s *stagedFile) Commit(ctx context.Context) error {
	if s.named {
		return nil
	}
	if s.path == "" && !s.moved {
		return errDiscarded
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	dst := s.store.path(keyOf(s.blob.Hash))
	if !s.moved {
		if err := s.move(dst); err != nil {
			return s.store.explain(err)
		}
	}
	if err := syncDir(filepath.Dir(dst)); err != nil {
		return s.store.explain(err)
	}
	s.named = true
	return nil
}

func (s *stagedFile) move(dst string) error {
	// Chtimes returns an error if the disk was unmounted. Call it before makeFolder, which would
	// otherwise create a folder on the wrong disk.
	now := time.Now()
	if err := os.Chtimes(s.path, now, now); err != nil {
		return err
	}
	if err := s.store.makeFolder(filepath.Dir(dst)); err != nil {
		return err
	}
	if err := os.Rename(s.path, dst); err != nil {
		// Windows does not rename a file over an open file.
		info, stat := os.Stat(dst)
		if stat != nil || info.Size() != s.blob.Size {
			return err
		}
		if err := errors.Join(os.Chtimes(dst, now, now), os.Remove(s.path)); err != nil {
			return err
		}
	}
	s.path, s.moved = "", true
	return nil
}

// makeFolder durably creates a folder in the root. Another process might have created the
// folder without syncing the root. To be safe, makeFolder syncs the root once for each folder.
func (f *Filesystem) makeFolder(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.synced[path] && isDir(path) {
		return nil
	}
	if err := os.Mkdir(path, dirMode); err != nil && !isDir(path) {
		return err
	}
	if err := syncDir(f.root); err != nil {
		return err
	}
	f.synced[path] = true
	return nil
}

func (s *stagedFile) Discard() error {
	if s.path == "" {
		return nil
	}
	if err := s.store.remove(s.path); err != nil {
		return err
	}
	s.path = ""
	return nil
}

// remove removes a file. It returns nil if the file does not exist.
func (f *Filesystem) remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.explain(err)
	}
	return nil
}

// Open opens the file of b.
func (f *Filesystem) Open(ctx context.Context, b Blob) (io.ReadSeekCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !isHash(b.Hash) {
		return nil, errNotFound(b.Hash)
	}
	file, err := os.Open(f.path(keyOf(b.Hash)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.missing(errNotFound(b.Hash))
	}
	if err != nil {
		return nil, f.explain(err)
	}
	info, err := file.Stat()
	if err == nil && (info.Size() != b.Size || !info.Mode().IsRegular()) {
		err = errSize(b, info.Size())
	}
	if err != nil {
		return nil, errors.Join(f.explain(err), file.Close())
	}
	return &openFile{file: file, ctx: ctx, store: f, blob: b}, nil
}

// missing returns err, or ErrUnavailable if staging/ is missing. If staging/ is missing, the disk
// is probably not mounted, and the blob might exist on it.
func (f *Filesystem) missing(err error) error {
	if _, gone := os.Stat(f.path(stagingDir)); gone != nil {
		return newError(ErrUnavailable, gone, "The artifacts folder is missing; mount its disk or restore the folder.")
	}
	return err
}

// openFile reads a blob. It does not embed os.File, because the file's WriteTo method would
// bypass Read.
type openFile struct {
	file  *os.File
	ctx   context.Context
	store *Filesystem
	blob  Blob
}

func (o *openFile) Seek(offset int64, whence int) (int64, error) { return o.file.Seek(offset, whence) }

func (o *openFile) Close() error { return o.file.Close() }

func (o *openFile) Read(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := o.file.Read(p)
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		err = o.store.explain(err)
	default:
		if info, stat := o.file.Stat(); stat != nil {
			err = o.store.explain(stat)
		} else if info.Size() < o.blob.Size {
			err = errSize(o.blob, info.Size())
		}
	}
	return n, err
}

// Delete removes the file with the given hash.
func (f *Filesystem) Delete(ctx context.Context, hash string) error {
	if err := ctx.Err(); err != nil || !isHash(hash) {
		return err
	}
	return f.remove(f.path(keyOf(hash)))
}

// Walk reads one folder at a time and skips files whose names are not hashes.
func (f *Filesystem) Walk(ctx context.Context, fn func(Info) error) error {
	folders, err := os.ReadDir(f.root)
	if err != nil {
		return f.missing(f.explain(err))
	}
	for _, folder := range folders {
		if len(folder.Name()) != 2 || !isDir(f.path(folder.Name())) {
			continue
		}
		err := f.list(ctx, folder.Name(), func(key string, info fs.FileInfo) error {
			hash, ok := hashFromKey(key)
			if !ok {
				return nil
			}
			return fn(Info{Blob: Blob{Hash: hash, Size: info.Size()}, Modified: info.ModTime()})
		})
		if err != nil {
			return err
		}
	}
	return f.missing(nil)
}

// list calls fn for each regular file in a folder.
func (f *Filesystem) list(ctx context.Context, folder string, fn func(key string, info fs.FileInfo) error) error {
	entries, err := os.ReadDir(f.path(folder))
	if err != nil {
		return f.missing(f.explain(err))
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f.explain(err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if err := fn(folder+"/"+e.Name(), info); err != nil {
			return err
		}
	}
	return nil
}

// WalkStaged lists the files in staging/.
func (f *Filesystem) WalkStaged(ctx context.Context, olderThan time.Time, fn func(StagedInfo) error) error {
	return f.list(ctx, stagingDir, func(key string, info fs.FileInfo) error {
		if !isStagingKey(key) || !info.ModTime().Before(olderThan) {
			return nil
		}
		return fn(StagedInfo{Name: key, Size: info.Size(), Modified: info.ModTime()})
	})
}

// DeleteStaged removes a file in staging/. DeleteStaged ignores names that do not have the form
// of a staging key.
func (f *Filesystem) DeleteStaged(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !isStagingKey(name) {
		return nil
	}
	return f.remove(f.path(name))
}

// URI returns the file path relative to the root, with slashes. A relative path stays valid if
// the root is moved.
func (f *Filesystem) URI(hash string) string {
	if !isHash(hash) {
		return ""
	}
	return keyOf(hash)
}

// explain wraps an error from the operating system in an *Error.
func (f *Filesystem) explain(err error) error {
	var explained *Error
	switch {
	case err == nil, errors.As(err, &explained):
		return err
	case isFull(err):
		return newError(ErrFull, err, "The disk of the artifacts folder is full; free some space and try again.")
	case errors.Is(err, fs.ErrPermission), isReadOnly(err):
		return newError(ErrRefused, err, "This user has no access to the artifacts folder; change its owner or permissions, or set SERVICE_ARTIFACT_ROOT to another folder.")
	case errors.Is(err, fs.ErrNotExist):
		return f.missing(newError(ErrUnavailable, err, "A file in the artifacts folder was removed while it was in use; try again."))
	case !isDir(f.root):
		return newError(ErrRefused, err, "The path of the artifacts folder is not a folder; set SERVICE_ARTIFACT_ROOT to a folder.")
	}
	return newError(ErrUnavailable, err, "The artifacts folder can't be read or written; check its disk.")
}
