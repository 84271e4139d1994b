package artifact_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracker/blob"
	"tracker/store/artifact"
)

// While a server runs, a command must not delete the server's staged bytes. This is true for
// any Collection.Age.
func TestCollectSparesTheServersUploads(t *testing.T) {
	for _, backend := range []artifact.Backend{artifact.Inline, artifact.Filesystem} {
		t.Run(string(backend), func(t *testing.T) {
			server := newBench(t, options{exclusive: true, backend: backend})
			command := newBench(t, options{path: server.kernel.Path(), backend: backend})
			received := must(server.Receive(ctx, strings.NewReader("bytes")))(t)
			defer received.Discard()
			kept := 0
			wantOK(t, command.Collect(ctx, artifact.Collection{Age: -time.Minute, Scan: true, Found: func(o artifact.Orphan) {
				if kept++; !o.Kept || o.Kind != artifact.OrphanStaged || !o.Until.After(time.Now()) {
					t.Errorf("%+v", o)
				}
			}}))
			if kept != 1 {
				t.Errorf("%d orphans are kept", kept)
			}
			claim := must(received.Commit(ctx))(t)
			claim.Release(ctx)
			wantOK(t, server.kernel.Close())
			// No server is running now. The staged bytes of the killed server are therefore
			// deleted.
			staged := must(command.inline(t).Stage(ctx, strings.NewReader("left")))(t)
			collected := 0
			wantOK(t, command.Collect(ctx, artifact.Collection{Age: -time.Minute, Scan: true, Found: func(o artifact.Orphan) {
				if collected++; o.Kept || o.Err != nil {
					t.Errorf("%+v", o)
				}
			}}))
			if collected != 1 {
				t.Errorf("%d orphans are deleted", collected)
			}
			if err := staged.Commit(ctx); !errors.Is(err, artifact.ErrClaimLost) {
				t.Errorf("Commit of bytes that were collected says %v", err)
			}
		})
	}
}

// If a collection deletes the staged bytes of an inline upload, the upload fails with a clear
// message.
func TestInlineUploadThatIsCollected(t *testing.T) {
	b := newBench(t, options{})
	collect := func() (int, error) {
		return 0, errors.Join(io.EOF, b.inline(t).WalkStaged(ctx, time.Now().Add(time.Hour), func(i blob.StagedInfo) error {
			return b.inline(t).DeleteStaged(ctx, i.Name)
		}))
	}
	_, err := b.inline(t).Stage(ctx, io.MultiReader(
		strings.NewReader(strings.Repeat("x", 1<<20)),
		readerFunc(func([]byte) (int, error) {
			if _, err := collect(); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			return 0, io.EOF
		}),
		strings.NewReader("more")))
	if !errors.Is(err, artifact.ErrClaimLost) {
		t.Errorf("Stage says %v", err)
	}
	if n := b.count(t, `SELECT (SELECT count(*) FROM blob_inline) + (SELECT count(*) FROM blob_piece)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// Only the server's user can read the files of a resumable upload.
func TestUploadModes(t *testing.T) {
	b := newBench(t, options{})
	const id = "01a1fd72-2c13-79ed-97b8-5face34acb11"
	_, err := b.WritePart(ctx, id, 10, artifact.Part{Body: strings.NewReader("0123456789")})
	wantOK(t, err)
	for path, want := range map[string]os.FileMode{b.dir: 0o700, filepath.Join(b.dir, id): 0o600} {
		info, err := os.Stat(path)
		wantOK(t, err)
		if got := info.Mode().Perm(); os.PathSeparator == '/' && got != want {
			t.Errorf("the mode of %s is %o, want %o", path, got, want)
		}
	}
}
