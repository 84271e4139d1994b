// Package blob stores the bytes of artifacts, addressed by their SHA-256: the
// same bytes are stored once. It knows nothing of the records that need them.
//
// Writing: Stage reads the bytes and stores them without a name, Commit moves
// them to the name of their hash and returns when they are durable there; after
// that the caller writes its record. Deleting: the caller removes its last
// record, then calls Delete. So a crash leaves bytes without a record, which
// Walk and WalkStaged list, and never a record without bytes.
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

// Blob identifies bytes.
type Blob struct {
	Hash string // SHA-256, 64 lowercase hexadecimal digits
	Size int64  // in bytes
}

// Kinds of errors. An error of a backend is an *Error that wraps one of them.
// Errors of a reader, a callback or a context are returned unchanged.
var (
	// ErrNotFound means that there is no such blob, or that the hash is malformed.
	ErrNotFound = errors.New("no such blob")
	// ErrFull means that the backend has no space for the bytes.
	ErrFull = errors.New("no space")
	// ErrUnavailable means that the backend is down, overloaded or does not
	// answer; the same call may succeed later.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrRefused means that the backend works and refuses, because of credentials,
	// permissions, the bucket, or a clock; a person must act.
	ErrRefused = errors.New("refused by the backend")
	// ErrDamaged means that the bytes under a hash do not have that hash, or not
	// the size.
	ErrDamaged = errors.New("damaged blob")
)

// Error describes a failure of a backend or a blob.
type Error struct {
	Kind    error  // ErrNotFound, ErrFull and so on
	Message string // a sentence that says what is wrong and what to do
	Err     error  // the cause, with paths and addresses; nil if there is none
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
	// Stage reads r to its end and stores and hashes the bytes, without a name
	// yet. After an error nothing is left, except what a backend that is down
	// could not remove; WalkStaged lists that. The caller must call Commit or
	// Discard on the result. ctx is checked between two reads of r.
	Stage(ctx context.Context, r io.Reader) (Staged, error)

	// Open returns the bytes of b, which the caller closes. It returns ErrNotFound
	// if they are missing, and ErrDamaged if their size is not b.Size. The reader
	// returns io.EOF after exactly b.Size bytes, and an error if the backend has
	// fewer. It does not check the hash; see Verified and Verify. Reads fail once
	// ctx is done.
	Open(ctx context.Context, b Blob) (io.ReadSeekCloser, error)

	// Delete removes the bytes of a hash. It returns nil if they are gone
	// already, or if hash is malformed.
	Delete(ctx context.Context, hash string) error

	// Walk calls fn for each blob, in any order. It may or may not report a blob
	// that is added or deleted meanwhile. An error of fn ends the walk and is
	// returned unchanged.
	Walk(ctx context.Context, fn func(Info) error) error

	// WalkStaged calls fn for staged bytes last written before olderThan. It
	// can't tell those of a running upload from those of an interrupted one, so
	// olderThan must be longer ago than any upload may pause.
	WalkStaged(ctx context.Context, olderThan time.Time, fn func(StagedInfo) error) error

	// DeleteStaged removes what WalkStaged reported under name. It returns nil
	// if that is gone already.
	DeleteStaged(ctx context.Context, name string) error

	// URI returns where the bytes of a hash are stored: relative to the root for
	// a folder ("ab/abcd…"), "s3://bucket/prefix/ab/abcd…" for S3, "" for the
	// database. It does not check whether they are there.
	URI(hash string) string
}

// SpaceReporter is a Store that knows its free space. Others return ErrFull
// when they are full.
type SpaceReporter interface {
	// FreeSpace returns the size in bytes of the largest blob that fits now;
	// math.MaxInt64 if the system does not say.
	FreeSpace() (int64, error)
}

// Staged is bytes that have no name yet. It is not safe for concurrent use.
type Staged interface {
	// Blob returns the hash and the size of the bytes.
	Blob() Blob

	// Commit moves the bytes to the name of their hash and returns when they are
	// durable there. If the same blob exists, there is one afterwards, with
	// Modified renewed. After an error, Commit may be called again, or Discard.
	// A second Commit does nothing; a Commit after Discard fails.
	Commit(ctx context.Context) error

	// Discard removes the bytes. After Commit it does nothing, so it may be
	// deferred.
	Discard() error
}

// Info describes a blob in a Store.
type Info struct {
	Blob
	Modified time.Time // of the last Commit
}

// StagedInfo describes staged bytes that were neither committed nor discarded.
type StagedInfo struct {
	Name     string // for DeleteStaged; its form depends on the backend
	Size     int64  // in bytes, as far as the backend knows
	Modified time.Time
}
