package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxFolderFiles is the maximum number of files in an artifact folder or below the root of
// Walk.
const maxFolderFiles = 1_000_000

// Folder stores all files below a folder as artifacts of the run. An artifact's name is the
// file's path relative to the folder. Folder skips files and folders whose relative path is in
// without. A link that leaves the folder is recorded as a loss. If the folder does not exist,
// Folder does nothing.
func (w *RunWriter) Folder(ctx context.Context, folder string, without ...string) error {
	return w.im.folder(ctx, folder, without, func(a Artifact) error { return w.Artifact(ctx, a) })
}

// folder calls put for each file below a folder. It skips the paths in without.
func (im *Import) folder(ctx context.Context, folder string, without []string, put func(Artifact) error) error {
	if im.NoArtifacts {
		return nil
	}
	root, err := os.OpenRoot(folder) // root rejects links that leave the folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		im.Lose(folder, "It can't be read: %v.", err)
		return nil
	}
	defer root.Close()
	return im.walk(ctx, root, folder, ".", without, put)
}

// walk calls put for each file below a folder in root. from is the path of this folder relative
// to root, and folder is the path of root. walk skips the paths in without.
func (im *Import) walk(ctx context.Context, root *os.Root, folder, from string, without []string, put func(Artifact) error) error {
	n := 0
	return fs.WalkDir(root.FS(), from, func(name string, d fs.DirEntry, err error) error {
		if n++; n > maxFolderFiles {
			return fmt.Errorf("%s has more than %d files", folder, maxFolderFiles)
		}
		at := filepath.Join(folder, filepath.FromSlash(name))
		if err != nil {
			im.Lose(at, "It can't be read: %v.", err)
			return nil
		}
		if slices.Contains(without, name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return ctx.Err()
		}
		info, err := root.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			if !errors.Is(err, fs.ErrNotExist) || d.Type()&fs.ModeSymlink != 0 { // a file that is deleted during the import is not a loss
				im.Lose(at, "It is not a regular file inside the folder of its run; it is left out.")
			}
			return nil
		}
		return put(fileIn(root, name, info))
	})
}

// FileIn stores a file as an artifact. name is the file's path relative to folder, and as is the
// artifact's name. If name is a folder, FileIn stores all files below it. In the names of these
// artifacts, as replaces name. A missing file or a link that leaves the folder is recorded as a
// loss.
func (w *RunWriter) FileIn(ctx context.Context, folder, name, as string) error {
	if w.im.NoArtifacts {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		w.im.Lose(folder, "It can't be read: %v.", err)
		return nil
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err == nil && info.IsDir() {
		return w.im.walk(ctx, root, folder, path.Clean(filepath.ToSlash(name)), nil, func(a Artifact) error {
			a.Name = as + strings.TrimPrefix(a.Name, path.Clean(filepath.ToSlash(name)))
			return w.Artifact(ctx, a)
		})
	}
	if err != nil || !info.Mode().IsRegular() {
		w.im.Lose(filepath.Join(folder, name), "It is not a file in the folder of the runs; it is left out.")
		return nil
	}
	a := fileIn(root, name, info)
	a.Name = as
	return w.Artifact(ctx, a)
}

func fileIn(root *os.Root, name string, info fs.FileInfo) Artifact {
	return Artifact{
		Name:        name,
		ContentType: ContentType(name),
		Size:        info.Size(),
		Modified:    Time(info.ModTime().UnixMilli()),
		Open:        func() (io.ReadCloser, error) { return root.Open(name) },
	}
}

// ReadFile returns the content of a file. It returns an error if the file has more than limit
// bytes, is not a regular file, or is a link that leaves its folder.
func ReadFile(at string, limit int64) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(at))
	if err != nil {
		return "", err
	}
	defer root.Close()
	name := filepath.Base(at)
	info, err := root.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a file")
	}
	if info.Size() > limit {
		return "", fmt.Errorf("it has more than %d bytes", limit)
	}
	in, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return ReadText(in, info.Size()) // bytes appended during the import are read by the next import
}

// ReadText returns the first size bytes of in, or the whole content if it is shorter.
func ReadText(in io.Reader, size int64) (string, error) {
	var text strings.Builder // strings.Builder avoids a copy of the content
	text.Grow(int(size))
	_, err := io.CopyN(&text, in, size)
	if errors.Is(err, io.EOF) {
		err = nil // the file was truncated while it was read
	}
	return text.String(), err
}

// ContentType returns the media type of a file, based on the file's name.
func ContentType(name string) string {
	if strings.HasSuffix(name, ".log") {
		return "text/plain; charset=utf-8"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
