package store_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"tracker/blob"
	"tracker/blob/blobtest"
	"tracker/store"
)

func inline(t testing.TB, db *store.DB) blob.Store {
	t.Helper()
	return must(db.BlobStore(store.Inline))(t)
}

func TestInline(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return inline(t, open(t, store.Options{})) })
}

// Bytes lie in pieces of 256 KiB, which other programs can read.
func TestInlinePieces(t *testing.T) {
	db := open(t, store.Options{})
	file := raw(t, db.Path())
	for size, want := range map[int]int{0: 0, 1: 1, 256 << 10: 1, 256<<10 + 1: 2, 5 << 20: 20, 5<<20 + 3: 21} {
		b := blobtest.Put(t, inline(t, db), blobtest.Bytes(1, size))
		n := ask[int](t, file, `SELECT count(*) FROM blob_piece JOIN blob_inline ON id = inline_id WHERE hash = ?`, b.Hash)
		if n != want {
			t.Errorf("%d bytes are %d pieces, want %d", size, n, want)
		}
	}
	if n := ask[int](t, file, `SELECT max(length(data)) FROM blob_piece`); n != 256<<10 {
		t.Errorf("the largest piece has %d bytes", n)
	}
}

// A piece that is gone, or too short, is not passed over in silence.
func TestInlineDamage(t *testing.T) {
	for _, damage := range []string{
		`DELETE FROM blob_piece WHERE part = 1`,
		`UPDATE blob_piece SET data = x'00' WHERE part = 1`,
		`UPDATE blob_piece SET data = x'' WHERE part = 2`,
	} {
		db := open(t, store.Options{})
		b := blobtest.Put(t, inline(t, db), blobtest.Bytes(2, 700_000))
		execSQL(t, raw(t, db.Path()), damage)
		r := must(inline(t, db).Open(ctx, b))(t)
		n, err := io.Copy(io.Discard, r)
		if !errors.Is(err, blob.ErrDamaged) || n >= b.Size {
			t.Errorf("%s: %d of %d bytes are read, %v", damage, n, b.Size, err)
		}
	}
}

// Who logs points does not wait for somebody's gigabyte: between two slices of
// an upload other writes get their turn.
func TestInlineUploadLetsOthersWrite(t *testing.T) {
	b := newBed(t)
	pieces := 0
	src := readerFunc(func(p []byte) (int, error) {
		if pieces == 64 {
			return 0, io.EOF
		}
		pieces++
		b.log(t, "loss", int64(pieces), 1) // between two reads of the upload
		return copy(p, strings.Repeat("x", min(len(p), 256<<10))), nil
	})
	staged := must(inline(t, b.DB).Stage(ctx, src))(t)
	wantOK(t, staged.Commit(ctx))
	if n := len(points(t, b.DB, b.iteration, nil)); n != 64 {
		t.Errorf("%d points", n)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
