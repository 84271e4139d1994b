package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/blob"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
)

// allBackends returns options for a new database with every backend. New bytes are stored in b.
func allBackends(t *testing.T, b artifact.Backend) (o store.Options, root string) {
	dir := t.TempDir()
	root = filepath.Join(dir, "artifacts")
	bucket := newBucket(t)
	return store.Options{Path: filepath.Join(dir, "tracker.db"), Backends: artifact.Backends{Default: b,
		Open: map[artifact.Backend]func() (blob.Store, error){
			artifact.Filesystem: func() (blob.Store, error) { return blob.NewFilesystem(root) },
			artifact.S3:         bucket.open,
		}}}, root
}

func migrate(t testing.TB, db *store.DB, to artifact.Backend) (moved []artifact.Moved) {
	t.Helper()
	m := must(db.PlanMigration(ctx, to))(t)
	wantOK(t, db.MigrateArtifacts(ctx, m, nil, func(c artifact.Moved) { moved = append(moved, c) }))
	return moved
}

// orphans lists the orphans that a collection would remove.
func orphans(t testing.TB, db *store.DB, age time.Duration) (all []artifact.Orphan) {
	t.Helper()
	wantOK(t, db.CollectOrphans(ctx, age, false, func(s artifact.Orphan) {
		if !s.Kept {
			all = append(all, s)
		}
	}))
	return all
}

func wantNoProblem(t testing.TB, db *store.DB) {
	t.Helper()
	for _, p := range must(db.CheckArtifacts(ctx, true, nil))(t) {
		t.Error(p.Text)
	}
	for _, p := range must(db.CheckArtifacts(ctx, false, nil))(t) {
		t.Error(p.Text)
	}
	wantClean(t, db)
}

// A migration between any two backends keeps the bytes and fields of every artifact, moves shared
// bytes only once, and leaves nothing behind.
func TestMigrateArtifacts(t *testing.T) {
	all := []artifact.Backend{artifact.Inline, artifact.Filesystem, artifact.S3}
	for _, from := range all {
		for _, to := range all {
			if from == to {
				continue
			}
			t.Run(string(from+" to "+to), func(t *testing.T) {
				o, _ := allBackends(t, from)
				b := newBedWith(t, o)
				contents := []string{"", "one", "one", strings.Repeat("large", 200_000)}
				var ids []string
				var before []files.Artifact
				for i, c := range contents {
					ids = append(ids, b.Keep(t, b.Experiment, files.NewArtifact{Name: fmt.Sprint(i)}, c))
					before = append(before, must(b.Files.Artifact(ctx, domain.System, ids[i]))(t))
				}
				b.Clock.Add(time.Hour)
				m := must(b.PlanMigration(ctx, to))(t)
				if m.Blobs != 3 || m.Bytes != 1_000_003 {
					t.Errorf("%+v", m)
				}
				var copied int64
				var moved []artifact.Moved
				wantOK(t, b.MigrateArtifacts(ctx, m, func(n int64) { copied += n }, func(c artifact.Moved) { moved = append(moved, c) }))
				if len(moved) != 3 || copied != m.Bytes || slices.ContainsFunc(moved, func(c artifact.Moved) bool { return c.Err != nil || c.Gone || c.From != from }) {
					t.Errorf("%d bytes copied, %+v", copied, moved)
				}
				for i, c := range contents {
					r := must(b.Files.Artifact(ctx, domain.System, ids[i]))(t)
					if before[i].Backend, before[i].URI = to, r.URI; r != before[i] {
						t.Errorf("%+v, want %+v", r, before[i])
					}
					if got := content(t, b.DB, ids[i]); got != c {
						t.Errorf("%d has %.20q", i, got)
					}
				}
				wantNoProblem(t, b.DB)
				if left := orphans(t, b.DB, 0); len(left) > 0 {
					t.Errorf("%+v", left)
				}
				if again := must(b.PlanMigration(ctx, to))(t); again.Blobs != 0 {
					t.Errorf("%+v", again)
				}
			})
		}
	}
}

// A blob that can't be moved remains in its backend and is reported with a reason. The other blobs
// are moved.
func TestMigrateDamagedArtifacts(t *testing.T) {
	o, root := allBackends(t, artifact.Filesystem)
	b := newBedWith(t, o)
	path := func(c string) string { return filepath.Join(root, hashOf(c)[:2], hashOf(c)) }
	var ids []string
	for _, c := range []string{"missing", "changed", "short", "sound"} {
		ids = append(ids, b.Keep(t, b.Experiment, files.NewArtifact{Name: c}, c))
	}
	wantOK(t, os.Remove(path("missing")))
	wantOK(t, os.WriteFile(path("changed"), []byte("CHANGED"), 0o600))
	wantOK(t, os.WriteFile(path("short"), []byte("sh"), 0o600))
	moved := migrate(t, b.DB, artifact.Inline)
	for i, want := range []string{"is missing", "has the hash", "2 bytes instead of 5", ""} {
		if err := moved[i].Err; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", i, err, want)
		}
	}
	if got := content(t, b.DB, ids[3]); got != "sound" {
		t.Error(got)
	}
	for deep, want := range map[bool][]string{
		false: {`"missing"`, `"short"`},
		true:  {`"missing"`, `"changed"`, `"short"`},
	} {
		problems := must(b.CheckArtifacts(ctx, deep, nil))(t)
		if len(problems) != len(want) {
			t.Fatalf("deep %v: %v", deep, problems)
		}
		for i, w := range want {
			if !strings.HasPrefix(problems[i].Text, "Artifact "+w) {
				t.Errorf("deep %v: %s", deep, problems[i].Text)
			}
		}
	}
}

// A failing backend ends a migration. Nothing is lost and nothing is left behind.
func TestMigrateToABackendThatFails(t *testing.T) {
	o, _ := allBackends(t, artifact.Inline)
	root := filepath.Join(t.TempDir(), "other")
	lie := false
	o.Backends.Open[artifact.Filesystem] = func() (blob.Store, error) {
		s, err := blob.NewFilesystem(root)
		return spoiling{s, &lie}, err
	}
	b := newBedWith(t, o)
	id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "bytes")
	m := must(b.PlanMigration(ctx, artifact.Filesystem))(t)
	lie = true
	if err := b.MigrateArtifacts(ctx, m, nil, nil); !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("what was read back is taken for what was written: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.MigrateArtifacts(stopped, m, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	lie = false
	if got := content(t, b.DB, id); got != "bytes" {
		t.Error(got)
	}
	if left := orphans(t, b.DB, 0); len(left) > 0 {
		t.Errorf("%+v", left)
	}
	wantContents(t, b)
}

// spoiling is a backend that returns bytes that differ from the stored ones.
type spoiling struct {
	blob.Store
	lie *bool
}

func (s spoiling) Open(c context.Context, b blob.Blob) (io.ReadSeekCloser, error) {
	if !*s.lie {
		return s.Store.Open(c, b)
	}
	return nopCloser{strings.NewReader(strings.Repeat("x", int(b.Size)))}, nil
}

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }

// movedArtifact is an artifact that is open for reading, and the backends between which its bytes
// are moved.
type movedArtifact struct {
	*bed
	from, to artifact.Backend
	id, want string
	r        io.ReadSeekCloser
}

// eachMove runs a test with an artifact of 10*size bytes in each backend.
func eachMove(t *testing.T, size int, test func(*testing.T, movedArtifact)) {
	for _, from := range []artifact.Backend{artifact.Inline, artifact.Filesystem, artifact.S3} {
		t.Run(string(from), func(t *testing.T) {
			to := artifact.Filesystem
			if from == to {
				to = artifact.Inline
			}
			o, _ := allBackends(t, from)
			m := movedArtifact{bed: newBedWith(t, o), from: from, to: to, want: strings.Repeat("0123456789", size)}
			m.id = m.Keep(t, m.Experiment, files.NewArtifact{Name: "a"}, m.want)
			_, r, err := m.Files.OpenArtifact(ctx, domain.System, m.id)
			wantOK(t, err)
			defer r.Close()
			m.r = r
			test(t, m)
		})
	}
}

// A reader of an artifact can read to the end while the bytes are moved.
func TestReadWhileMoved(t *testing.T) {
	eachMove(t, 1_000_000, func(t *testing.T, m movedArtifact) {
		begin := make([]byte, 1000)
		must(io.ReadFull(m.r, begin))(t)
		migrate(t, m.DB, m.to)
		if rest := must(io.ReadAll(m.r))(t); string(begin)+string(rest) != m.want {
			t.Errorf("%d bytes that are not the artifact's", len(begin)+len(rest))
		}
		// If the artifact is deleted while it is being read, the reader returns an error or all
		// bytes.
		_, r, err := m.Files.OpenArtifact(ctx, domain.System, m.id)
		wantOK(t, err)
		defer r.Close()
		must(io.ReadFull(r, begin))(t)
		wantOK(t, m.Files.DeleteArtifact(ctx, domain.System, m.id))
		if rest, err := io.ReadAll(r); err == nil && len(rest) != len(m.want)-1000 {
			t.Errorf("%d bytes are taken for the whole", len(rest))
		}
	})
}

// The same few blobs are uploaded, updated and deleted while a server and another process move them
// between backends and orphans are collected. At every moment, visible artifacts have their bytes.
func TestMigrateUnderUse(t *testing.T) {
	for _, pair := range [][2]artifact.Backend{{artifact.Inline, artifact.Filesystem}, {artifact.Filesystem, artifact.S3}} {
		t.Run(string(pair[0]+" and "+pair[1]), func(t *testing.T) {
			o, _ := allBackends(t, pair[0])
			server := o
			server.Exclusive, server.Now = true, time.Now
			o.Now = time.Now
			b := newBedWith(t, server)
			other := open(t, o)
			keep := b.Keep(t, b.Experiment, files.NewArtifact{Name: "kept"}, "content 0")
			var users sync.WaitGroup
			done := make(chan struct{})
			stop := sync.OnceFunc(func() {
				close(done)
				users.Wait()
			})
			defer stop() // needed if the test fails early
			for worker := range 4 {
				users.Go(func() {
					random := rand.New(rand.NewPCG(uint64(worker), 2))
					for {
						select {
						case <-done:
							return
						default:
						}
						if err := useSameBytes(b.DB, b.Experiment, random); err != nil {
							t.Error(err)
						}
					}
				})
			}
			moved := 0
			for round := range 8 {
				db := []*store.DB{b.DB, b.DB, other}[round%3]
				m := must(db.PlanMigration(ctx, pair[(round+1)%2]))(t)
				wantOK(t, db.MigrateArtifacts(ctx, m, nil, func(c artifact.Moved) {
					if c.Err == nil && !c.Gone {
						moved++
					}
				}))
				if round%3 == 1 {
					wantOK(t, db.CollectOrphans(ctx, artifact.StagedAge, true, func(artifact.Orphan) {}))
				}
			}
			stop()
			t.Logf("%d contents were moved", moved)
			if got := content(t, b.DB, keep); got != "content 0" {
				t.Error(got)
			}
			wantNoProblem(t, b.DB)
			migrate(t, b.DB, pair[0])
			wantContents(t, b)
		})
	}
}

// An artifact that is deleted while its bytes are copied stays deleted. The copy does not restore
// it.
func TestDeleteWhileMoved(t *testing.T) {
	began, end := make(chan bool), make(chan bool)
	b := slowly(t, store.Options{}, func(next func() error) error {
		began <- true
		<-end
		return next()
	})
	id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "bytes")
	deleted := make(chan error, 1)
	var once sync.Once
	var moved []artifact.Moved
	m := must(b.PlanMigration(ctx, artifact.Inline))(t)
	wantOK(t, b.MigrateArtifacts(ctx, m, func(int64) {
		once.Do(func() {
			go func() { deleted <- b.Files.DeleteArtifact(ctx, domain.System, id) }()
			<-began
		})
	}, func(c artifact.Moved) { moved = append(moved, c) }))
	if len(moved) != 1 || !moved[0].Gone {
		t.Errorf("%+v", moved)
	}
	end <- true
	wantOK(t, <-deleted)
	_, err := b.Files.Artifact(ctx, domain.System, id)
	wantCode(t, err, domain.CodeNotFound)
	if left := orphans(t, b.DB, 0); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// A reader of an artifact can read to the end even if the bytes were moved to another backend and
// back.
func TestReadWhileMovedToAndFro(t *testing.T) {
	eachMove(t, 100_000, func(t *testing.T, m movedArtifact) {
		migrate(t, m.DB, m.to)
		migrate(t, m.DB, m.from)
		if got := string(must(io.ReadAll(m.r))(t)); got != m.want {
			t.Errorf("%d bytes that are not the artifact's", len(got))
		}
	})
}

// An artifact can be opened regardless of how often its bytes are moved between look-up and
// opening.
func TestOpenWhileMoved(t *testing.T) {
	o, _ := allBackends(t, artifact.Filesystem)
	var b *bed
	moves := 0
	for at, to := range map[artifact.Backend]artifact.Backend{artifact.Filesystem: artifact.S3, artifact.S3: artifact.Filesystem} {
		next := o.Backends.Open[at]
		o.Backends.Open[at] = func() (blob.Store, error) {
			s, err := next()
			return leaving{s, func() {
				if left := moves; left > 0 {
					moves = 0 // the migration also opens the bytes
					migrate(t, b.DB, to)
					moves = left - 1
				}
			}}, err
		}
	}
	b = newBedWith(t, o)
	id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "bytes")
	moves = 4
	_, r, err := b.Files.OpenArtifact(ctx, domain.System, id)
	wantOK(t, err)
	defer r.Close()
	if got := string(must(io.ReadAll(r))(t)); got != "bytes" {
		t.Error(got)
	}
}

// leaving is a backend that calls leave before bytes are opened, to move them to another backend.
type leaving struct {
	blob.Store
	leave func()
}

func (l leaving) Open(c context.Context, b blob.Blob) (io.ReadSeekCloser, error) {
	l.leave()
	return l.Store.Open(c, b)
}
