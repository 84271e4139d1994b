package files_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/blob"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
)

// onEachBackend runs a test with a database for each backend.
func onEachBackend(t *testing.T, test func(t *testing.T, o store.Options)) {
	for _, b := range []artifact.Backend{artifact.Inline, artifact.Filesystem, artifact.S3} {
		t.Run(string(b), func(t *testing.T) {
			o, _ := allBackends(t, b)
			test(t, o)
		})
	}
}

// wantContents checks that the backend has exactly the blobs of the visible artifacts.
func wantContents(t testing.TB, b *bed) {
	t.Helper()
	must(b.Collect(ctx))(t)
	s := must(b.BlobStore(b.DefaultBackend()))(t)
	want := map[string]bool{}
	for _, r := range must(b.Files.Artifacts(ctx, domain.System, b.Experiment, files.ArtifactQuery{Page: domain.Page{Limit: domain.MaxLimit}}))(t).Data {
		want[r.ContentHash] = true
		if err := blob.Verify(ctx, s, blob.Blob{Hash: r.ContentHash, Size: r.SizeBytes}); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	wantOK(t, s.Walk(ctx, func(f blob.Info) error {
		if !want[f.Hash] {
			t.Errorf("%s is kept for nobody", f.Hash)
		}
		delete(want, f.Hash)
		return nil
	}))
	wantOK(t, s.WalkStaged(ctx, time.Now().Add(1000*time.Hour), func(l blob.StagedInfo) error {
		t.Errorf("%s is left over", l.Name)
		return nil
	}))
	if n := ask[int](t, raw(t, b.Path()), `SELECT (SELECT count(*) FROM blob) - (SELECT count(DISTINCT blob_id) FROM resource)
		+ (SELECT count(*) FROM blob_pin)`); n != 0 {
		t.Errorf("%d rows of blobs or pins too many", n)
	}
}

// A server and another process upload, update and delete the same few blobs concurrently. At every
// moment, visible artifacts have their bytes. At the end, nothing else is stored.
func TestSameBytesUploadedAndDeletedAtOnce(t *testing.T) {
	onEachBackend(t, func(t *testing.T, o store.Options) {
		server := o
		server.Exclusive = true
		b := newBedWith(t, server)
		other := open(t, o)
		var all sync.WaitGroup
		for worker := range 6 {
			db := []*store.DB{b.DB, other}[worker%2]
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(worker), 1))
				for range 40 {
					if err := useSameBytes(db, b.Experiment, random); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		wantContents(t, b)
	})
}

// useSameBytes calls tryBytes, and calls it again if the same bytes are being removed. A removal
// takes a long time when a busy server and a command wait for each other.
func useSameBytes(db *store.DB, experiment string, random *rand.Rand) (err error) {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		if err = tryBytes(db, experiment, random); codeOf(err) != domain.CodeUnavailable {
			return err
		}
	}
	return err
}

// tryBytes uploads one of three values, reads it, and at random changes and deletes it.
func tryBytes(db *store.DB, experiment string, random *rand.Rand) error {
	content := func() string { return fmt.Sprintf("content %d", random.IntN(3)) }
	receive := func(s string) (*artifact.Received, error) { return db.Files.Receive(ctx, strings.NewReader(s), "") }
	want := content()
	r, err := receive(want)
	if err != nil {
		return err
	}
	defer r.Discard()
	created, err := db.Files.CreateArtifact(ctx, domain.System, experiment, files.NewArtifact{Name: "a"}, r)
	if err != nil {
		return err
	}
	if random.IntN(2) == 0 {
		want = content()
		other, err := receive(want)
		if err != nil {
			return err
		}
		defer other.Discard()
		if err := db.Files.UpdateArtifact(ctx, domain.System, created.ID, files.ArtifactPatch{}, other); err != nil {
			return err
		}
	}
	_, got, err := db.Files.OpenArtifact(ctx, domain.System, created.ID)
	if err != nil {
		return err
	}
	defer got.Close()
	if text, err := io.ReadAll(got); err != nil || string(text) != want {
		return fmt.Errorf("%q is read as %q, %v", want, text, err)
	}
	if random.IntN(4) > 0 {
		return db.Files.DeleteArtifact(ctx, domain.System, created.ID)
	}
	return nil
}

// If the rows of a deletion can't be written, the deletion is continued later. The same bytes can
// be uploaded again without restarting the server.
func TestDeletionThatCantBeWritten(t *testing.T) {
	onEachBackend(t, func(t *testing.T, o store.Options) {
		o.Exclusive = true
		b := newBedWith(t, o)
		id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "bytes")
		file := raw(t, b.Path())
		execSQL(t, file, `CREATE TRIGGER failing BEFORE DELETE ON blob BEGIN SELECT RAISE(ABORT, 'a failure of the test'); END`)
		if err := b.Files.DeleteArtifact(ctx, domain.System, id); err == nil {
			t.Fatal("the deletion did not fail")
		}
		if _, err := b.Collect(ctx); err == nil {
			t.Error("the collection did not fail")
		}
		execSQL(t, file, `DROP TRIGGER failing`)
		must(b.Collect(ctx))(t)
		_, err := b.Files.Artifact(ctx, domain.System, id)
		wantCode(t, err, domain.CodeNotFound)
		b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "bytes")
		wantContents(t, b)
	})
}

// slow is a backend that calls the test's function remove to delete bytes.
type slow struct {
	blob.Store
	remove func(next func() error) error
}

func (s slow) Delete(c context.Context, hash string) error {
	return s.remove(func() error { return s.Store.Delete(c, hash) })
}

// slowly opens a database with a backend that calls remove to delete bytes.
func slowly(t *testing.T, o store.Options, remove func(next func() error) error) *bed {
	t.Helper()
	root := filepath.Join(t.TempDir(), "artifacts")
	o.Backends = artifact.Backends{Default: artifact.Filesystem, Open: map[artifact.Backend]func() (blob.Store, error){
		artifact.Filesystem: func() (blob.Store, error) {
			s, err := blob.NewFilesystem(root)
			return slow{s, remove}, err
		},
	}}
	return newBedWith(t, o)
}

// An artifact is hidden while its bytes are being removed. An upload of the same bytes waits
// until they are removed.
func TestUploadWaitsForTheRemovalOfItsBytes(t *testing.T) {
	began, end := make(chan bool), make(chan bool)
	b := slowly(t, store.Options{}, func(next func() error) error {
		began <- true
		<-end
		return next()
	})
	id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "same")
	deleted := make(chan error, 1)
	go func() { deleted <- b.Files.DeleteArtifact(ctx, domain.System, id) }()
	<-began
	_, err := b.Files.Artifact(ctx, domain.System, id)
	wantCode(t, err, domain.CodeNotFound)
	if n := must(b.Files.Artifacts(ctx, domain.System, b.Experiment, files.ArtifactQuery{Page: domain.FirstPage}))(t).Total; n != 0 {
		t.Errorf("%d artifacts are listed", n)
	}
	wantCode(t, b.Files.DeleteArtifact(ctx, domain.System, id), domain.CodeNotFound)
	r := must(b.Files.Receive(ctx, strings.NewReader("same"), ""))(t)
	defer r.Discard()
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = b.Files.CreateArtifact(soon, domain.System, b.Experiment, files.NewArtifact{Name: "impatient"}, r)
	wantCode(t, err, domain.CodeUnavailable)
	uploaded := make(chan string)
	go func() { uploaded <- b.Keep(t, b.Experiment, files.NewArtifact{Name: "b"}, "same") }()
	select {
	case <-uploaded:
		t.Error("the upload did not wait")
	case end <- true:
	}
	wantOK(t, <-deleted)
	if got := content(t, b.DB, <-uploaded); got != "same" {
		t.Errorf("the second upload has %q", got)
	}
}

// committing is a backend that calls the function committed after bytes are stored.
type committing struct {
	blob.Store
	committed func()
}

func (c committing) Stage(ctx context.Context, r io.Reader) (blob.Staged, error) {
	s, err := c.Store.Stage(ctx, r)
	return committingStaged{s, c.committed}, err
}

type committingStaged struct {
	blob.Staged
	committed func()
}

func (s committingStaged) Commit(ctx context.Context) error {
	defer s.committed()
	return s.Staged.Commit(ctx)
}

// An upload that loses its pin creates no artifact row, because its bytes may have been removed.
func TestUploadThatLosesItsPin(t *testing.T) {
	var b *bed
	root := filepath.Join(t.TempDir(), "artifacts")
	b = newBedWith(t, store.Options{Backends: artifact.Backends{Default: artifact.Filesystem, Open: map[artifact.Backend]func() (blob.Store, error){
		artifact.Filesystem: func() (blob.Store, error) {
			s, err := blob.NewFilesystem(root)
			return committing{s, func() { execSQL(t, raw(t, b.Path()), `DELETE FROM blob_pin`) }}, err
		},
	}}})
	r := must(b.Files.Receive(ctx, strings.NewReader("bytes"), ""))(t)
	defer r.Discard()
	_, err := b.Files.CreateArtifact(ctx, domain.System, b.Experiment, files.NewArtifact{Name: "a"}, r)
	wantCode(t, err, domain.CodeUnavailable)
	wantContents(t, b)
}

// An artifact becomes visible again if its bytes can't be removed.
func TestRemovalThatFails(t *testing.T) {
	fails := true
	b := slowly(t, store.Options{}, func(next func() error) error {
		if fails {
			return fmt.Errorf("%w: %w", blob.ErrUnavailable, errTest)
		}
		return next()
	})
	id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "bytes")
	err := b.Files.DeleteArtifact(ctx, domain.System, id)
	wantCode(t, err, domain.CodeUnavailable)
	if !errors.Is(err, errTest) {
		t.Errorf("the cause is lost: %v", err)
	}
	if got := content(t, b.DB, id); got != "bytes" {
		t.Errorf("it came back with %q", got)
	}
	// Deleting the experiment deletes the artifact immediately. The removal of its bytes is
	// retried.
	other := b.Keep(t, must(b.Projects.CreateExperiment(ctx, domain.System, b.Project, projects.NewExperiment{Name: "e"}))(t).ID, files.NewArtifact{Name: "b"}, "more")
	r := must(b.Files.Artifact(ctx, domain.System, other))(t)
	wantOK(t, b.Projects.DeleteExperiment(ctx, domain.System, r.ExperimentID))
	if _, err := b.Collect(ctx); !errors.Is(err, errTest) {
		t.Errorf("Collect says %v", err)
	}
	fails = false
	if n := must(b.Collect(ctx))(t); n != 1 {
		t.Errorf("%d contents are collected", n)
	}
	wantOK(t, b.Files.DeleteArtifact(ctx, domain.System, id))
	wantContents(t, b)
}

// At startup, a server completes the operations of a killed server. It does not touch the
// operations of other processes until they expire.
func TestStartAfterAKill(t *testing.T) {
	onEachBackend(t, func(t *testing.T, o store.Options) {
		clock := newClock()
		o.Now = clock.Now
		b := newBedWith(t, o)
		marked, pinned, others, mine := b.Keep(t, b.Experiment, files.NewArtifact{Name: "marked"}, "1"), "2", "3", "4"
		half := b.Keep(t, b.Experiment, files.NewArtifact{Name: "half"}, "5")
		file := raw(t, b.Path())
		for _, c := range []string{pinned, others, mine} {
			id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "n"}, c)
			execSQL(t, file, `DELETE FROM resource WHERE id = ?`, id)
		}
		at := func(hash string) string { return `(SELECT id FROM blob WHERE hash = '` + hash + `')` }
		execSQL(t, file, `UPDATE blob SET deleting = 1 WHERE id = (SELECT blob_id FROM resource WHERE id = ?)`, marked)
		later := int64(clock.Time()) + 1000
		execSQL(t, file, `UPDATE blob SET deleting = 1, deleting_until = ? WHERE id = (SELECT blob_id FROM resource WHERE id = ?)`, later, half)
		execSQL(t, file, `INSERT INTO blob_pin (blob_id, expires_date) VALUES (`+at(hashOf(pinned))+`, NULL)`)
		execSQL(t, file, `INSERT INTO blob_pin (blob_id, expires_date) VALUES (`+at(hashOf(others))+`, ?)`, later)
		wantOK(t, b.Close())
		o.Exclusive = true
		db := open(t, o)
		must(db.Collect(ctx))(t)
		for hash, want := range map[string]int{hashOf("1"): 0, hashOf(pinned): 0, hashOf(others): 1, hashOf(mine): 0, hashOf("5"): 1} {
			if n := ask[int](t, file, `SELECT count(*) FROM blob WHERE hash = ?`, hash); n != want {
				t.Errorf("%d rows of %s, want %d", n, hash, want)
			}
		}
		clock.Add(time.Second)
		must(db.Collect(ctx))(t)
		b.DB = db
		wantContents(t, b)
	})
}

func hashOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }
