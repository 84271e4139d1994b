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

// Code is the stable name of an error kind. Codes are part of the API: a release can add codes,
// but must not rename them. A package that implements a protocol defines the protocol's
// additional codes.
type Code string

// Error codes that the store returns.
const (
	CodeActorGone                 Code = "ACTOR_GONE" // the actor's account no longer exists
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

// Error is the error that the store returns for a failure with a Code.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`        // sentence that describes the problem and a solution
	Field   string `json:"field,omitzero"` // name of the invalid field, or ""
	Entity  Entity `json:"-"`              // kind of record that was not found, or ""
	Err     error  `json:"-"`              // cause, for the log only
	// RetryAfter is how long the caller should wait before a retry; 0 if unknown.
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + " (" + e.Err.Error() + ")"
	}
	return e.Message
}

// Unwrap returns the cause of e.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error that concerns no field.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an INVALID_PAYLOAD error for the given field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidPayload, Field: field, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an *Error. It returns nil if err is nil. If err wraps an *Error, AsError
// returns the wrapped error. For any other error, it returns an *Error with one of these codes:
//
//	INVALID_PAYLOAD or CONFLICT  for invalid input
//	a code in fileCodes          for a problem of a database file
//	STORAGE_FULL                 for a full disk
//	UNAVAILABLE                  for a database that is locked, closed or read-only
//	UNAVAILABLE                  for a context that is done
//	SERVER_ERROR                 for any other error; err is the cause
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

// fileCodes maps problems with database files to error codes. A problem that is not in the map is
// a failure of the server.
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

// Entity is the name of a record kind in messages.
type Entity string

// These kinds have different names in the REST API, which replaces the names in NOT_FOUND errors.
// Other error messages do not name these kinds.
const (
	Run      Entity = "run"
	Artifact Entity = "artifact"
)

// NotFound returns a NOT_FOUND error for the given kind of record.
func NotFound(what Entity) *Error {
	return &Error{Code: CodeNotFound, Entity: what, Message: "There is no such " + string(what) + "."}
}

// OrNotFound returns NOT_FOUND if err is sql.ErrNoRows. It returns any other err unchanged.
func OrNotFound(err error, what Entity) error {
	if errors.Is(err, sql.ErrNoRows) {
		return NotFound(what)
	}
	return err
}

// Refused returns INVALID_PAYLOAD if err is a *filter.Error. It returns any other err
// unchanged.
func Refused(err error) error {
	var e *filter.Error
	if errors.As(err, &e) {
		return Invalid(e.Part, "%s", e.Error())
	}
	return err
}

// ChangedOne checks the results n and err of an SQL statement. It returns err if err is not
// nil. It returns NOT_FOUND if the statement changed no row.
func ChangedOne(n int64, err error, what Entity) error {
	if err == nil && n == 0 {
		return NotFound(what)
	}
	return err
}
