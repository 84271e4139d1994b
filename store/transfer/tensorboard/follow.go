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

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// Follower brings what is written to the event files of a folder, again and again.
// It holds no file open in between, and asks the file system for the times and sizes
// of what it knows, so that it works on network file systems too; there it opens what it
// asks for.
type Follower struct {
	im      *transfer.Import
	src     *Source
	folders map[string]*folder
	files   map[string]*file
	stat    func(path string) (fs.FileInfo, error)
}

// folder is a folder that was read.
type folder struct {
	modified time.Time
	// settled is set when the folder was read long after its last change: then it
	// has not changed as long as its time is the same.
	settled bool
}

// settling is how much later a folder must be read than it was changed. File systems
// have times of up to two seconds.
const settling = 3 * time.Second

// NewFollower returns a follower of a folder. It may be empty yet.
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

// opened is os.Lstat for file systems of other machines. These keep times and sizes for up
// to a minute, and ask again when a file or folder is opened.
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

// Poll brings what is new since the last call. What it could not bring, because of
// an error, the next call tries again. It reports whether there was something.
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
	var grown []*run
	for _, r := range runs(files) {
		if slices.ContainsFunc(r.files, func(one *file) bool { return one.grown }) {
			grown = append(grown, r)
		}
	}
	if err := f.im.Run(ctx, grownRuns{f.src, grown}); err != nil {
		return true, err
	}
	for _, one := range all {
		one.grown = false
	}
	return true, nil
}

// grownRuns is some runs of a source.
type grownRuns struct {
	*Source
	runs []*run
}

func (g grownRuns) Import(ctx context.Context, im *transfer.Import) error {
	return g.importRuns(ctx, im, g.runs)
}

// look reads the folders that have changed.
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

// entry notes what is new in a folder. It returns the path of a new folder, or "".
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
	case e.Type().IsRegular() && IsEventFile(e.Name()):
		if f.files[path] == nil {
			f.files[path] = &file{path: path, dir: filepath.ToSlash(rel)}
		}
	}
	return ""
}

// grow looks at the sizes of the files, and reports whether one has something new.
func (f *Follower) grow() bool {
	something := false
	for path, one := range f.files {
		info, err := f.stat(path)
		if err != nil || !info.Mode().IsRegular() {
			delete(f.files, path)
			continue
		}
		if replaced := one.info != nil && !os.SameFile(one.info, info); replaced || info.Size() != one.size {
			if replaced || info.Size() < one.size { // it may be another file now
				one.id, one.about = uuid.Nil, nil
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
