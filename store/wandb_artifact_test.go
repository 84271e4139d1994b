package store_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tracker/store"
)

// A version with many files is committed in several transactions, so that others can write
// meanwhile. After a failure it is pending, and the next attempt continues.
func TestCommitOfManyFiles(t *testing.T) {
	t.Parallel()
	const files, md5 = 1000, "XrY7u+Ae7tCTyyK7j1rNww=="
	var commits atomic.Int64
	b := newBedWith(t, store.Options{Exclusive: true, OnCommit: func(store.CommitStats) { commits.Add(1) }})
	begin := func(digest string) store.WandbArtifact {
		return must(b.CreateWandbArtifact(ctx, store.System, store.NewWandbArtifact{
			IterationID: b.iteration, Collection: "data", Type: "dataset", Digest: digest}))(t)
	}
	first := begin("first")
	b.keep(t, b.experiment, store.NewArtifact{Name: first.File("a"), IterationID: b.iteration}, "bytes")
	must(b.CommitWandbArtifact(ctx, store.System, first.ID, []store.WandbEntry{{Name: "a", MD5: md5, Size: 5}}))(t)

	var entries []store.WandbEntry
	for i := range files {
		entries = append(entries, store.WandbEntry{Name: fmt.Sprintf("%04d", i), MD5: md5, Size: 5})
	}
	entries = append(entries, store.WandbEntry{Name: "elsewhere", Ref: "s3://bucket/key", Size: 7})
	second := begin("second")
	missing := store.WandbEntry{Name: "missing", MD5: "none"}
	if _, err := b.CommitWandbArtifact(ctx, store.System, second.ID, append(entries[:files:files], missing)); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a file that has not arrived: %v", err)
	}
	if a := must(b.WandbArtifact(ctx, store.System, second.ID))(t); a.State != store.WandbPending || a.Files != 0 {
		t.Errorf("after a failure the version is %s with %d files", a.State, a.Files)
	}
	before := commits.Load()
	a := must(b.CommitWandbArtifact(ctx, store.System, second.ID, entries))(t)
	if a.State != "COMMITTED" || a.Files != files+1 || a.Size != 5*files+7 {
		t.Errorf("the version is %s with %d files and %d bytes", a.State, a.Files, a.Size)
	}
	if n := commits.Load() - before; n < 4 {
		t.Errorf("%d files are committed in %d transactions", files, n)
	}
	found := must(b.Files(ctx, store.System, store.Tree{IterationID: b.iteration}, a.Folder()))(t)
	if len(found) != files {
		t.Errorf("there are %d files, want %d", len(found), files)
	}
	wantClean(t, b.DB)
}

// Nobody can take the place of a version by making up its id, or the id that its client has
// made up, for another one.
func TestArtifactWithTheIDOfAnother(t *testing.T) {
	b := newBed(t)
	create := func(iteration, digest, clientID string) store.WandbArtifact {
		return must(b.CreateWandbArtifact(ctx, store.System, store.NewWandbArtifact{
			IterationID: iteration, Collection: "data", Type: "dataset", Digest: digest, ClientID: clientID}))(t)
	}
	own := create(b.iteration, "own", "made up")
	for _, id := range []string{own.ID, "made up"} {
		create(b.newIteration(t), "other", id)
		if found := must(b.WandbArtifact(ctx, store.System, id))(t); found.ID != own.ID {
			t.Errorf("%s leads to the version with the digest %s", id, found.Digest)
		}
	}
}
