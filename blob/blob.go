// Package blob stores artifact bytes under their SHA-256 hash. Identical bytes are stored once.
// Package blob does not depend on the records that refer to blobs.
//
// To write a blob, the caller first calls Stage, which stores the bytes without a name. The caller
// then calls Commit, which renames the bytes to their hash. When Commit returns, the bytes are
// durable, and the caller writes the record that refers to the blob.
//
// To delete a blob, the caller removes the last record that refers to the blob. The caller then
// calls Delete. A crash can leave bytes without a record, but never a record without bytes.
// Walk and WalkStaged help the caller find bytes without a record.
//
// A Store does not serialize a concurrent Commit and Delete of the same blob. The call that
// finishes last takes effect. No backend keeps a whole artifact in memory.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Blob identifies bytes by hash and size.
type Blob struct {
	Hash string // SHA-256, 64 lowercase hexadecimal digits
	Size int64  // in bytes
}

// These are the kinds of errors. Each error from a backend is an *Error that wraps one of these
// kinds. Errors from a reader, a callback or a context are returned unchanged.
var (
	// ErrNotFound means that the blob does not exist or that the hash is malformed.
	ErrNotFound = errors.New("no such blob")
	// ErrFull means that the backend has no space for the bytes.
	ErrFull = errors.New("no space")
	// ErrUnavailable means that the backend is down or overloaded, or does not respond. The same
	// call might succeed later.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrRefused means that the backend works but rejects the request. The cause is the
	// credentials, the permissions, the bucket or a wrong clock. An administrator must correct it.
	ErrRefused = errors.New("refused by the backend")
	// ErrDamaged means that the stored bytes do not match the hash or the size of the blob.
	ErrDamaged = errors.New("damaged blob")
)

// Error describes an error of a backend or a blob.
type Error struct {
	Kind    error  // ErrNotFound, ErrFull, ErrUnavailable, ErrRefused or ErrDamaged
	Message string // states the problem and the remedy
	Err     error  // cause, with paths and addresses; can be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + " (" + e.Err.Error() + ")"
	}
	return e.Message
}

// Unwrap returns Kind and, if it is not nil, Err.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

func newError(kind, cause error, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: cause}
}

// errDiscarded is returned by Commit after Discard.
var errDiscarded = errors.New("the blob was discarded; stage it again")

// Store is a backend. Its methods are safe for concurrent use.
type Store interface {
	// Stage reads r to its end, and stores and hashes the bytes without giving them a name. The
	// caller must call Commit or Discard on the result. Stage checks ctx between two reads of
	// r.
	//
	// After an error, Stage removes the stored bytes. If an unavailable backend can't remove
	// the bytes, WalkStaged lists them.
	Stage(ctx context.Context, r io.Reader) (Staged, error)

	// Open returns a reader of the bytes of b. The caller must close the reader. Open returns
	// ErrNotFound if the bytes are missing, and ErrDamaged if their size is not b.Size.
	//
	// The reader returns io.EOF after exactly b.Size bytes. The reader returns an error if the
	// backend has fewer bytes. The reader does not check the hash; see Verified and Verify. After
	// ctx is done, reads return an error.
	Open(ctx context.Context, b Blob) (io.ReadSeekCloser, error)

	// Delete removes the blob with the given hash. Delete returns nil if the blob does not
	// exist or hash is malformed.
	Delete(ctx context.Context, hash string) error

	// Walk calls fn for each blob, in any order. Walk might or might not report a blob that is
	// added or deleted during the walk. If fn returns an error, Walk stops and returns that
	// error unchanged.
	Walk(ctx context.Context, fn func(Info) error) error

	// WalkStaged calls fn for staged bytes last written before olderThan. WalkStaged can't
	// distinguish a running upload from an interrupted upload. The time since olderThan must
	// therefore be longer than the longest pause in a running upload.
	WalkStaged(ctx context.Context, olderThan time.Time, fn func(StagedInfo) error) error

	// DeleteStaged removes the staged bytes that WalkStaged reported with the given name.
	// DeleteStaged returns nil if the bytes do not exist.
	DeleteStaged(ctx context.Context, name string) error

	// URI returns the location of the blob with the given hash. For a folder, the location is
	// relative to the root ("ab/abcd…"). For S3, it is "s3://bucket/prefix/ab/abcd…". For the
	// database, it is "". URI does not check that the blob exists.
	URI(hash string) string
}

// SpaceReporter is a Store that can report its free space. A Store that has no FreeSpace method
// returns ErrFull when it is full.
type SpaceReporter interface {
	// FreeSpace returns the size in bytes of the largest blob that can be stored now. FreeSpace
	// returns math.MaxInt64 if the system does not report the free space.
	FreeSpace() (int64, error)
}

// Staged holds bytes that have no name yet. Staged is not safe for concurrent use.
type Staged interface {
	// Blob returns the hash and size of the bytes.
	Blob() Blob

	// Commit renames the bytes to their hash and returns when they are durable under that name. If
	// the same blob exists, the store keeps one copy and renews its Modified time.
	//
	// After an error, the caller can call Commit again or call Discard. After a successful Commit,
	// a second Commit does nothing. Commit returns an error after Discard.
	Commit(ctx context.Context) error

	// Discard removes the bytes. After Commit, Discard does nothing, so the caller can defer
	// Discard.
	Discard() error
}

// Info describes a blob in a Store.
type Info struct {
	Blob
	Modified time.Time // time of the last Commit
}

// StagedInfo describes staged bytes that were neither committed nor discarded.
type StagedInfo struct {
	Name     string // argument of DeleteStaged; the form depends on the backend
	Size     int64  // in bytes; 0 if the backend does not report the size
	Modified time.Time
}
