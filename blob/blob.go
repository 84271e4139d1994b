// Package blob keeps the bytes of artifacts, addressed by their SHA-256, so
// that the same content is stored once however often it is uploaded. It knows
// nothing of who they belong to: the records do, and they come after the bytes.
//
// How a content comes: Stage reads it to its end and keeps it aside, Commit
// puts it under its name and returns when it is durable there, and only then
// the caller writes a record of it. A crash on the way leaves bytes without a
// record (staged ones that Leftovers lists, or contents that Walk lists), never
// a record without bytes.
//
// How it goes: the caller removes the last record of it, then calls Delete. A
// crash in between leaves bytes without a record again, which a comparison of
// Walk with the records finds. Commit and Delete of one content at the same
// time are not kept apart here; what was called last holds. Commit renews
// Modified of a content that was there already, so a collector that spares what
// is young does not take it from under an upload.
//
// Nothing in this package holds a whole artifact in memory.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Blob is one content.
type Blob struct {
	Hash string // SHA-256, 64 lowercase hexadecimal digits
	Size int64  // in bytes
}

// The kinds of failure. What a Store says of its backend is an *Error that wraps
// one of them. What a reader that was passed in, a function or a context says is
// passed on as it is.
var (
	// ErrNotFound: there is no such content, or the hash is not one.
	ErrNotFound = errors.New("no such content")
	// ErrFull: the backend has no room for the bytes.
	ErrFull = errors.New("no room")
	// ErrUnavailable: the backend is down, overloaded or does not answer; the
	// same call may succeed later.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrRefused: the backend works and says no, because of credentials,
	// permissions, the bucket, or a clock; it needs a person.
	ErrRefused = errors.New("refused by the backend")
	// ErrDamaged: what lies under a hash is not the content of that hash.
	ErrDamaged = errors.New("damaged content")
)

// Error says what is wrong with a backend or a content.
type Error struct {
	Kind    error  // ErrNotFound and so on
	Message string // a sentence that says what is wrong and what to do
	Err     error  // the cause, with paths and addresses in it; nil where there is none
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

func problem(kind, cause error, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: cause}
}

// errDiscarded is what Commit says after Discard.
var errDiscarded = errors.New("the content was discarded; stage it again")

// Store is a place for contents. Its methods may be called at the same time.
type Store interface {
	// Stage reads r to its end and keeps the bytes aside, hashed, under no name
	// yet. On any error nothing is left, except what a backend that has gone
	// away won't let go of: Leftovers lists that. The caller must Commit or
	// Discard what it is given. ctx is looked at between two reads of r; a
	// blocked read is the reader's to end.
	Stage(ctx context.Context, r io.Reader) (Staged, error)

	// Open returns the bytes of b, to be closed by the caller; ErrNotFound when
	// they are not there, ErrDamaged when there are more or fewer than b.Size.
	// The reader ends with io.EOF after exactly b.Size bytes; when the backend
	// gives fewer, the read is an error. It does not check the hash: Verify
	// does. The reads end with an error when ctx does.
	Open(ctx context.Context, b Blob) (io.ReadSeekCloser, error)

	// Delete removes the bytes of a hash. It is no error when they are gone
	// already, or when hash is not one.
	Delete(ctx context.Context, hash string) error

	// Walk calls fn for each content there is, in any order. A content that
	// comes or goes meanwhile may or may not be among them. An error of fn ends
	// the walk and is returned as it is.
	Walk(ctx context.Context, fn func(Found) error) error

	// Leftovers calls fn for staged bytes that were last written to before
	// olderThan. Those of an upload that is still going on look the same, so
	// olderThan must be longer ago than any upload may pause.
	Leftovers(ctx context.Context, olderThan time.Time, fn func(Leftover) error) error

	// Remove removes what Leftovers has listed. It is no error when it is gone.
	Remove(ctx context.Context, l Leftover) error

	// URI says where the bytes of a hash lie: relative to the root for a
	// folder ("ab/abcd…"), "s3://bucket/prefix/ab/abcd…" for S3, "" inside of
	// the database. It does not look whether they are there.
	URI(hash string) string
}

// Roomy is a Store that knows how much can still be stored. Others tell when
// they are full.
type Roomy interface {
	// Room is the most bytes that a content can have now.
	Room() (int64, error)
}

// Staged is a content that has no name yet. It is not for use by several
// goroutines at once.
type Staged interface {
	// Blob is what was read.
	Blob() Blob

	// Commit puts the bytes under their name and returns when they are durable
	// there. Where the same content is there already, it ends up there once,
	// with Modified renewed. After an error the content may be called Commit
	// again or Discard. A second Commit does nothing; one after Discard is an
	// error.
	Commit(ctx context.Context) error

	// Discard removes the bytes that were kept aside. After Commit it does
	// nothing, so it may be deferred.
	Discard() error
}

// Found is a content that Walk found.
type Found struct {
	Blob
	Modified time.Time // when it was last committed
}

// Leftover is what a Stage that nobody finished has left behind.
type Leftover struct {
	Name     string // what the backend calls it; means something to Remove only
	Size     int64  // in bytes, as far as the backend knows
	Modified time.Time
}
