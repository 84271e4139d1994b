package files_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/blob"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
)

// plant stores bytes without a row, as after a crash.
func plant(t testing.TB, s blob.Store, content string) {
	t.Helper()
	staged := must(s.Stage(ctx, strings.NewReader(content)))(t)
	wantOK(t, staged.Commit(ctx))
}

// collect deletes orphans and checks their hashes or ids.
func collect(t testing.TB, db *store.DB, age time.Duration, want ...string) {
	t.Helper()
	for _, remove := range []bool{false, true} {
		var got []string
		wantOK(t, db.CollectOrphans(ctx, age, remove, func(s artifact.Orphan) {
			if s.Err != nil {
				t.Errorf("%+v", s)
			}
			if !s.Kept {
				got = append(got, s.Name)
			}
		}))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("remove %v: %q, want %q", remove, got, want)
		}
	}
	if left := orphans(t, db, age); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

// All orphans are listed and then removed. Nothing else is removed.
func TestCollectOrphans(t *testing.T) {
	onEachBackend(t, func(t *testing.T, o store.Options) {
		o.Now = time.Now
		b := newBedWith(t, o)
		s := must(b.BlobStore(o.Backends.Default))(t)
		kept := b.Keep(t, b.Experiment, files.NewArtifact{Name: "kept"}, "kept")
		collect(t, b.DB, 0)
		plant(t, s, "no row")
		lost := b.Keep(t, b.Experiment, files.NewArtifact{Name: "lost"}, "no artifact")
		execSQL(t, raw(t, b.Path()), `DELETE FROM resource WHERE id = ?`, lost)
		other := must(b.BlobStore(artifact.Inline))(t)
		plant(t, other, "elsewhere")
		want := []string{hashOf("no row"), hashOf("no artifact"), hashOf("elsewhere")}
		if o.Backends.Default == artifact.Inline {
			plant(t, must(b.BlobStore(artifact.S3))(t), "elsewhere") // the same bytes in two backends
			want = append(want, hashOf("elsewhere"))
		}
		collect(t, b.DB, artifact.StagedAge, want...)
		if got := content(t, b.DB, kept); got != "kept" {
			t.Error(got)
		}
		wantContents(t, b)
	})
}

// Staged bytes count as orphans after StagedAge. An upload that continues after its staged bytes
// were removed fails and leaves nothing behind.
func TestCollectStagedBytes(t *testing.T) {
	onEachBackend(t, func(t *testing.T, o store.Options) {
		o.Now = time.Now
		b := newBedWith(t, o)
		s := must(b.BlobStore(o.Backends.Default))(t)
		large := strings.Repeat("12345678", 1<<20) // large enough to be staged in the object store
		r := must(b.Files.Receive(ctx, strings.NewReader(large), ""))(t)
		defer r.Discard()
		collect(t, b.DB, artifact.StagedAge)
		if left := orphans(t, b.DB, -time.Minute); len(left) != 1 || left[0].Kind != artifact.OrphanStaged || left[0].Size != int64(len(large)) {
			t.Fatalf("%+v", left)
		}
		n, size, err := b.CollectStaged(ctx, o.Backends.Default, -time.Minute)
		if n != 1 || size != int64(len(large)) || err != nil {
			t.Errorf("%d, %d, %v", n, size, err)
		}
		if _, err := b.Files.CreateArtifact(ctx, domain.System, b.Experiment, files.NewArtifact{Name: "a"}, r); err == nil {
			t.Error("bytes that were removed became an artifact")
		}
		wantOK(t, s.Walk(ctx, func(f blob.Info) error { t.Errorf("%s is there", f.Hash); return nil }))
		wantContents(t, b)
	})
}

// Expired resumable uploads are removed with their files. Other uploads remain.
func TestCollectUploads(t *testing.T) {
	b := newBedWith(t, store.Options{})
	dir := b.Path() + ".uploads"
	begin := func() string {
		t.Helper()
		u := must(b.Files.CreateUpload(ctx, domain.System, b.Experiment, files.NewUpload{NewArtifact: files.NewArtifact{Name: "a"}, Size: 10}))(t)
		must(b.Files.WriteUpload(ctx, domain.System, u.ID, artifact.Part{Body: bytes.NewReader([]byte("12345"))}))(t)
		wantOK(t, os.Chtimes(filepath.Join(dir, u.ID), time.Time{}, b.Clock.Now()))
		return u.ID
	}
	old := begin()
	b.Clock.Add(23 * time.Hour)
	young := begin()
	collect(t, b.DB, artifact.StagedAge)
	b.Clock.Add(time.Hour)
	collect(t, b.DB, artifact.StagedAge, old)
	u := must(b.Files.WriteUpload(ctx, domain.System, young, artifact.Part{Offset: 5, Body: bytes.NewReader([]byte("67890"))}))(t)
	if got := content(t, b.DB, *u.ArtifactID); got != "1234567890" {
		t.Error(got)
	}
}

// A blob that can't be removed and a backend that can't be listed are reported. All other orphans
// are removed.
func TestCollectOrphansThatFail(t *testing.T) {
	o, _ := allBackends(t, artifact.Filesystem)
	fails := true
	open := o.Backends.Open[artifact.Filesystem]
	o.Backends.Open[artifact.Filesystem] = func() (blob.Store, error) {
		s, err := open()
		return slow{s, func(next func() error) error {
			if fails {
				return errTest
			}
			return next()
		}}, err
	}
	o.Backends.Open[artifact.S3] = func() (blob.Store, error) { return nil, errTest }
	b := newBedWith(t, o)
	plant(t, must(b.BlobStore(artifact.Filesystem))(t), "no row")
	plant(t, must(b.BlobStore(artifact.Inline))(t), "inline")
	var failed, removed int
	wantOK(t, b.CollectOrphans(ctx, artifact.StagedAge, true, func(s artifact.Orphan) { // no row refers to the backend S3
		if errors.Is(s.Err, errTest) {
			failed++
		} else {
			removed++
		}
	}))
	if failed != 1 || removed != 1 {
		t.Errorf("%d failed, %d removed", failed, removed)
	}
	fails = false
	execSQL(t, raw(t, b.Path()), `INSERT INTO blob (backend, hash, size_bytes) VALUES ('s3', 'x', 1)`)
	removed = 0
	err := b.CollectOrphans(ctx, artifact.StagedAge, true, func(s artifact.Orphan) {
		if s.Err == nil {
			removed++
		}
	})
	if !errors.Is(err, errTest) || removed != 1 {
		t.Errorf("%d removed, %v", removed, err)
	}
}

// Usage is counted for each project and experiment that contains artifacts. Bytes shared by several
// artifacts are counted for each of them.
func TestArtifactUsage(t *testing.T) {
	o, _ := allBackends(t, artifact.Inline)
	b := newBedWith(t, o)
	u := must(b.Files.ArtifactUsage(ctx))(t)
	if u.Artifacts != 0 || len(u.Projects)+len(u.Backends)+len(u.Shared) != 0 {
		t.Errorf("%+v", u)
	}
	project := must(b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "other"}))(t).ID
	other := must(b.Projects.CreateExperiment(ctx, domain.System, project, projects.NewExperiment{Name: "large"}))(t).ID
	for range 3 {
		b.Keep(t, b.Experiment, files.NewArtifact{Name: "small"}, "1234")
	}
	b.Keep(t, other, files.NewArtifact{Name: "first"}, strings.Repeat("x", 100))
	b.Keep(t, b.Experiment, files.NewArtifact{Name: "second"}, strings.Repeat("x", 100))
	b.Keep(t, other, files.NewArtifact{Name: "once"}, "12345")
	must(b.Files.CreateUpload(ctx, domain.System, other, files.NewUpload{NewArtifact: files.NewArtifact{Name: "a"}, Size: 10}))(t)
	u = must(b.Files.ArtifactUsage(ctx))(t)
	if u.Artifacts != 6 || u.Bytes != 217 || u.Contents != 3 || u.StoredBytes != 109 || u.Uploads != 1 {
		t.Errorf("%+v", u)
	}
	if len(u.Projects) != 2 || u.Projects[0].Name != "project" || u.Projects[0].Bytes != 112 || u.Projects[1].Bytes != 105 ||
		u.Projects[1].Experiments[0] != (files.ExperimentUsage{ID: other, ProjectID: project, Name: "large", Artifacts: 2, Bytes: 105}) {
		t.Errorf("%+v", u.Projects)
	}
	if len(u.Shared) != 2 || u.Shared[0].Name != "first" || u.Shared[0].Artifacts != 2 || u.Shared[1].Artifacts != 3 || u.Shared[1].Size != 4 {
		t.Errorf("%+v", u.Shared)
	}
	if len(u.Backends) != 1 || u.Backends[0] != (files.BackendUsage{Backend: artifact.Inline, Contents: 3, StoredBytes: 109}) {
		t.Errorf("%+v", u.Backends)
	}
}
