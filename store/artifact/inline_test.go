package artifact_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"tracker/blob"
	"tracker/blob/blobtest"
	"tracker/store/sqlite"
)

func TestInline(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return newBench(t, options{}).inline(t) })
}

// Bytes are stored in pieces of 256 KiB. Other programs can read the pieces.
func TestInlinePieces(t *testing.T) {
	b := newBench(t, options{})
	for size, want := range map[int]int{0: 0, 1: 1, 256 << 10: 1, 256<<10 + 1: 2, 5 << 20: 20, 5<<20 + 3: 21} {
		stored := blobtest.Put(t, b.inline(t), blobtest.Bytes(1, size))
		n := b.count(t, `SELECT count(*) FROM blob_piece JOIN blob_inline ON id = inline_id WHERE hash = ?`, stored.Hash)
		if n != want {
			t.Errorf("%d bytes are %d pieces, want %d", size, n, want)
		}
	}
	if n := b.count(t, `SELECT max(length(data)) FROM blob_piece`); n != 256<<10 {
		t.Errorf("the largest piece has %d bytes", n)
	}
}

// Reading a blob with a missing or short piece returns an error.
func TestInlineDamage(t *testing.T) {
	for _, damage := range []string{
		`DELETE FROM blob_piece WHERE part = 1`,
		`UPDATE blob_piece SET data = x'00' WHERE part = 1`,
		`UPDATE blob_piece SET data = x'' WHERE part = 2`,
	} {
		b := newBench(t, options{})
		stored := blobtest.Put(t, b.inline(t), blobtest.Bytes(2, 700_000))
		b.exec(t, damage)
		r := must(b.inline(t).Open(ctx, stored))(t)
		n, err := io.Copy(io.Discard, r)
		if !errors.Is(err, blob.ErrDamaged) || n >= stored.Size {
			t.Errorf("%s: %d of %d bytes are read, %v", damage, n, stored.Size, err)
		}
	}
}

// Other writes do not wait for a large upload. They run between two slices of the upload.
func TestInlineUploadLetsOthersWrite(t *testing.T) {
	b := newBench(t, options{})
	pieces, written := 0, 0
	src := readerFunc(func(p []byte) (int, error) {
		if pieces == 64 {
			return 0, io.EOF
		}
		pieces++
		wantOK(t, b.kernel.Write(ctx, sqlite.Change, func(tx *sqlite.Tx) error { // between two reads of the uploaded bytes
			written++
			return nil
		}))
		return copy(p, strings.Repeat("x", min(len(p), 256<<10))), nil
	})
	staged := must(b.inline(t).Stage(ctx, src))(t)
	wantOK(t, staged.Commit(ctx))
	if written != 64 {
		t.Errorf("%d writes", written)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
