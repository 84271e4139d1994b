package blob

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// attempts is the maximum number of times a request is sent.
const attempts = 4

// try calls do and repeats the call while the object store is unavailable and the timeout has not
// passed. If the object store hangs, try waits for only one timeout.
func (s *S3) try(ctx context.Context, do func(context.Context) error) error {
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := do(ctx)
		if err == nil {
			return nil
		}
		if gone := ctx.Err(); gone != nil {
			return gone
		}
		err = s.explain(err)
		if !errors.Is(err, ErrUnavailable) || attempt == attempts-1 || time.Since(begun) >= s.timeout {
			return err
		}
		s.wait(ctx, attempt)
	}
}

// requireETag returns err if it is not nil, and otherwise errNoETag if the response has no ETag. A
// response without an ETag comes from a proxy, not from the object store.
func requireETag(err error, etag string) error {
	if err == nil && etag == "" {
		return errNoETag
	}
	return err
}

var errNoETag = errors.New("no ETag in the response")

// wait pauses before the next attempt.
func (s *S3) wait(ctx context.Context, attempt int) {
	select {
	case <-ctx.Done():
	case <-time.After(s.pause << attempt):
	}
}

// explain wraps an error from the object store or the network in an *Error.
func (s *S3) explain(err error) error {
	var explained *Error
	if errors.As(err, &explained) {
		return err
	}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		return s.explainAnswer(err, answer)
	}
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		return newError(ErrRefused, err, "The certificate of the object store at %s is not trusted; correct SERVICE_S3_ENDPOINT or install the certificate authority that signed it.", s.endpoint)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return newError(ErrRefused, err, "The object store at %s does not speak HTTPS; start SERVICE_S3_ENDPOINT with http:// to use plain HTTP.", s.endpoint)
	}
	return newError(ErrUnavailable, err, "The object store at %s does not answer correctly; check that it is running and reachable, and try again.", s.endpoint)
}

// answerKinds maps S3 error codes to error kinds. The map holds only codes whose HTTP status is
// ambiguous.
var answerKinds = map[string]error{
	"NoSuchKey": ErrNotFound,

	"XMinioStorageFull": ErrFull, "XMinioAdminBucketQuotaExceeded": ErrFull, "QuotaExceeded": ErrFull,
	"InsufficientCapacity": ErrFull, "EntityTooLarge": ErrFull,

	"SlowDown": ErrUnavailable, "SlowDownRead": ErrUnavailable, "SlowDownWrite": ErrUnavailable,
	"RequestTimeout": ErrUnavailable, "InternalError": ErrUnavailable, "ServiceUnavailable": ErrUnavailable,
	"OperationAborted": ErrUnavailable, "Throttling": ErrUnavailable,
	// The object store did not receive the same bytes that were sent.
	"BadDigest": ErrUnavailable, "XAmzContentSHA256Mismatch": ErrUnavailable, "IncompleteBody": ErrUnavailable,
	"InvalidPart": ErrUnavailable, "NoSuchUpload": ErrUnavailable,
}

func (s *S3) explainAnswer(err error, answer minio.ErrorResponse) error {
	switch answer.Code {
	case "NoSuchBucket":
		return newError(ErrRefused, err, "There is no bucket %q at %s; create it, or correct SERVICE_S3_BUCKET.", s.bucket, s.endpoint)
	case "InvalidBucketName":
		return newError(ErrRefused, err, "%q is not a valid bucket name; correct SERVICE_S3_BUCKET.", s.bucket)
	case "RequestTimeTooSkewed":
		return newError(ErrRefused, err, "The clocks of this machine and of the object store at %s differ too much; synchronize both with a time server.", s.endpoint)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken":
		return newError(ErrRefused, err, "The object store at %s does not accept the credentials; correct SERVICE_S3_ACCESS_KEY and SERVICE_S3_SECRET_KEY.", s.endpoint)
	case "AuthorizationHeaderMalformed", "InvalidRegion", "PermanentRedirect", "TemporaryRedirect":
		return newError(ErrRefused, err, "The bucket %q is in another region; correct SERVICE_S3_REGION.", s.bucket)
	}
	kind, ok := answerKinds[answer.Code]
	if !ok {
		kind = statusKind(answer.StatusCode)
	}
	switch kind {
	case ErrNotFound:
		return newError(kind, err, "The object does not exist in the bucket %q; `tracker check` lists all missing objects.", s.bucket)
	case ErrFull:
		return newError(kind, err, "The object store at %s has no space left; free some space, or raise its quota.", s.endpoint)
	case ErrUnavailable:
		return newError(kind, err, "The object store at %s is temporarily unavailable; try again in a moment.", s.endpoint)
	}
	if answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized {
		return newError(ErrRefused, err, "The object store at %s denies access to the bucket %q; give the credentials the right to list it and to get, put and delete its objects.", s.endpoint, s.bucket)
	}
	return newError(ErrRefused, err, "The object store at %s rejected the request; check the settings that begin with SERVICE_S3.", s.endpoint)
}

// statusKind returns the error kind of a response with an unknown error code.
func statusKind(status int) error {
	switch {
	case status == http.StatusInsufficientStorage:
		return ErrFull
	case status < 300, status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests,
		status == 499: // 499: a proxy closed the request
		return ErrUnavailable
	}
	return ErrRefused
}
