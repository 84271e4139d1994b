package blob_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"tracker/blob"
	"tracker/blob/blobtest"
)

// stored adds a Close method to a reader of stored bytes.
type stored struct{ io.ReadSeeker }

func (stored) Close() error { return nil }

func verified(data []byte, b blob.Blob) io.ReadSeekCloser {
	return blob.Verified(stored{bytes.NewReader(data)}, b)
}

func TestVerified(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 300 << 10} {
		data := blobtest.Bytes(1, n)
		r := verified(data, blobtest.Of(data))
		wantOK(t, iotest.TestReader(r, data))
		_, err := r.Seek(0, io.SeekStart)
		wantOK(t, err)
		got, err := io.ReadAll(r)
		wantOK(t, err)
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes are read as others", n)
		}
	}
}

// A reader never gets all bytes of a damaged blob.
func TestVerifiedDamage(t *testing.T) {
	data := blobtest.Bytes(1, 300<<10)
	b := blobtest.Of(data)
	for _, at := range []int{0, 1000, len(data) - 1} {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1
		for _, piece := range []int{1, 1000, 32 << 10, len(data), len(data) + 1} {
			r := verified(damaged, b)
			_, err := r.Seek(0, io.SeekEnd) // as http.ServeContent does
			wantOK(t, err)
			_, err = r.Seek(0, io.SeekStart)
			wantOK(t, err)
			got, p := 0, make([]byte, piece)
			for err == nil {
				var n int
				n, err = r.Read(p)
				got += n
			}
			wantKind(t, err, blob.ErrDamaged, b.Hash)
			if got >= len(data) {
				t.Errorf("all %d bytes were read in pieces of %d, with byte %d damaged", got, piece, at)
			}
			for range 2 {
				if n, err := r.Read(p); n > 0 || !errors.Is(err, blob.ErrDamaged) {
					t.Errorf("Read goes on with %d bytes, %v", n, err)
				}
			}
		}
	}
}

// If a caller reads only the end of a blob, the hash is not checked. If a caller reads the
// beginning, seeks elsewhere and then continues where it stopped, the hash is checked.
func TestVerifiedParts(t *testing.T) {
	data := blobtest.Bytes(1, 1000)
	b := blobtest.Of(data)
	damaged := bytes.Clone(data)
	damaged[500] ^= 1
	r := verified(damaged, b)
	_, err := r.Seek(400, io.SeekStart)
	wantOK(t, err)
	part, err := io.ReadAll(r)
	wantOK(t, err)
	if !bytes.Equal(part, damaged[400:]) {
		t.Error("the part has other bytes")
	}
	_, err = r.Seek(0, io.SeekStart)
	wantOK(t, err)
	_, err = io.CopyN(io.Discard, r, 600)
	wantOK(t, err)
	_, err = r.Seek(0, io.SeekEnd)
	wantOK(t, err)
	_, err = r.Seek(600, io.SeekStart)
	wantOK(t, err)
	_, err = io.ReadAll(r)
	wantKind(t, err, blob.ErrDamaged, b.Hash)
}
