package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Code is the stable name of a kind of failure. The set is part of the API's
// contract: a code may be added, never renamed.
type Code string

// The codes that callers see.
const (
	CodeConflict                  Code = "CONFLICT"
	CodeInvalidPayload            Code = "INVALID_PAYLOAD"
	CodeIterationEnded            Code = "ITERATION_ENDED"
	CodeExperimentNotInProgress   Code = "EXPERIMENT_NOT_IN_PROGRESS"
	CodeServerError               Code = "SERVER_ERROR"
	CodeMalformedBody             Code = "MALFORMED_BODY"
	CodeTokenMissing              Code = "TOKEN_MISSING"
	CodeTokenInvalid              Code = "TOKEN_INVALID"
	CodeTokenExpired              Code = "TOKEN_EXPIRED"
	CodeInvalidCredentials        Code = "INVALID_CREDENTIALS"
	CodeAdminRequired             Code = "ADMIN_REQUIRED"
	CodeSameUserRequired          Code = "SAME_USER_REQUIRED"
	CodeProjectPermissionRequired Code = "PROJECT_PERMISSION_REQUIRED"
	CodeDefaultUserProtected      Code = "DEFAULT_USER_PROTECTED"
	CodeCrossOrigin               Code = "CROSS_ORIGIN"
	CodeNotFound                  Code = "NOT_FOUND"
	CodeMethodNotAllowed          Code = "METHOD_NOT_ALLOWED"
	CodePayloadTooLarge           Code = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMediaType      Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeRateLimited               Code = "RATE_LIMITED"
	CodeUnavailable               Code = "UNAVAILABLE"
	CodeStorageFull               Code = "STORAGE_FULL"
	CodeUnsupportedVersion        Code = "UNSUPPORTED_VERSION"
	CodeRangeNotSatisfiable       Code = "RANGE_NOT_SATISFIABLE"
	CodeChecksumMismatch          Code = "CHECKSUM_MISMATCH"
)

// Error is the one error type of the service.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`        // a sentence that says what is wrong and what to do
	Field   string `json:"field,omitzero"` // the offending field, "" where there is none
	Err     error  `json:"-"`              // the cause, for the log only
	// RetryAfter is how long a RATE_LIMITED caller should wait.
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

// AsError returns err as an *Error. What is not one becomes SERVER_ERROR with
// err as its cause, except for what SQLite says about room and locks
// (STORAGE_FULL, UNAVAILABLE) and for a caller that has gone (UNAVAILABLE).
// It returns nil for nil.
func AsError(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case isFull(err):
		return &Error{Code: CodeStorageFull, Err: err,
			Message: "The disk is full or can't be written to; free some room and try again. Nothing was changed."}
	case isBusy(err):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "Another process holds the database; try again in a moment."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The request was given up before it was carried out."}
	}
	return &Error{Code: CodeServerError, Err: err,
		Message: "Something went wrong in the server; its log says more under the request id."}
}

func notFound(what string) *Error {
	return Errorf(CodeNotFound, "There is no such %s.", what)
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return sqlite3.SQLITE_OK
}

// isDuplicate tells a broken UNIQUE or PRIMARY KEY constraint.
func isDuplicate(err error) bool {
	c := sqliteCode(err)
	return c == sqlite3.SQLITE_CONSTRAINT_UNIQUE || c == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// isFull tells that the file could not grow: no room left, a quota or a file
// size limit.
func isFull(err error) bool {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return true
		}
	}
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_TRUNCATE,
		sqlite3.SQLITE_IOERR_SHMSIZE:
		return true
	}
	return false
}

func isBusy(err error) bool {
	c := sqliteCode(err) & 0xff
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// isReadOnly tells that the file or its folder can't be written to.
func isReadOnly(err error) bool {
	c := sqliteCode(err) & 0xff
	return c == sqlite3.SQLITE_READONLY || c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_PERM
}

// isDamaged tells that the file is not, or no longer, a sound database.
func isDamaged(err error) bool {
	c := sqliteCode(err) & 0xff
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
}

// orNotFound turns "no rows" into NOT_FOUND.
func orNotFound(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return notFound(what)
	}
	return err
}
