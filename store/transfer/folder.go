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

// maxFolderFiles is the largest number of files in a folder of artifacts, or in a folder that
// Walk reads.
const maxFolderFiles = 1_000_000

// Folder stores all files below a folder as artifacts of the run, named by their relative paths.
// Files with the names in without are left out. A link that leads out of the folder is a loss. If
// the folder does not exist, Folder does nothing.
func (w *RunWriter) Folder(ctx context.Context, folder string, without ...string) error {
	return w.im.folder(ctx, folder, without, func(a Artifact) error { return w.Artifact(ctx, a) })
}

// folder calls put with each file below a folder.
func (im *Import) folder(ctx context.Context, folder string, without []string, put func(Artifact) error) error {
	if im.NoArtifacts {
		return nil
	}
	root, err := os.OpenRoot(folder) // no link leads out of it
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

// walk calls put for each file below the folder from in root. folder is the path of root.
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
			if !errors.Is(err, fs.ErrNotExist) || d.Type()&fs.ModeSymlink != 0 { // a deleted file is not a loss
				im.Lose(at, "It is not a file inside the folder of its run; it is left out.")
			}
			return nil
		}
		return put(fileIn(root, name, info))
	})
}

// FileIn stores the file name, relative to folder, as an artifact named as. If name is a folder,
// FileIn stores all files below it, and as replaces name in their names. A link that leads out of
// folder, or a file that does not exist, is a loss.
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

// ReadFile returns the content of a file. It returns an error if the content has more than limit
// bytes, or if the path is not a regular file or is a link out of its folder.
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
	return ReadText(in, info.Size()) // bytes that are appended later are left for the next import
}

// ReadText returns the first size bytes of a file, or all of it if it is shorter.
func ReadText(in io.Reader, size int64) (string, error) {
	var text strings.Builder // String does not copy the text
	text.Grow(int(size))
	_, err := io.CopyN(&text, in, size)
	if errors.Is(err, io.EOF) {
		err = nil // the file was truncated
	}
	return text.String(), err
}

// ContentType returns the media type for the name of a file.
func ContentType(name string) string {
	if strings.HasSuffix(name, ".log") {
		return "text/plain; charset=utf-8"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
