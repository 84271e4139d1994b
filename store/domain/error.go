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

// Code is the stable name of a kind of failure. The codes are part of the API: a code may
// be added, but not renamed. The codes of a protocol are in the package that implements it.
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

// Error is the error type of the service.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`        // a sentence with the problem and its solution
	Field   string `json:"field,omitzero"` // the invalid field, or ""
	Entity  Entity `json:"-"`              // the kind of record that NotFound names, or ""
	Err     error  `json:"-"`              // the cause, for the log only
	// RetryAfter is the time that the caller should wait before it tries again, or 0 if
	// it is unknown.
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

// Errorf returns an Error without a field.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an INVALID_PAYLOAD error for a field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidPayload, Field: field, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an *Error. It returns the *Error in err if there is one, and nil if
// err is nil. Invalid input becomes INVALID_PAYLOAD or CONFLICT, and a problem of a database
// file the code in fileCodes. A full disk becomes STORAGE_FULL. A database that is locked or
// accepts no writes, and a context that is done, become UNAVAILABLE. Any other error becomes
// SERVER_ERROR with err as its cause.
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
			Message: "Another server has taken over the database, so this one no longer accepts writes; stop this one. Nothing was changed."}
	case errors.Is(err, sqlite.ErrMoved):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The database file was moved, deleted or replaced while the server was running; put it back, or restart the server. Nothing was changed."}
	case errors.Is(err, sqlite.ErrOverwritten):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "Another program overwrote the database file while the server was running, so the server no longer accepts writes; an administrator must stop it and restore a backup. Nothing was changed."}
	case sqlite.IsFull(err):
		return &Error{Code: CodeStorageFull, Err: err,
			Message: "The disk is full or can't be written to; free some space, for example by emptying the trash, and try again. Nothing was changed."}
	case sqlite.IsBusy(err):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "Another process has locked the database; try again in a moment."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The request was canceled before it was completed."}
	}
	return &Error{Code: CodeServerError, Err: err,
		Message: "Something went wrong in the server; its log has details under the request id."}
}

// fileCodes holds the codes of the problems of database files that are not failures of
// the server.
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

// Entity is the name of a kind of record in messages.
type Entity string

// The entities that have other names in the REST API. Messages about them need no noun,
// except for NOT_FOUND.
const (
	Run      Entity = "run"
	Artifact Entity = "artifact"
)

// NotFound returns a NOT_FOUND error for a kind of record.
func NotFound(what Entity) *Error {
	return &Error{Code: CodeNotFound, Entity: what, Message: "There is no such " + string(what) + "."}
}

// OrNotFound returns NOT_FOUND if err is sql.ErrNoRows, and otherwise err.
func OrNotFound(err error, what Entity) error {
	if errors.Is(err, sql.ErrNoRows) {
		return NotFound(what)
	}
	return err
}

// Refused returns INVALID_PAYLOAD if err is a *filter.Error, and otherwise err.
func Refused(err error) error {
	var e *filter.Error
	if errors.As(err, &e) {
		return Invalid(e.Part, "%s", e.Error())
	}
	return err
}

// ChangedOne returns NOT_FOUND if a statement has changed no row, and otherwise err. n and
// err are the results of the statement.
func ChangedOne(n int64, err error, what Entity) error {
	if err == nil && n == 0 {
		return NotFound(what)
	}
	return err
}
