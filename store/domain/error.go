package domain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/record"
	"tracker/store/sqlite"
)

// Code is the stable name of a kind of failure. The set is part of the API's
// contract: a code may be added, never renamed. Those of a protocol are in the
// package that implements it.
type Code string

// The codes of the domain.
const (
	CodeActorGone                 Code = "ACTOR_GONE" // the acting user's account does not exist any more
	CodeConflict                  Code = "CONFLICT"
	CodeInvalidPayload            Code = "INVALID_PAYLOAD"
	CodeIterationEnded            Code = "ITERATION_ENDED"
	CodeExperimentNotInProgress   Code = "EXPERIMENT_NOT_IN_PROGRESS"
	CodeServerError               Code = "SERVER_ERROR"
	CodeInvalidCredentials        Code = "INVALID_CREDENTIALS"
	CodeAdminRequired             Code = "ADMIN_REQUIRED"
	CodeSameUserRequired          Code = "SAME_USER_REQUIRED"
	CodeProjectPermissionRequired Code = "PROJECT_PERMISSION_REQUIRED"
	CodeDefaultUserProtected      Code = "DEFAULT_USER_PROTECTED"
	CodeNotFound                  Code = "NOT_FOUND"
	CodePayloadTooLarge           Code = "PAYLOAD_TOO_LARGE"
	CodeUnavailable               Code = "UNAVAILABLE"
	CodeStorageFull               Code = "STORAGE_FULL"
)

// Error is the one error type of the service.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`        // a sentence that says what is wrong and what to do
	Field   string `json:"field,omitzero"` // the offending field, "" where there is none
	Err     error  `json:"-"`              // the cause, for the log only
	// RetryAfter is how long the caller should wait before it tries again, 0 when
	// that is not known.
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + " (" + e.Err.Error() + ")"
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error without a field.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes an INVALID_PAYLOAD error about one field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidPayload, Field: field, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an *Error. Any other error becomes SERVER_ERROR
// with err as its cause, except for SQLite's errors about a full disk (STORAGE_FULL)
// or a lock (UNAVAILABLE) and for a caller that has gone (UNAVAILABLE). It
// returns nil for nil.
func AsError(err error) *Error {
	var e *Error
	var refused *points.InvalidError
	var file *sqlite.FileError
	var large *record.SizeError
	var conflict *record.ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.As(err, &refused):
		return Invalid(refused.Field, "%s", refused.Message)
	case errors.As(err, &large):
		return Invalid("archive", "%s", large.Error())
	case errors.As(err, &conflict):
		return Errorf(CodeConflict, "%s", conflict.Message)
	case errors.As(err, &file) && fileCodes[file.Problem] != "":
		return &Error{Code: fileCodes[file.Problem], Message: file.Error()}
	case errors.Is(err, sqlite.ErrClosed):
		return &Error{Code: CodeUnavailable, Err: err, Message: "The server is shutting down; try again when it is back."}
	case errors.Is(err, sqlite.ErrTaken):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "Another server has taken over the database, so this one takes no more writes; stop this one. Nothing was changed."}
	case errors.Is(err, sqlite.ErrMoved):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The database file was moved, deleted or replaced while the server ran; put it back, or restart the server. Nothing was changed."}
	case errors.Is(err, sqlite.ErrOverwritten):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "Another program has written over the database file while the server ran, so the server takes no more writes; an administrator must stop it and restore a backup. Nothing was changed."}
	case sqlite.IsFull(err):
		return &Error{Code: CodeStorageFull, Err: err,
			Message: "The disk is full or can't be written to; free some room, for example by emptying the trash, and try again. Nothing was changed."}
	case sqlite.IsBusy(err):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "Another process holds the database; try again in a moment."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The request was given up before it was carried out."}
	}
	return &Error{Code: CodeServerError, Err: err,
		Message: "Something went wrong in the server; its log says more under the request id."}
}

// fileCodes holds the problems of database files that are not failures of the
// server.
var fileCodes = map[sqlite.Problem]Code{
	sqlite.Served:      CodeUnavailable,
	sqlite.Foreign:     CodeConflict,
	sqlite.BadVersion:  CodeConflict,
	sqlite.Newer:       CodeConflict,
	sqlite.InUse:       CodeConflict,
	sqlite.Exists:      CodeConflict,
	sqlite.NotForced:   CodeConflict,
	sqlite.Linked:      CodeConflict,
	sqlite.Overwritten: CodeConflict,
	sqlite.Missing:     CodeNotFound,
	sqlite.Empty:       CodeInvalidPayload,
}

// NotFound returns NOT_FOUND for a kind of record.
func NotFound(what string) *Error {
	return Errorf(CodeNotFound, "There is no such %s.", what)
}

// OrNotFound turns "no rows" into NOT_FOUND.
func OrNotFound(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return NotFound(what)
	}
	return err
}

// Refused returns a mistake in a search as INVALID_PAYLOAD.
func Refused(err error) error {
	var e *filter.Error
	if errors.As(err, &e) {
		return Invalid(e.Part, "%s", e.Error())
	}
	return err
}

// ChangedOne turns a statement that found no row into NOT_FOUND.
func ChangedOne(n int64, err error, what string) error {
	if err == nil && n == 0 {
		return NotFound(what)
	}
	return err
}
