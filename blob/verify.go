package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// Verify reads a blob to its end and returns ErrDamaged if the bytes have
// another hash.
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

// Verified returns a reader of the bytes of b that checks their hash; r must
// hold b. A caller that reads from the beginning to the end gets the last bytes
// only if the hash is right, and ErrDamaged in their place otherwise. Bytes
// that are read from another position on are not checked.
func Verified(r io.ReadSeekCloser, b Blob) io.ReadSeekCloser {
	return &verifiedReader{ReadSeekCloser: r, blob: b, hash: sha256.New()}
}

type verifiedReader struct {
	io.ReadSeekCloser
	blob   Blob
	hash   hash.Hash
	hashed int64 // number of bytes in hash, from the beginning on
	at     int64
	err    error // ErrDamaged, after it was returned
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

// Seek resets the hash at the beginning only, so that a caller may ask for the
// size, or come back to where it was.
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

// errHash returns an ErrDamaged for a blob whose bytes have another hash.
func errHash(b Blob, got string) error {
	return newError(ErrDamaged, nil, "The content of %s has the hash %s; restore it from a backup, or upload it again.", b.Hash, got)
}
