package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// Verify reads a blob to its end. It returns ErrDamaged if the bytes do not match the hash.
func Verify(ctx context.Context, s Store, b Blob) error {
	r, err := s.Open(ctx, b)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := copyHashed(ctx, io.Discard, r)
	if err == nil && got != b {
		err = errHash(b, got.Hash)
	}
	return err
}

// Verified returns a reader that reads the bytes of b from r and checks their hash. A caller that
// reads from the beginning to the end gets the last bytes only if the hash matches. If the hash
// does not match, the reader returns ErrDamaged instead of the last bytes. The hash is not checked
// if the caller starts reading at a later position.
func Verified(r io.ReadSeekCloser, b Blob) io.ReadSeekCloser {
	return &verifiedReader{ReadSeekCloser: r, blob: b, hash: sha256.New()}
}

type verifiedReader struct {
	io.ReadSeekCloser
	blob   Blob
	hash   hash.Hash
	hashed int64 // number of bytes hashed so far, counted from the beginning
	at     int64
	err    error // ErrDamaged after a read returned it
}

func (v *verifiedReader) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.ReadSeekCloser.Read(p)
	begin := v.at
	v.at += int64(n)
	if begin != v.hashed || n == 0 {
		return n, err
	}
	v.hash.Write(p[:n])
	v.hashed = v.at
	if v.hashed < v.blob.Size {
		return n, err
	}
	if got := hex.EncodeToString(v.hash.Sum(nil)); got != v.blob.Hash {
		v.err = errHash(v.blob, got)
		return 0, v.err
	}
	return n, err
}

// Seek resets the hash only when it seeks to the beginning. A caller can therefore seek to the
// end to get the size and return to an earlier position.
func (v *verifiedReader) Seek(offset int64, whence int) (int64, error) {
	at, err := v.ReadSeekCloser.Seek(offset, whence)
	if err != nil {
		return at, err
	}
	if v.at = at; at == 0 {
		v.hash.Reset()
		v.hashed = 0
	}
	return at, nil
}

// errHash returns an *Error of kind ErrDamaged for b. The stored bytes have the hash got instead of
// b.Hash.
func errHash(b Blob, got string) error {
	return newError(ErrDamaged, nil, "The content of %s has the hash %s; restore it from a backup, or upload it again.", b.Hash, got)
}
