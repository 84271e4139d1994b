package files_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tracker/blob"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
)

// wantKept checks that a collection reports exactly the blobs in want as kept, each until the given
// time.
func wantKept(t testing.TB, db *store.DB, age time.Duration, want map[string]time.Time) {
	t.Helper()
	got := map[string]time.Time{}
	wantOK(t, db.CollectOrphans(ctx, age, false, func(s artifact.Orphan) {
		if s.Kept {
			got[s.Name] = s.Until
		}
	}))
	if len(got) != len(want) {
		t.Errorf("spared are %v, want %v", got, want)
	}
	for c, until := range want {
		if at, ok := got[hashOf(c)]; !ok || !at.Equal(until) {
			t.Errorf("%s is spared until %v (%v), want %v", c, at, ok, until)
		}
	}
}

// A blob claimed by a killed command is collected once the claim is older than the limit. A blob
// claimed by a server is never collected.
func TestCollectClaims(t *testing.T) {
	o, _ := allBackends(t, artifact.Filesystem)
	b := newBedWith(t, o)
	file := raw(t, b.Path())
	claim := func(content, change string, args ...any) {
		t.Helper()
		id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, content)
		execSQL(t, file, `DELETE FROM resource WHERE id = ?`, id)
		execSQL(t, file, strings.ReplaceAll(change, "BLOB", `(SELECT id FROM blob WHERE hash = '`+hashOf(content)+`')`), args...)
	}
	const pin, mark = `INSERT INTO blob_pin (blob_id, expires_date) VALUES (BLOB, ?)`, `UPDATE blob SET deleting = 1, deleting_until = ? WHERE id = BLOB`
	now := int64(b.Clock.Time())
	claim("pinned", pin, now+time.Hour.Milliseconds())
	claim("pinned by the server", pin, nil)
	claim("marked", mark, now+5*time.Minute.Milliseconds())
	claim("marked by the server", mark, nil)
	collect(t, b.DB, artifact.StagedAge)
	noon := b.Clock.Now()
	wantKept(t, b.DB, artifact.StagedAge, map[string]time.Time{"pinned": noon.Add(time.Hour), "marked": noon.Add(5 * time.Minute),
		"pinned by the server": {}, "marked by the server": {}})
	wantKept(t, b.DB, time.Minute, map[string]time.Time{"pinned": noon.Add(time.Minute), "marked": noon.Add(time.Minute),
		"pinned by the server": {}, "marked by the server": {}})
	wantKept(t, b.DB, 24*time.Hour, map[string]time.Time{"pinned": noon.Add(24 * time.Hour), "marked": noon.Add(5 * time.Minute),
		"pinned by the server": {}, "marked by the server": {}})
	b.Clock.Add(10 * time.Minute)
	collect(t, b.DB, artifact.StagedAge, hashOf("marked"))
	wantKept(t, b.DB, artifact.StagedAge, map[string]time.Time{"pinned": noon.Add(time.Hour),
		"pinned by the server": {}, "marked by the server": {}})
	collect(t, b.DB, 10*time.Minute, hashOf("pinned"))
	claim("pinned again", pin, int64(b.Clock.Time())+time.Hour.Milliseconds())
	claim("marked again", mark, int64(b.Clock.Time())+5*time.Minute.Milliseconds())
	collect(t, b.DB, 0, hashOf("pinned again"), hashOf("marked again"))
	for _, c := range []string{"pinned by the server", "marked by the server"} {
		if n := ask[int](t, file, `SELECT count(*) FROM blob WHERE hash = ?`, hashOf(c)); n != 1 {
			t.Errorf("%s: %d rows", c, n)
		}
	}
}

// Bytes without a row are not removed if an upload of the same bytes has created a row since they
// were found.
func TestUnknownBytesThatAreTaken(t *testing.T) {
	onEachBackend(t, func(t *testing.T, o store.Options) {
		b := newBedWith(t, o)
		id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "taken")
		removed, err := b.Base().Artifacts.DeleteUnknown(ctx, o.Backends.Default, blob.Blob{Hash: hashOf("taken"), Size: 5})
		if removed || err != nil {
			t.Errorf("removed is %v, %v", removed, err)
		}
		if got := content(t, b.DB, id); got != "taken" {
			t.Error(got)
		}
	})
}

// A command that needs three hours to store a blob keeps its claim, although a claim lasts an hour
// and expired claims are collected.
func TestClaimOfALongMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := allBackends(t, artifact.Inline)
		o.Now = time.Now
		delete(o.Backends.Open, artifact.S3) // waiting for a network stops the clock
		var b *bed
		open := o.Backends.Open[artifact.Filesystem]
		o.Backends.Open[artifact.Filesystem] = func() (blob.Store, error) {
			s, err := open()
			return committing{s, func() {
				for range 3 {
					time.Sleep(time.Hour)
					wantOK(t, b.CollectOrphans(ctx, artifact.StagedAge, true, func(s artifact.Orphan) {
						if !s.Kept {
							t.Errorf("%+v", s)
						}
					}))
				}
			}}, err
		}
		b = newBedWith(t, o)
		id := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "bytes")
		moved := migrate(t, b.DB, artifact.Filesystem)
		if len(moved) != 1 || moved[0].Err != nil || moved[0].Gone {
			t.Errorf("%+v", moved)
		}
		if r := must(b.Files.Artifact(ctx, domain.System, id))(t); r.Backend != artifact.Filesystem {
			t.Errorf("%+v", r)
		}
		if n := ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM blob_pin`); n != 0 {
			t.Errorf("%d claims are left", n)
		}
	})
}

// If a collection without a minimum age removes the claim of an upload, the upload fails with the
// reason and leaves nothing behind.
func TestUploadThatLosesItsClaim(t *testing.T) {
	o, _ := allBackends(t, artifact.Filesystem)
	var b *bed
	open := o.Backends.Open[artifact.Filesystem]
	o.Backends.Open[artifact.Filesystem] = func() (blob.Store, error) {
		s, err := open()
		return committing{s, func() {
			wantOK(t, b.CollectOrphans(ctx, -time.Minute, true, func(s artifact.Orphan) {
				if s.Name != hashOf("bytes") || s.Err != nil {
					t.Errorf("%+v", s)
				}
			}))
		}}, err
	}
	b = newBedWith(t, o)
	r := must(b.Files.Receive(ctx, strings.NewReader("bytes"), ""))(t)
	defer r.Discard()
	_, err := b.Files.CreateArtifact(ctx, domain.System, b.Experiment, files.NewArtifact{Name: "a"}, r)
	wantCode(t, err, domain.CodeUnavailable)
	if n := must(b.Files.Artifacts(ctx, domain.System, b.Experiment, files.ArtifactQuery{Page: domain.FirstPage}))(t).Total; n != 0 {
		t.Errorf("%d artifacts", n)
	}
	wantContents(t, b)
}
