// Package blob stores the bytes of artifacts, addressed by their SHA-256: the
// same bytes are stored once. It does not depend on the records that refer to
// them.
//
// Writing: Stage reads the bytes and stores them without a name, Commit moves
// them to the name of their hash and returns when they are durable there; after
// that the caller writes its record. Deleting: the caller removes its last
// record, then calls Delete. A crash may leave bytes without a record, which
// Walk and WalkStaged list, but never a record without bytes.
//
// A Store does not order a Commit and a Delete of the same blob that run at the
// same time: the one that ends last takes effect. No backend keeps a whole
// artifact in memory.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Blob identifies bytes by their hash and size.
type Blob struct {
	Hash string // SHA-256, 64 lowercase hexadecimal digits
	Size int64  // in bytes
}

// Kinds of errors. An error of a backend is an *Error that wraps one of them.
// Errors of a reader, a callback or a context are returned unchanged.
var (
	// ErrNotFound means that the blob does not exist, or that the hash is
	// malformed.
	ErrNotFound = errors.New("no such blob")
	// ErrFull means that the backend has no space for the bytes.
	ErrFull = errors.New("no space")
	// ErrUnavailable means that the backend is down, overloaded or does not
	// answer; the same call may succeed later.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrRefused means that the backend works but rejects the request, because
	// of credentials, permissions, the bucket or a clock. A person must act.
	ErrRefused = errors.New("refused by the backend")
	// ErrDamaged means that the bytes stored under a hash have another hash or
	// size.
	ErrDamaged = errors.New("damaged blob")
)

// Error describes a failure of a backend or a blob.
type Error struct {
	Kind    error  // ErrNotFound, ErrFull and so on
	Message string // a sentence with the problem and the remedy
	Err     error  // the cause, with paths and addresses; may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + " (" + e.Err.Error() + ")"
	}
	return e.Message
}

// Unwrap returns the kind and the cause.
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
	// Stage reads r to its end, and stores and hashes the bytes without giving
	// them a name. After an error nothing is left, except bytes that an
	// unavailable backend could not remove; WalkStaged lists these. The caller
	// must call Commit or Discard on the result. ctx is checked between two
	// reads of r.
	Stage(ctx context.Context, r io.Reader) (Staged, error)

	// Open returns a reader of the bytes of b, which the caller must close. It
	// returns ErrNotFound if they are missing, and ErrDamaged if their size is
	// not b.Size. The reader returns io.EOF after exactly b.Size bytes, and an
	// error if the backend has fewer. It does not check the hash; see Verified
	// and Verify. Reads fail once ctx is done.
	Open(ctx context.Context, b Blob) (io.ReadSeekCloser, error)

	// Delete removes the bytes of a hash. It returns nil if they do not exist,
	// or if hash is malformed.
	Delete(ctx context.Context, hash string) error

	// Walk calls fn for each blob, in any order. A blob that is added or
	// deleted during the walk may or may not be included. If fn returns an
	// error, Walk stops and returns it unchanged.
	Walk(ctx context.Context, fn func(Info) error) error

	// WalkStaged calls fn for staged bytes last written before olderThan. It
	// can't distinguish a running upload from an interrupted one, so olderThan
	// must be longer ago than any upload may pause.
	WalkStaged(ctx context.Context, olderThan time.Time, fn func(StagedInfo) error) error

	// DeleteStaged removes the staged bytes that WalkStaged reported under
	// name. It returns nil if they do not exist.
	DeleteStaged(ctx context.Context, name string) error

	// URI returns the location of the bytes of a hash: relative to the root for
	// a folder ("ab/abcd…"), "s3://bucket/prefix/ab/abcd…" for S3, "" for the
	// database. It does not check that they exist.
	URI(hash string) string
}

// SpaceReporter is a Store that can report its free space. Other stores return
// ErrFull when they are full.
type SpaceReporter interface {
	// FreeSpace returns the size in bytes of the largest blob that fits now, or
	// math.MaxInt64 if the system does not report it.
	FreeSpace() (int64, error)
}

// Staged holds bytes that have no name yet. It is not safe for concurrent use.
type Staged interface {
	// Blob returns the hash and the size of the bytes.
	Blob() Blob

	// Commit moves the bytes to the name of their hash and returns when they
	// are durable there. If the same blob exists, one copy is kept and its
	// Modified time is renewed. After an error, the caller may call Commit
	// again, or Discard. A second Commit does nothing; Commit after Discard
	// returns an error.
	Commit(ctx context.Context) error

	// Discard removes the bytes. After Commit it does nothing, so it may be
	// deferred.
	Discard() error
}

// Info describes a blob in a Store.
type Info struct {
	Blob
	Modified time.Time // time of the last Commit
}

// StagedInfo describes staged bytes that were neither committed nor discarded.
type StagedInfo struct {
	Name     string // argument of DeleteStaged; its form depends on the backend
	Size     int64  // in bytes; 0 if the backend does not report it
	Modified time.Time
}
