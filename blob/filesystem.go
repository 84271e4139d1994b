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

// Filesystem keeps contents as files in ab/abcd… below a root. A file that is
// being written is in staging/, which is on the same file system, so that a
// rename puts the whole content in its place at once.
type Filesystem struct {
	root string

	mu     sync.Mutex
	synced map[string]bool // folders whose name in the root is durable
}

// NewFilesystem returns the store in the folder root. The folder is made if it
// is missing; it is an error that wraps ErrRefused when it can't be written to.
func NewFilesystem(root string) (*Filesystem, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, problem(ErrRefused, err, "The artifacts folder %q has no absolute path; name it in full.", root)
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

// makeDir makes a folder and those above it that are missing, durably.
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
	if err := os.Mkdir(path, 0o777); err != nil && !isDir(path) {
		return err
	}
	return syncDir(parent)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// path is where name, written with slashes, lies below the root.
func (f *Filesystem) path(name string) string {
	return filepath.Join(f.root, filepath.FromSlash(name))
}

// create makes a file in staging/.
func (f *Filesystem) create() (*os.File, error) {
	return os.OpenFile(f.path(stagingName()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Room is what the file system has left for this user.
func (f *Filesystem) Room() (int64, error) {
	n, err := room(f.root)
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
	w := &explainer{w: file, explain: f.explain}
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

// explainer explains the errors of a Writer, to tell them from those of the
// reader that it is fed from.
type explainer struct {
	w       io.Writer
	explain func(error) error
}

func (e *explainer) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	return n, e.explain(err)
}

type stagedFile struct {
	store *Filesystem
	blob  Blob
	path  string // "" when it is no longer in staging/
	moved bool   // it is under its name
	named bool   // it is durable there
}

func (s *stagedFile) Blob() Blob { return s.blob }

// Commit renames the file over what has the same name, if anything: the same
// bytes, unless they were damaged, and then these mend them.
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
	dst := s.store.path(place(s.blob.Hash))
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
	// This first, so that no folder is made where the disk is no longer.
	now := time.Now()
	if err := os.Chtimes(s.path, now, now); err != nil {
		return err
	}
	if err := s.store.makeFolder(filepath.Dir(dst)); err != nil {
		return err
	}
	if err := os.Rename(s.path, dst); err != nil {
		// Windows does not rename over a file that somebody reads.
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

// makeFolder makes a folder in the root, durably. One that is there may have
// been made a moment ago by another process that has not synced it yet, so each
// is synced once.
func (f *Filesystem) makeFolder(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.synced[path] && isDir(path) {
		return nil
	}
	if err := os.Mkdir(path, 0o777); err != nil && !isDir(path) {
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

// remove removes a file; it is no error when it is gone.
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
	file, err := os.Open(f.path(place(b.Hash)))
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

// missing is err, unless nothing at all is there any more: then the disk is,
// and the content may be well.
func (f *Filesystem) missing(err error) error {
	if _, gone := os.Stat(f.path(stagingDir)); gone != nil {
		return problem(ErrUnavailable, gone, "The artifacts folder is gone; mount its disk or put it back.")
	}
	return err
}

// openFile is a file of a size that is known. It does not embed the file, whose
// WriteTo would pass by Read.
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

// Delete removes the file of a hash.
func (f *Filesystem) Delete(ctx context.Context, hash string) error {
	if err := ctx.Err(); err != nil || !isHash(hash) {
		return err
	}
	return f.remove(f.path(place(hash)))
}

// Walk reads one folder after the other. Files with other names are passed over.
func (f *Filesystem) Walk(ctx context.Context, fn func(Found) error) error {
	folders, err := os.ReadDir(f.root)
	if err != nil {
		return f.missing(f.explain(err))
	}
	for _, folder := range folders {
		if len(folder.Name()) != 2 || !isDir(f.path(folder.Name())) {
			continue
		}
		err := f.list(ctx, folder.Name(), func(name string, info fs.FileInfo) error {
			hash, ok := hashAt(name)
			if !ok {
				return nil
			}
			return fn(Found{Blob: Blob{Hash: hash, Size: info.Size()}, Modified: info.ModTime()})
		})
		if err != nil {
			return err
		}
	}
	return f.missing(nil)
}

// list calls fn for each regular file in a folder, with its name below the root.
func (f *Filesystem) list(ctx context.Context, folder string, fn func(name string, info fs.FileInfo) error) error {
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

// Leftovers lists the files in staging/.
func (f *Filesystem) Leftovers(ctx context.Context, olderThan time.Time, fn func(Leftover) error) error {
	return f.list(ctx, stagingDir, func(name string, info fs.FileInfo) error {
		if !isStaged(name) || !info.ModTime().Before(olderThan) {
			return nil
		}
		return fn(Leftover{Name: name, Size: info.Size(), Modified: info.ModTime()})
	})
}

// Remove removes a file in staging/ and nothing elsewhere.
func (f *Filesystem) Remove(ctx context.Context, l Leftover) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !isStaged(l.Name) {
		return nil
	}
	return f.remove(f.path(l.Name))
}

// URI is the path of the file, relative to the root and with slashes, so that
// the root can move.
func (f *Filesystem) URI(hash string) string {
	if !isHash(hash) {
		return ""
	}
	return place(hash)
}

// explain puts what the operating system says into a sentence.
func (f *Filesystem) explain(err error) error {
	var explained *Error
	switch {
	case err == nil, errors.As(err, &explained):
		return err
	case isFull(err):
		return problem(ErrFull, err, "The disk of the artifacts folder is full; free some room and try again.")
	case errors.Is(err, fs.ErrPermission), isReadOnly(err):
		return problem(ErrRefused, err, "The artifacts folder can't be used by this user; change its owner or permissions, or set SERVICE_ARTIFACT_ROOT to another.")
	case errors.Is(err, fs.ErrNotExist):
		return f.missing(problem(ErrUnavailable, err, "Something in the artifacts folder was taken away while it was in use; try again."))
	case !isDir(f.root):
		return problem(ErrRefused, err, "The artifacts folder is not a folder; set SERVICE_ARTIFACT_ROOT to one.")
	}
	return problem(ErrUnavailable, err, "The artifacts folder fails; look at its disk.")
}
