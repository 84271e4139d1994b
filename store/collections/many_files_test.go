package collections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/sqlite"
	"tracker/store/trash"
)

// sameMD5 is the MD5 hash, in base64, that manyFiles uses for all files.
const sameMD5 = "XrY7u+Ae7tCTyyK7j1rNww=="

const trashAge = 30 * 24 * time.Hour

// interrupt cancels a context after a given number of commits.
type interrupt struct {
	left   atomic.Int64 // remaining commits before the cancellation; 0 means no cancellation
	cancel atomic.Pointer[context.CancelFunc]
	count  atomic.Int64 // number of all commits
}

func (i *interrupt) onCommit(sqlite.CommitStats) {
	i.count.Add(1)
	if i.left.Load() > 0 && i.left.Add(-1) == 0 {
		(*i.cancel.Load())()
	}
}

// after returns a context that is canceled at the nth commit after this call.
func (i *interrupt) after(t *testing.T, n int64) context.Context {
	c, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	i.cancel.Store(&cancel)
	i.left.Store(n)
	return c
}

// beginVersion creates a pending version of the artifact "data" with the given digest.
func (b *bed) beginVersion(t testing.TB, digest string) collections.Version {
	t.Helper()
	return must(b.Collections.CreateVersion(ctx, domain.System, collections.NewVersion{
		IterationID: b.Iteration, Collection: "data", Type: "dataset", Digest: digest}))(t)
}

// manyFiles commits two versions: the first has one file, the second has n files with the same
// bytes.
func (b *bed) manyFiles(t testing.TB, n int) (first, second collections.Version) {
	t.Helper()
	first = b.beginVersion(t, "first")
	b.Keep(t, b.Experiment, files.NewArtifact{Name: first.File("a"), IterationID: b.Iteration}, "bytes")
	must(b.Collections.CommitVersion(ctx, domain.System, first.ID, []collections.Entry{{Name: "a", MD5: sameMD5, Size: 5}}))(t)
	var entries []collections.Entry
	for i := range n {
		entries = append(entries, collections.Entry{Name: fmt.Sprintf("%d/%04d", i%3, i), MD5: sameMD5, Size: 5})
	}
	return first, must(b.Collections.CommitVersion(ctx, domain.System, b.beginVersion(t, "second").ID, entries))(t)
}

// filesIn returns the number of files in the iteration whose names begin with prefix.
func (b *bed) filesIn(t testing.TB, prefix string) (n int) {
	t.Helper()
	return ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM resource WHERE deleted_date IS NULL AND substr(name, 1, ?) = ?`, len(prefix), prefix)
}

// A version with many files is deleted in several transactions. If the deletion is interrupted, the
// version is already deleted, and a second call deletes the remaining files and nothing else.
func TestDeleteOfManyFiles(t *testing.T) {
	t.Parallel()
	const list = 1200
	for _, age := range []time.Duration{0, trashAge} {
		var stop interrupt
		b := newBedWith(t, store.Options{Exclusive: true, TrashAge: age, OnCommit: stop.onCommit})
		_, second := b.manyFiles(t, list)
		b.Keep(t, b.Experiment, files.NewArtifact{Name: second.Folder() + "0", IterationID: b.Iteration}, "beside")

		if _, err := b.Collections.DeleteVersion(stop.after(t, 1), domain.System, second.ID, false); !errors.Is(err, context.Canceled) {
			t.Fatalf("a deletion that is broken off: %v", err)
		}
		left := b.filesIn(t, second.Folder()+"/")
		if left == 0 || left == list {
			t.Errorf("after a deletion that was broken off %d files are left", left)
		}
		if a := must(b.Collections.Version(ctx, domain.System, second.ID))(t); a.State != "DELETED" {
			t.Errorf("the version is %s", a.State)
		}
		_, err := b.Collections.CommitVersion(ctx, domain.System, second.ID, nil)
		wantCode(t, err, domain.CodeConflict)
		must(b.Collections.DeleteVersion(ctx, domain.System, second.ID, false))(t)
		if left := b.filesIn(t, second.Folder()+"/"); left != 0 {
			t.Errorf("%d files are left", left)
		}
		if left := b.filesIn(t, "data:v"); left != 2 {
			t.Errorf("%d other files are left, want 2", left)
		}
		wantClean(t, b.DB)
	}
}

// A version can't be deleted if a model version refers to one of its files.
func TestDeleteOfFileThatIsAModel(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge})
	first, _ := b.manyFiles(t, 3)
	id := must(b.Files.Artifacts(ctx, domain.System, b.Experiment, files.ArtifactQuery{Page: domain.Page{Limit: 1}}))(t).Data[0].ID
	must(b.Models.CreateModelVersion(ctx, domain.System, newModel(t, b.Bed, b.Project, "net"), registry.NewModelVersion{IterationID: b.Iteration, ArtifactID: &id}))(t)
	_, err := b.Collections.DeleteVersion(ctx, domain.System, first.ID, true)
	wantCode(t, err, domain.CodeConflict)
	if a := must(b.Collections.Version(ctx, domain.System, first.ID))(t); a.State != "COMMITTED" || b.filesIn(t, first.Folder()+"/") != 1 {
		t.Errorf("after a refusal the version is %s with %d files", a.State, b.filesIn(t, first.Folder()+"/"))
	}
}

// A folder with many files is moved to the trash in several transactions. Files outside the folder
// with similar names are not moved.
func TestDeleteOfManyFilesOfAFolder(t *testing.T) {
	t.Parallel()
	var stop interrupt
	b := newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge, OnCommit: stop.onCommit})
	_, second := b.manyFiles(t, 1200)
	folder, tree := second.Folder(), files.Tree{IterationID: b.Iteration}
	for _, name := range []string{folder, folder + "-", folder + "0", folder + "/zz/z", "z"} {
		b.Keep(t, b.Experiment, files.NewArtifact{Name: name, IterationID: b.Iteration}, "more")
	}
	wantCode(t, b.Files.DeleteFiles(ctx, domain.System, tree, folder+"/none"), domain.CodeNotFound)
	if err := b.Files.DeleteFiles(stop.after(t, 1), domain.System, tree, folder); !errors.Is(err, context.Canceled) {
		t.Fatalf("a deletion that is broken off: %v", err)
	}
	if b.filesIn(t, folder+"/") == 0 {
		t.Error("all files were deleted in one transaction")
	}
	wantOK(t, b.Files.DeleteFiles(ctx, domain.System, tree, folder))
	wantCode(t, b.Files.DeleteFiles(ctx, domain.System, tree, folder), domain.CodeNotFound)
	var names []string
	for _, f := range must(b.Files.Files(ctx, domain.System, tree, ""))(t) {
		names = append(names, f.Name)
	}
	if want := []string{"data:v0", folder + "-", folder + "0", "z"}; !slices.Equal(names, want) {
		t.Errorf("left are %q, want %q", names, want)
	}
	wantOK(t, b.Files.DeleteFiles(ctx, domain.System, tree, ""))
	if left := b.filesIn(t, ""); left != 0 {
		t.Errorf("%d files are left of all", left)
	}
}

// A record with many files is purged in several transactions. If the purge is interrupted, the
// next purge continues.
func TestPurgeOfManyFiles(t *testing.T) {
	t.Parallel()
	for _, kind := range []domain.TrashKind{domain.TrashedIteration, domain.TrashedExperiment, domain.TrashedProject} {
		var stop interrupt
		b := newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge, OnCommit: stop.onCommit})
		b.manyFiles(t, 1200)
		id := map[domain.TrashKind]string{domain.TrashedIteration: b.Iteration, domain.TrashedExperiment: b.Experiment, domain.TrashedProject: b.Project}[kind]
		remove := map[domain.TrashKind]func(context.Context, domain.Actor, string) error{
			domain.TrashedIteration: b.Runs.DeleteIteration, domain.TrashedExperiment: b.Projects.DeleteExperiment, domain.TrashedProject: b.Projects.DeleteProject}[kind]
		wantOK(t, remove(ctx, domain.System, id))
		file := raw(t, b.Path())
		left := func(table string) int { return ask[int](t, file, `SELECT count(*) FROM `+table) }
		if err := b.Trash.Purge(stop.after(t, 1), domain.System, id); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: a purge that is broken off: %v", kind, err)
		}
		if n := left("resource"); n == 0 || n > 1200 {
			t.Errorf("%s: %d artifacts are left", kind, n)
		}
		if l := must(b.Trash.List(ctx, domain.System, trash.Query{Page: domain.FirstPage}))(t); l.Total > 0 {
			t.Errorf("%s: in the trash is %+v", kind, l.Data)
		}
		wantCode(t, b.Trash.Restore(ctx, domain.System, id), domain.CodeNotFound)
		wantClean(t, b.DB)
		before := stop.count.Load()
		wantOK(t, b.Trash.Empty(ctx, domain.System, trashAge, func(trash.Purged) {}))
		if n := stop.count.Load() - before; n < 2 {
			t.Errorf("%s: the rest was purged in %d transactions", kind, n)
		}
		for _, table := range []string{"resource", "artifact_file", "artifact_version", string(kind)} {
			if n := left(table); n != 0 {
				t.Errorf("%s: %d rows of %s are left", kind, n, table)
			}
		}
		wantClean(t, b.DB)
	}
}

// A file that was not sent is found in any remaining version, however many versions have been
// deleted.
func TestCommitAfterManyDeletions(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge})
	b.manyFiles(t, 1)
	for i := range 120 {
		a := b.beginVersion(t, fmt.Sprint(i))
		must(b.Collections.CommitVersion(ctx, domain.System, a.ID, []collections.Entry{{Name: "a", MD5: sameMD5, Size: 5}}))(t)
	}
	for _, a := range must(b.Collections.Versions(ctx, domain.System, collections.Search{ProjectID: b.Project}))(t)[1:] {
		must(b.Collections.DeleteVersion(ctx, domain.System, a.ID, true))(t)
	}
	a := b.beginVersion(t, "last")
	must(b.Collections.CommitVersion(ctx, domain.System, a.ID, []collections.Entry{{Name: "b", MD5: sameMD5, Size: 5}}))(t)
}
