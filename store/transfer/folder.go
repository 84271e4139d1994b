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
	"strings"
)

// maxFolderFiles bounds the files of a folder of artifacts.
const maxFolderFiles = 1_000_000

// Folder stores all files below a folder as artifacts of the run, by their paths in
// it. A link that leads out of the folder is a loss; a folder that does not exist is
// empty.
func (w *RunWriter) Folder(ctx context.Context, folder string) error {
	if w.im.NoArtifacts {
		return nil
	}
	root, err := os.OpenRoot(folder) // no link leads out of it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.im.Lose(folder, "It can't be read: %v.", err)
		return nil
	}
	defer root.Close()
	n := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if n++; n > maxFolderFiles {
			return fmt.Errorf("%s has more than %d files", folder, maxFolderFiles)
		}
		at := filepath.Join(folder, filepath.FromSlash(name))
		if err != nil {
			w.im.Lose(at, "It can't be read: %v.", err)
			return nil
		}
		if d.IsDir() {
			return ctx.Err()
		}
		info, err := root.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			if !errors.Is(err, fs.ErrNotExist) || d.Type()&fs.ModeSymlink != 0 { // not one that was removed meanwhile
				w.im.Lose(at, "It is not a file, or a link out of the folder of its run; it is left out.")
			}
			return nil
		}
		return w.Artifact(ctx, Artifact{
			Name:        name,
			ContentType: ContentType(name),
			Size:        info.Size(),
			Modified:    Time(info.ModTime().UnixMilli()),
			Open:        func() (io.ReadCloser, error) { return root.Open(name) },
		})
	})
}

// ContentType returns the media type of a file by its name.
func ContentType(name string) string {
	if strings.HasSuffix(name, ".log") {
		return "text/plain; charset=utf-8"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
