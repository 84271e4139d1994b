package collections_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tracker/store"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/sqlite"
)

// A version with many files is committed in several transactions, so that other clients can write
// between them. After a failure, the version is still pending, and the next attempt continues the
// commit.
func TestCommitOfManyFiles(t *testing.T) {
	t.Parallel()
	const list, md5 = 1000, "XrY7u+Ae7tCTyyK7j1rNww=="
	var commits atomic.Int64
	b := newBedWith(t, store.Options{Exclusive: true, OnCommit: func(sqlite.CommitStats) { commits.Add(1) }})
	begin := func(digest string) collections.Version {
		return must(b.Collections.CreateVersion(ctx, domain.System, collections.NewVersion{
			IterationID: b.Iteration, Collection: "data", Type: "dataset", Digest: digest}))(t)
	}
	first := begin("first")
	b.Keep(t, b.Experiment, files.NewArtifact{Name: first.File("a"), IterationID: b.Iteration}, "bytes")
	must(b.Collections.CommitVersion(ctx, domain.System, first.ID, []collections.Entry{{Name: "a", MD5: md5, Size: 5}}))(t)

	var entries []collections.Entry
	for i := range list {
		entries = append(entries, collections.Entry{Name: fmt.Sprintf("%04d", i), MD5: md5, Size: 5})
	}
	entries = append(entries, collections.Entry{Name: "elsewhere", Ref: "s3://bucket/key", Size: 7})
	second := begin("second")
	missing := collections.Entry{Name: "missing", MD5: "none"}
	if _, err := b.Collections.CommitVersion(ctx, domain.System, second.ID, append(entries[:list:list], missing)); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a file that has not arrived: %v", err)
	}
	if a := must(b.Collections.Version(ctx, domain.System, second.ID))(t); a.State != collections.Pending || a.Files != 0 {
		t.Errorf("after a failure the version is %s with %d files", a.State, a.Files)
	}
	before := commits.Load()
	a := must(b.Collections.CommitVersion(ctx, domain.System, second.ID, entries))(t)
	if a.State != "COMMITTED" || a.Files != list+1 || a.Size != 5*list+7 {
		t.Errorf("the version is %s with %d files and %d bytes", a.State, a.Files, a.Size)
	}
	if n := commits.Load() - before; n < 4 {
		t.Errorf("%d files are committed in %d transactions", list, n)
	}
	found := must(b.Files.Files(ctx, domain.System, files.Tree{IterationID: b.Iteration}, a.Folder()))(t)
	if len(found) != list {
		t.Errorf("there are %d files, want %d", len(found), list)
	}
	wantClean(t, b.DB)
}

// A new version can't take the place of another version by using that version's id or client id.
func TestArtifactWithTheIDOfAnother(t *testing.T) {
	b := newBed(t)
	create := func(iteration, digest, clientID string) collections.Version {
		return must(b.Collections.CreateVersion(ctx, domain.System, collections.NewVersion{
			IterationID: iteration, Collection: "data", Type: "dataset", Digest: digest, ClientID: clientID}))(t)
	}
	own := create(b.Iteration, "own", "made up")
	for _, id := range []string{own.ID, "made up"} {
		create(b.NewIteration(t), "other", id)
		if found := must(b.Collections.Version(ctx, domain.System, id))(t); found.ID != own.ID {
			t.Errorf("%s leads to the version with the digest %s", id, found.Digest)
		}
	}
}
