// Package tensorboard reads TensorBoard's event files. It imports scalars, hyperparameters, text,
// images, audio and histograms.
//
// A run is a folder with event files. The functions add_hparams and add_scalars of PyTorch and
// tensorboardX create a subfolder for each call. Such subfolders are parts of the run in the
// folder above.
package tensorboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// projectName is the default project name of imported runs.
const projectName = "TensorBoard"

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "tensorboard", Title: "TensorBoard event files", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := Find(path)
		return transfer.Found(s, err != nil || len(s.files) == 0, err)
	}}
}

// Source holds the event files found at a path.
type Source struct {
	root  string
	named string // imported folder; "" if the source is a file
	files []*file
	links []string // links that leave the folder, and unreadable paths
}

const (
	// maxFiles is the maximum number of files and folders to search. maxDepth is the maximum
	// nesting depth of folders.
	maxFiles = 1_000_000
	maxDepth = 64
	// maxLook is the maximum number of bytes that look reads.
	maxLook = 1 << 20
)

var errTooMany = fmt.Errorf("it contains more than %d files; import a part of it", maxFiles)

// Find returns the event files at a path, which can be a file or a folder.
func Find(path string) (*Source, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		s := &Source{root: filepath.Dir(root)}
		if info.Mode().IsRegular() && isEventFile(info.Name()) {
			s.files = []*file{{path: root, dir: ".", size: info.Size()}}
		}
		return s, nil
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	s := &Source{root: root, named: root}
	seen := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > maxFiles {
			return errTooMany
		}
		if err != nil {
			if path == root {
				return err
			}
			s.links = append(s.links, path)
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			if strings.Count(rel, string(filepath.Separator)) >= maxDepth {
				return filepath.SkipDir
			}
		case d.Type()&fs.ModeSymlink != 0:
			s.link(path)
		case d.Type().IsRegular() && isEventFile(d.Name()):
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			s.files = append(s.files, &file{path: path, dir: filepath.ToSlash(filepath.Dir(rel)), size: info.Size()})
		}
		return nil
	})
	return s, err
}

// link records a symbolic link whose target is outside of the folder. It ignores other links,
// because their targets are found anyway.
func (s *Source) link(path string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // the target of the link does not exist
	}
	if rel, err := filepath.Rel(s.root, target); err == nil && filepath.IsLocal(rel) {
		return
	}
	s.links = append(s.links, path)
}

// Folder returns the imported folder, or "" if the source is a file.
func (s *Source) Folder() string { return s.named }

// Reads reports whether the file is an event file, based on its name.
func (s *Source) Reads(path string) bool { return isEventFile(filepath.Base(path)) }

// Size returns the total size of the event files in bytes.
func (s *Source) Size() (n int64) {
	for _, f := range s.files {
		n += f.size
	}
	return n
}

// run is a folder of event files, including the subfolders that are parts of the run.
type run struct {
	dir   string
	files []*file
}

// Import imports all runs of the source.
func (s *Source) Import(ctx context.Context, im *transfer.Import) error {
	for _, l := range s.links {
		im.Lose(l, "It is a link that leads outside the folder, or it can't be read; import its target separately.")
	}
	files, err := identified(ctx, im, s.files)
	if err != nil {
		return err
	}
	all := withoutCopies(im, s.wanted(im, runs(files)))
	return s.importRuns(ctx, im, all, all)
}

// identified sets the bases of the files and returns the files that contain events. A file that is
// not a valid event file is recorded as a loss.
func identified(ctx context.Context, im *transfer.Import, files []*file) ([]*file, error) {
	kept := files[:0:0]
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := f.identify()
		switch {
		case errors.Is(err, errHalf), err == nil && f.look().empty:
			im.Read(f.size)
		case err != nil:
			im.Read(f.size)
			im.Lose(f.path, "It is not an event file: %v.", err)
		default:
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// wanted returns the runs that the import's options select.
func (s *Source) wanted(im *transfer.Import, all []*run) []*run {
	return slices.DeleteFunc(all, func(r *run) bool {
		if im.Wanted(s.name(r), filepath.Base(s.root)) {
			return false
		}
		im.Read(r.size())
		return true
	})
}

// importRuns imports the new data of the runs in wanted. all holds all runs of the source.
func (s *Source) importRuns(ctx context.Context, im *transfer.Import, all, wanted []*run) error {
	if err := recognize(ctx, im, all, wanted); err != nil {
		return err
	}
	for _, r := range wanted {
		if len(r.files) == 0 {
			continue
		}
		if err := s.importRun(ctx, im, r); err != nil {
			return err
		}
	}
	return nil
}

// runs groups files by run. The runs are sorted by folder. The files of a run are sorted by name,
// and names begin with a time. Files in subfolders come last.
func runs(files []*file) []*run {
	byDir := map[string]*run{}
	var all []*run
	for _, f := range files {
		r := byDir[f.dir]
		if r == nil {
			r = &run{dir: f.dir}
			byDir[f.dir] = r
			all = append(all, r)
		}
		r.files = append(r.files, f)
	}
	slices.SortFunc(all, func(a, b *run) int { return strings.Compare(a.dir, b.dir) })
	for _, r := range all {
		slices.SortFunc(r.files, func(a, b *file) int { return strings.Compare(filepath.Base(a.path), filepath.Base(b.path)) })
	}
	var kept []*run
	for _, r := range all {
		if above := above(byDir, r); above != nil {
			above.files = append(above.files, r.files...)
		} else {
			kept = append(kept, r)
		}
	}
	return kept
}

// above returns the run of a parent folder if r is a part of that run. Otherwise it returns nil.
func above(byDir map[string]*run, r *run) *run {
	for dir := r.dir; dir != "."; {
		if i := strings.LastIndexByte(dir, '/'); i >= 0 {
			dir = dir[:i]
		} else {
			dir = "."
		}
		up := byDir[dir]
		if up == nil {
			continue
		}
		if all(r.files, (*file).hparamsOf) || all(r.files, func(f *file) bool { return f.partOf(dir) != "" }) {
			return up
		}
		return nil
	}
	return nil
}

func all(files []*file, is func(*file) bool) bool {
	return !slices.ContainsFunc(files, func(f *file) bool { return !is(f) })
}

// name returns the name of a run, which is the path of its folder.
func (s *Source) name(r *run) string {
	if r.dir == "." {
		return filepath.Base(s.root)
	}
	return r.dir
}

// importRun imports the new data of a run.
func (s *Source) importRun(ctx context.Context, im *transfer.Import, r *run) error {
	id, name := transfer.ID("tensorboard", "run", r.files[0].id.String()), s.name(r)
	size := r.size()
	isKnown, deleted := false, false
	for _, f := range r.files {
		switch {
		case f.known == nil:
		case f.known.RunID == uuid.Nil:
			deleted = true
		case !isKnown || f.dir == r.dir: // runs with equal beginnings differ in their last files
			id, isKnown = f.known.RunID, true
		}
	}
	if isKnown && !im.KeepAll {
		r.readAgain()
	}
	isNew := slices.ContainsFunc(r.files, func(f *file) bool { return f.isNew() })
	path := filepath.Join(s.root, filepath.FromSlash(r.dir))
	switch {
	case deleted && !isKnown:
		im.Read(size)
		im.LeaveOut(id, path, "The run was imported before and then deleted here; it is not imported again.")
		return nil
	case !isNew:
		im.Read(size)
		im.Unchanged(id)
		return nil
	}
	first := r.files[0].first
	for _, f := range r.files {
		first = min(first, f.first)
	}
	created, ok := timeOf(first)
	if !ok {
		created = 0
		im.Lose(path, "The time of its first event is not a valid time; it is shown as started in 1970.")
	}
	w := im.Begin(transfer.Run{ID: id, Project: projectName, Experiment: filepath.Base(s.root), Name: name, Created: created, Status: transfer.Running},
		path, isKnown)
	for _, f := range r.files {
		if !f.isNew() {
			im.Read(f.size)
			continue
		}
		if err := f.read(ctx, im, w, r.dir); err != nil {
			return err
		}
	}
	return w.End(ctx)
}

// isNew reports whether the file has data that was not imported.
func (f *file) isNew() bool { return f.known == nil || f.changed || f.known.Size != f.size }

// readAgain marks all files after a new file as unread. Reading the new file drops points that came
// from the later files, so these must be read again.
func (r *run) readAgain() {
	after := false
	for _, f := range r.files {
		switch {
		case f.dir != r.dir:
		case f.known == nil:
			after = true
		case after:
			k := *f.known
			k.Size, k.Position, k.State = -1, 0, ""
			f.known = &k
		}
	}
}
