package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// isHash reports whether s has the form of a blob hash: 64 lowercase hexadecimal digits.
func isHash(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// keyOf returns the key of a blob below the root or prefix. Keys spread blobs over 256 folders,
// because large folders are slow on some file systems.
func keyOf(hash string) string { return hash[:2] + "/" + hash }

// hashFromKey returns the hash of the blob with the given key. The result ok reports whether
// key is a valid blob key.
func hashFromKey(key string) (hash string, ok bool) {
	if len(key) < 3 {
		return "", false
	}
	hash = key[3:]
	return hash, isHash(hash) && keyOf(hash) == key
}

// stagingDir is the folder of staged bytes below the root or prefix.
const stagingDir = "staging"

// stagingKey returns a new key in stagingDir.
func stagingKey() string { return stagingDir + "/" + uuid.NewString() }

// isStagingKey reports whether key has the form of stagingKey. A file in stagingDir with
// another name was not created by this package.
func isStagingKey(key string) bool {
	base, ok := strings.CutPrefix(key, stagingDir+"/")
	return ok && len(base) == len(uuid.Nil.String()) && uuid.Validate(base) == nil
}

// errNotFound returns an *Error of kind ErrNotFound for the given hash.
func errNotFound(hash string) error {
	return newError(ErrNotFound, nil, "The content with the hash %.70q is missing; `tracker check` lists all missing content.", hash)
}

// errSize returns an *Error of kind ErrDamaged for a blob that has size bytes instead of
// b.Size.
func errSize(b Blob, size int64) error {
	return newError(ErrDamaged, nil, "The blob %s has %d bytes instead of %d; restore it from a backup, or upload it again.", b.Hash, size, b.Size)
}

const bufferSize = 256 << 10

// buffers holds reusable buffers for copyHashed.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// copyHashed copies r to w and hashes the bytes. Hashing in a separate goroutine was not
// faster, because syncing the file takes longer than copying or hashing.
func copyHashed(ctx context.Context, w io.Writer, r io.Reader) (Blob, error) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	var size int64
	for last := false; !last; {
		n, err := Fill(ctx, r, buf[:])
		if last = err == io.EOF; err != nil && !last {
			return Blob{}, err
		}
		h.Write(buf[:n])
		if _, err := w.Write(buf[:n]); err != nil {
			return Blob{}, err
		}
		size += int64(n)
	}
	return Blob{Hash: hex.EncodeToString(h.Sum(nil)), Size: size}, nil
}

// Fill reads from r until p is full. Backends call Fill in Stage. Unlike io.ReadFull, Fill returns
// an error from r unchanged. A caller can therefore distinguish the end of r from
// io.ErrUnexpectedEOF, which means a truncated body. Fill checks ctx before each read.
func Fill(ctx context.Context, r io.Reader, p []byte) (n int, err error) {
	for empty := 0; n < len(p) && err == nil; {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		var m int
		m, err = r.Read(p[n:])
		n += m
		if m > 0 {
			empty = 0
		} else if empty++; empty > 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}
