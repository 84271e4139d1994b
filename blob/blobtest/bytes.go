package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"tracker/blob"
)

// pieceSizes holds the block and part sizes of the backends.
var pieceSizes = []int{4 << 10, 64 << 10, 256 << 10, 1 << 20, 5 << 20}

func sizes(t *testing.T, s blob.Store) {
	all := []int{0, 1, 2, 1000, 3<<20 + 17, 11 << 20}
	for _, n := range pieceSizes {
		all = append(all, n-1, n, n+1, 2*n)
	}
	var blobs [][]byte
	for i, n := range all {
		blobs = append(blobs, Bytes(uint64(i), n))
	}
	slices.SortFunc(blobs, func(a, b []byte) int { return bytes.Compare(a, b) })
	for _, data := range blobs {
		b := Put(t, s, data)
		WantBytes(t, s, data)
		wantOK(t, blob.Verify(t.Context(), s, b))
	}
	WantExactly(t, s, blobs...)
}

// reads compares the reader of a blob with a bytes.Reader.
func reads(t *testing.T, s blob.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{0, 1, 300 << 10, 1<<20 + 1, 6 << 20} {
		data := Bytes(uint64(n), n)
		b := Put(t, s, data)
		r, err := s.Open(t.Context(), b)
		wantOK(t, err)
		want := bytes.NewReader(data)
		for range 60 {
			if random.IntN(2) == 0 {
				whence := random.IntN(3)
				offset := random.Int64N(int64(n) + 100)
				switch whence {
				case io.SeekCurrent:
					offset -= int64(n) / 2
				case io.SeekEnd:
					offset = 50 - offset
				}
				got, err := r.Seek(offset, whence)
				at, wantErr := want.Seek(offset, whence)
				if (err != nil) != (wantErr != nil) || err == nil && got != at {
					t.Fatalf("Seek(%d, %d) = %d, %v, want %d, %v", offset, whence, got, err, at, wantErr)
				}
			}
			p, q := make([]byte, random.IntN(200<<10)), make([]byte, 200<<10)
			m, err := io.ReadFull(r, p)
			k, wantErr := io.ReadFull(want, q[:len(p)])
			if m != k || err != wantErr || !bytes.Equal(p[:m], q[:k]) {
				t.Fatalf("read %d, %v, want %d, %v, or other bytes", m, err, k, wantErr)
			}
		}
		_, err = r.Seek(0, 7)
		if err == nil {
			t.Error("Seek accepts an invalid whence")
		}
		_, err = r.Seek(int64(n), io.SeekStart)
		wantOK(t, err)
		for range 2 {
			if m, err := r.Read(make([]byte, 1)); m != 0 || err != io.EOF {
				t.Errorf("at the end Read is %d, %v", m, err)
			}
		}
		wantOK(t, r.Close())
		if m, err := r.Read(make([]byte, 1)); m != 0 || err == nil || err == io.EOF {
			t.Errorf("after Close Read is %d, %v", m, err)
		}
	}
}

// readers calls Stage with readers that return their bytes in unusual ways.
func readers(t *testing.T, s blob.Store) {
	data := Bytes(1, 600<<10)
	for name, r := range map[string]io.Reader{
		"halves":      iotest.HalfReader(bytes.NewReader(data)),
		"end at once": iotest.DataErrReader(bytes.NewReader(data)),
		"bytes":       io.MultiReader(iotest.OneByteReader(bytes.NewReader(data[:1000])), bytes.NewReader(data[1000:])),
	} {
		staged, err := s.Stage(t.Context(), r)
		wantOK(t, err)
		if staged.Blob() != Of(data) {
			t.Errorf("%s: staged %v", name, staged.Blob())
		}
		wantOK(t, staged.Commit(t.Context()))
		WantExactly(t, s, data)
	}
}

func sameBytes(t *testing.T, s blob.Store) {
	data := Bytes(2, 100_000)
	b := Put(t, s, data)
	first := Blobs(t, s)[b.Hash].Modified
	if age := time.Since(first); age < -time.Hour || age > time.Hour {
		t.Errorf("a new blob is %v old", age)
	}
	Put(t, s, data)
	if again := Blobs(t, s)[b.Hash].Modified; again.Before(first) {
		t.Errorf("a second Commit made the blob older: %v, then %v", first, again)
	}
	WantExactly(t, s, data)
}

// concurrent uploads and downloads a few blobs many times concurrently.
func concurrent(t *testing.T, s blob.Store) {
	var blobs [][]byte
	for i := range 4 {
		blobs = append(blobs, Bytes(uint64(i), 50_000+i*700_000))
	}
	var group sync.WaitGroup
	for i := range 24 {
		data := blobs[i%len(blobs)]
		group.Go(func() {
			staged, err := s.Stage(t.Context(), bytes.NewReader(data))
			if err != nil {
				t.Error(err)
				return
			}
			if err := staged.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			WantBytes(t, s, data)
		})
	}
	group.Wait()
	WantExactly(t, s, blobs...)
}

var errRead = errors.New("the sender went away")

func failedRead(t *testing.T, s blob.Store) {
	for _, n := range []int{0, 1, 300 << 10, 6<<20 + 5} {
		for name, failure := range map[string]error{"own error": errRead, "cut": io.ErrUnexpectedEOF} {
			staged, err := s.Stage(t.Context(), io.MultiReader(bytes.NewReader(Bytes(3, n)), iotest.ErrReader(failure)))
			if staged != nil {
				t.Errorf("%s after %d bytes: staged", name, n)
			}
			wantError(t, err, failure)
		}
	}
	if _, err := s.Stage(t.Context(), stuck{}); err == nil {
		t.Error("a reader that returns nothing was staged")
	}
	WantExactly(t, s)
}

// stuck is a reader that returns no bytes and no error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func cancelled(t *testing.T, s blob.Store) {
	data := Bytes(4, 6<<20)
	kept := Bytes(5, 1000)
	b := Put(t, s, kept)
	ctx, cancel := context.WithCancel(t.Context())
	staged, err := s.Stage(ctx, io.MultiReader(bytes.NewReader(data), call(cancel), bytes.NewReader(data)))
	if staged != nil {
		t.Error("staged after the end of the context")
	}
	wantError(t, err, context.Canceled)

	_, err = s.Stage(ctx, bytes.NewReader(data))
	wantError(t, err, context.Canceled)
	_, err = s.Open(ctx, b)
	wantError(t, err, context.Canceled)
	wantError(t, s.Delete(ctx, b.Hash), context.Canceled)
	wantError(t, s.Walk(ctx, func(blob.Info) error { return nil }), context.Canceled)

	for _, data := range [][]byte{data, kept} {
		late := Stage(t, s, data)
		wantError(t, late.Commit(ctx), context.Canceled)
		wantOK(t, late.Commit(t.Context()))
	}

	ctx, cancel = context.WithCancel(t.Context())
	r, err := s.Open(ctx, Of(data))
	wantOK(t, err)
	_, err = io.CopyN(io.Discard, r, 10)
	wantOK(t, err)
	cancel()
	n, err := io.Copy(io.Discard, r)
	wantError(t, err, context.Canceled)
	if n == int64(len(data))-10 {
		t.Error("a cancelled read continues to the end")
	}
	wantOK(t, r.Close())
	WantExactly(t, s, kept, data)
}

// call is a reader that calls the function and returns no bytes.
type call func()

func (c call) Read([]byte) (int, error) {
	c()
	return 0, io.EOF
}
