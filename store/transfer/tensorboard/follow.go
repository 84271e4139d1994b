package tensorboard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracker/store/transfer"
)

// Follower imports new data from the event files below a folder each time Poll is called. It keeps
// no files open between calls. It relies only on modification times and sizes, so it also works on
// network file systems. There, it opens files and folders to get their current times and sizes.
type Follower struct {
	im      *transfer.Import
	src     *Source
	folders map[string]*folder
	files   map[string]*file
	stat    func(path string) (fs.FileInfo, error)
}

// folder holds the state of a folder below the root.
type folder struct {
	modified time.Time
	// settled reports whether the folder was read at least the time settling after its last change.
	// A settled folder is unchanged if its modification time is unchanged.
	settled bool
}

// settling is the minimum time between the last change of a folder and the read that settles it.
// Some file systems store times with a resolution of two seconds.
const settling = 3 * time.Second

// NewFollower returns a Follower for the folder at path. The folder can be empty.
func NewFollower(im *transfer.Import, path string) (*Follower, error) {
	root, err := filepath.Abs(path)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() {
		err = errors.New(root + " is not a folder")
	}
	f := &Follower{im: im, src: &Source{root: root}, folders: map[string]*folder{root: {}}, files: map[string]*file{}, stat: os.Lstat}
	if isNetwork(root) {
		f.stat = opened
	}
	return f, err
}

// opened returns the same information as os.Lstat, but opens the file or folder first. Network file
// systems cache times and sizes for up to a minute. Opening a file or folder updates the cached
// values.
func opened(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return info, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// Poll imports all data written since the last call. It reports whether it found new data. After an
// error, the next call imports the remaining data.
func (f *Follower) Poll(ctx context.Context) (bool, error) {
	if err := f.look(ctx); err != nil {
		return false, err
	}
	if !f.grow() {
		return false, nil
	}
	all := make([]*file, 0, len(f.files))
	for _, one := range f.files {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	files, err := identified(ctx, f.im, all)
	if err != nil {
		return true, err
	}
	runs := withoutCopies(f.im, f.src.wanted(f.im, runs(files)))
	var grown []*run
	for _, r := range runs {
		if slices.ContainsFunc(r.files, func(one *file) bool { return one.grown || one.copied }) {
			grown = append(grown, r)
		}
	}
	if err := f.im.Run(ctx, grownRuns{f.src, runs, grown}); err != nil {
		return true, err
	}
	for _, one := range all {
		one.grown = false
	}
	return true, nil
}

// grownRuns is a Source that imports only the runs with new data.
type grownRuns struct {
	*Source
	all, grown []*run
}

func (g grownRuns) Import(ctx context.Context, im *transfer.Import) error {
	return g.importRuns(ctx, im, g.all, g.grown)
}

// look reads all folders that have changed and updates the lists of files and folders.
func (f *Follower) look(ctx context.Context) error {
	queue := make([]string, 0, len(f.folders))
	for path := range f.folders {
		queue = append(queue, path)
	}
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		at := f.folders[path]
		info, err := f.stat(path)
		if err != nil {
			if path == f.src.root {
				return err
			}
			delete(f.folders, path)
			continue
		}
		if at.settled && info.ModTime().Equal(at.modified) {
			continue
		}
		now := time.Now()
		entries, err := os.ReadDir(path)
		if err != nil {
			f.im.Lose(path, "It can't be read: %v.", err)
			continue
		}
		at.modified, at.settled = info.ModTime(), now.Sub(info.ModTime()) > settling
		for _, e := range entries {
			if below := f.entry(path, e); below != "" {
				queue = append(queue, below)
			}
		}
		if len(f.folders)+len(f.files) > maxFiles {
			return errTooMany
		}
	}
	return nil
}

// entry adds a directory entry to the lists of files and folders. It returns the path of a new
// folder, and otherwise "".
func (f *Follower) entry(folderPath string, e fs.DirEntry) string {
	path := filepath.Join(folderPath, e.Name())
	rel, err := filepath.Rel(f.src.root, folderPath)
	if err != nil {
		return ""
	}
	switch {
	case e.IsDir():
		if f.folders[path] == nil && strings.Count(rel, string(filepath.Separator)) < maxDepth {
			f.folders[path] = &folder{}
			return path
		}
	case e.Type().IsRegular() && isEventFile(e.Name()):
		if f.files[path] == nil {
			f.files[path] = &file{path: path, dir: filepath.ToSlash(rel)}
		}
	}
	return ""
}

// grow updates the sizes of all files and reports whether any file has unread data.
func (f *Follower) grow() bool {
	something := false
	for path, one := range f.files {
		info, err := f.stat(path)
		if err != nil || !info.Mode().IsRegular() {
			delete(f.files, path)
			continue
		}
		if replaced := one.info != nil && !os.SameFile(one.info, info); replaced || info.Size() != one.size {
			if replaced || info.Size() < one.size { // the path might name a different file now
				one = &file{path: one.path, dir: one.dir}
				f.files[path] = one
			}
			if one.about != nil && (one.about.empty || len(one.about.tags) == 0) {
				one.about = nil
			}
			one.size, one.grown, one.info = info.Size(), true, info
		}
		something = something || one.grown
	}
	return something
}
