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

// isHash tells whether s can be the name of a content.
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

// place is where the content of a hash lies below a root or prefix: spread over
// 256 folders, since some file systems and all people are slow with large ones.
func place(hash string) string { return hash[:2] + "/" + hash }

// hashAt is the hash whose place is name.
func hashAt(name string) (hash string, ok bool) {
	if len(name) < 3 {
		return "", false
	}
	hash = name[3:]
	return hash, isHash(hash) && place(hash) == name
}

// stagingDir is the folder, below the root or prefix, of what has no name yet.
const stagingDir = "staging"

// stagingName is a new name in stagingDir.
func stagingName() string { return stagingDir + "/" + uuid.NewString() }

// isStaged tells whether stagingName can have made name. What others keep in a
// folder of that name is none of ours.
func isStaged(name string) bool {
	base, ok := strings.CutPrefix(name, stagingDir+"/")
	return ok && len(base) == len(uuid.Nil.String()) && uuid.Validate(base) == nil
}

// errNotFound is ErrNotFound with a sentence.
func errNotFound(hash string) error {
	return problem(ErrNotFound, nil, "There are no bytes under the hash %.70q; `tracker check` finds all that are missing.", hash)
}

// errSize is ErrDamaged for a content that has size bytes and not b.Size.
func errSize(b Blob, size int64) error {
	return problem(ErrDamaged, nil, "The content %s has %d bytes instead of %d; restore it from a backup, or upload it again.", b.Hash, size, b.Size)
}

// Verify reads a content to its end and compares its hash: ErrDamaged when it
// is another one.
func Verify(ctx context.Context, s Store, b Blob) error {
	r, err := s.Open(ctx, b)
	if err != nil {
		return err
	}
	defer r.Close()
	found, err := copyHashed(ctx, io.Discard, r)
	if err != nil {
		return err
	}
	if found != b {
		return problem(ErrDamaged, nil, "The bytes under %s have the hash %s; restore them from a backup, or upload them again.", b.Hash, found.Hash)
	}
	return nil
}

const pieceSize = 256 << 10

// pieces are what copyHashed works with.
var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// copyHashed copies r to w until its end, and hashes it on the way. Hashing in
// a goroutine of its own was not faster: syncing takes longer than either.
func copyHashed(ctx context.Context, w io.Writer, r io.Reader) (Blob, error) {
	piece := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(piece)
	h := sha256.New()
	var size int64
	for last := false; !last; {
		n, err := Fill(ctx, r, piece[:])
		if last = err == io.EOF; err != nil && !last {
			return Blob{}, err
		}
		h.Write(piece[:n])
		if _, err := w.Write(piece[:n]); err != nil {
			return Blob{}, err
		}
		size += int64(n)
	}
	return Blob{Hash: hex.EncodeToString(h.Sum(nil)), Size: size}, nil
}

// Fill reads until p is full, for the Stage of a Store. Unlike io.ReadFull it
// returns what r returns, so that a body that was cut short is not taken for one
// that has ended; and the error of ctx when that has ended before a read.
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
