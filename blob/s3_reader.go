package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// objectReader reads an object whose size is known. When the connection breaks, objectReader
// requests the remaining bytes.
type objectReader struct {
	ctx    context.Context
	store  *S3
	blob   Blob
	offset int64
	body   io.ReadCloser // bytes from offset to the end; nil before they are requested
	closed bool
}

func (r *objectReader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, fs.ErrClosed
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.offset >= r.blob.Size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p = p[:min(int64(len(p)), r.blob.Size-r.offset)]
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		if err := r.open(); err != nil {
			return 0, err
		}
		n, err := r.body.Read(p)
		r.offset += int64(n)
		if n > 0 || err == nil {
			return n, nil // if n > 0, the next read returns the error
		}
		r.drop()
		if gone := r.ctx.Err(); gone != nil {
			return 0, gone
		}
		if attempt == attempts-1 || time.Since(begun) >= r.store.timeout {
			return 0, newError(ErrUnavailable, err, "The object store at %s truncates its responses; try again in a moment.", r.store.endpoint)
		}
		r.store.wait(r.ctx, attempt)
	}
}

// open requests the bytes from offset to the end if they have not been requested yet.
func (r *objectReader) open() error {
	if r.body != nil {
		return nil
	}
	s := r.store
	return s.try(r.ctx, func(ctx context.Context) error {
		var o minio.GetObjectOptions
		o.Set("Range", fmt.Sprintf("bytes=%d-", r.offset))
		body, info, header, err := s.core.GetObject(ctx, s.bucket, s.prefix+keyOf(r.blob.Hash), o)
		if err != nil {
			return err
		}
		if info.ETag == "" {
			return errors.Join(errNoETag, body.Close())
		}
		want := fmt.Sprintf("bytes %d-%d/%d", r.offset, r.blob.Size-1, r.blob.Size)
		if got := header.Get("Content-Range"); strings.TrimSpace(got) != want || info.Size != r.blob.Size-r.offset {
			return errors.Join(newError(ErrDamaged, nil, "The object store at %s returned the range %q of the blob %s instead of %q; restore the blob from a backup, or upload it again.",
				s.endpoint, got, r.blob.Hash, want), body.Close())
		}
		r.body = body
		return nil
	})
}

// drop closes the response body.
func (r *objectReader) drop() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}

// Seek sets the offset and makes no request.
func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	if r.closed {
		return 0, fs.ErrClosed
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.blob.Size
	default:
		return 0, fmt.Errorf("whence %d: %w", whence, fs.ErrInvalid)
	}
	if offset < 0 {
		return 0, fmt.Errorf("offset %d: %w", offset, fs.ErrInvalid)
	}
	if offset != r.offset {
		r.drop()
		r.offset = offset
	}
	return offset, nil
}

func (r *objectReader) Close() error {
	r.drop()
	r.closed = true
	return nil
}
