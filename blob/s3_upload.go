package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
)

// Stage keeps a blob that fits into one part in memory and sends a larger blob to staging/.
func (s *S3) Stage(ctx context.Context, r io.Reader) (Staged, error) {
	h := sha256.New()
	first, last, err := s.readPart(ctx, r, h, nil)
	if err != nil {
		return nil, err
	}
	if last {
		return &stagedBytes{store: s, blob: Blob{Hash: hex.EncodeToString(h.Sum(nil)), Size: int64(len(first))}, data: first}, nil
	}
	u := &upload{store: s, key: stagingKey()}
	if err := u.send(ctx, r, h, first); err != nil {
		u.cleanUp()
		return nil, err
	}
	return &stagedObject{store: s, blob: Blob{Hash: hex.EncodeToString(h.Sum(nil)), Size: u.size}, key: u.key}, nil
}

// readPart reads and hashes one part. The part is stored in p if p is large enough. The result
// last reports whether r has ended.
func (s *S3) readPart(ctx context.Context, r io.Reader, h hash.Hash, p []byte) (part []byte, last bool, err error) {
	p = p[:0]
	for len(p) < s.partSize && !last {
		if len(p) == cap(p) {
			p = append(s.buffer(max(2*len(p), bufferSize/4)), p...)
		}
		n, err := Fill(ctx, r, p[len(p):min(cap(p), s.partSize, len(p)+bufferSize)])
		last = err == io.EOF
		if err != nil && !last {
			return nil, false, err
		}
		h.Write(p[len(p) : len(p)+n])
		p = p[:len(p)+n]
	}
	return p, last, nil
}

// buffer returns an empty buffer with a capacity of size bytes, or of one part if size is
// larger. Buffers with the capacity of a part are reused. Allocating a new buffer for each part
// would take a tenth of an upload's time.
func (s *S3) buffer(size int) []byte {
	if size < s.partSize {
		return make([]byte, 0, size)
	}
	if p, ok := s.parts.Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, s.partSize)
}

// free returns a buffer for reuse. The caller must not free the buffer of a failed request,
// because the request might still read from it.
func (s *S3) free(p []byte) {
	if cap(p) == s.partSize {
		s.parts.Put(&p)
	}
}

// upload is a multipart upload of one object.
type upload struct {
	store *S3
	key   string
	id    string
	parts []minio.CompletePart
	size  int64
}

// send sends the first part and the bytes remaining in r. It reads and hashes each part while
// it sends the previous part.
func (u *upload) send(ctx context.Context, r io.Reader, h hash.Hash, first []byte) error {
	sending, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	toSend := make(chan []byte, 1)
	sent := make(chan []byte, 2)
	var sender sync.WaitGroup
	sender.Go(func() {
		// begin is not canceled when the reader fails. Otherwise, the upload could begin after
		// cleanUp and would never be removed.
		if err := u.begin(ctx); err != nil {
			fail(err)
			return
		}
		for p := range toSend {
			if err := u.put(sending, p); err != nil {
				fail(err)
				return
			}
			sent <- p
		}
	})
	next := func(p []byte) {
		select {
		case toSend <- p:
		case <-sending.Done():
		}
	}
	next(first)
	sent <- u.store.buffer(u.store.partSize)
	for last := false; !last && sending.Err() == nil; {
		var p []byte
		select {
		case p = <-sent:
		case <-sending.Done():
			continue
		}
		var err error
		if p, last, err = u.store.readPart(sending, r, h, p); err != nil {
			fail(err)
		} else if len(p) > 0 {
			next(p)
		} else {
			sent <- p
		}
	}
	close(toSend)
	sender.Wait()
	if err := context.Cause(sending); err != nil {
		return err
	}
	for len(sent) > 0 {
		u.store.free(<-sent)
	}
	return u.complete(ctx)
}

func (u *upload) begin(ctx context.Context) error {
	s := u.store
	return s.try(ctx, func(ctx context.Context) (err error) {
		u.id, err = s.core.NewMultipartUpload(ctx, s.bucket, s.prefix+u.key, minio.PutObjectOptions{ContentType: contentType})
		return err
	})
}

// contentType is the media type of all objects. The records hold the media types of artifacts.
const contentType = "application/octet-stream"

// put sends p as the next part. Without TLS, the hash of p is included in the signature, and
// the object store rejects a part that was changed in transit.
func (u *upload) put(ctx context.Context, p []byte) error {
	s, number := u.store, len(u.parts)+1
	if number > maxParts {
		return newError(ErrFull, nil, "An object store accepts at most %d MiB in parts of %d MiB; split the artifact, or use the filesystem backend.",
			maxParts*s.partSize>>20, s.partSize>>20)
	}
	var signed string
	if !s.secure {
		sum := sha256.Sum256(p)
		signed = hex.EncodeToString(sum[:])
	}
	return s.try(ctx, func(ctx context.Context) error {
		part, err := s.core.PutObjectPart(ctx, s.bucket, s.prefix+u.key, u.id, number, bytes.NewReader(p), int64(len(p)),
			minio.PutObjectPartOptions{Sha256Hex: signed, DisableContentSha256: true})
		if err := requireETag(err, part.ETag); err != nil {
			return err
		}
		u.add(part.ETag, int64(len(p)))
		return nil
	})
}

func (u *upload) add(etag string, size int64) {
	u.parts = append(u.parts, minio.CompletePart{PartNumber: len(u.parts) + 1, ETag: etag})
	u.size += size
}

// complete ends the upload. The object exists afterwards.
func (u *upload) complete(ctx context.Context) error {
	s := u.store
	err := s.try(ctx, func(ctx context.Context) error {
		_, err := s.core.CompleteMultipartUpload(ctx, s.bucket, s.prefix+u.key, u.id, u.parts, minio.PutObjectOptions{})
		var answer minio.ErrorResponse
		if errors.As(err, &answer) && answer.Code == "NoSuchUpload" {
			// An earlier request might have succeeded, but its response was lost.
			if info, stat := s.core.StatObject(ctx, s.bucket, s.prefix+u.key, minio.StatObjectOptions{}); stat == nil && info.Size == u.size {
				return nil
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.verify(ctx, u.key, Blob{Hash: path.Base(u.key), Size: u.size})
}

// abort ends an incomplete upload and deletes its parts.
func (s *S3) abort(ctx context.Context, key, id string) error {
	err := s.try(ctx, func(ctx context.Context) error {
		err := s.core.AbortMultipartUpload(ctx, s.bucket, s.prefix+key, id)
		var answer minio.ErrorResponse
		if errors.As(err, &answer) && answer.Code == "NoSuchUpload" {
			return nil
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// cleanUp removes everything that was sent to a key in staging/. cleanUp also removes an upload
// whose ID is unknown because the response was lost. WalkStaged lists bytes that cleanUp can't
// remove.
func (u *upload) cleanUp() {
	s := u.store
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	if u.id != "" {
		_ = s.abort(ctx, u.key, u.id)
	}
	_ = s.uploads(ctx, u.key, func(key string, o minio.ObjectMultipartInfo) error { return s.abort(ctx, key, o.UploadID) })
	_ = s.remove(ctx, u.key)
}

// uploads calls fn for each incomplete upload below the given folder.
func (s *S3) uploads(ctx context.Context, folder string, fn func(key string, o minio.ObjectMultipartInfo) error) error {
	var page minio.ListMultipartUploadsResult
	for {
		after, id := page.NextKeyMarker, page.NextUploadIDMarker
		err := s.try(ctx, func(ctx context.Context) (err error) {
			page, err = s.core.ListMultipartUploads(ctx, s.bucket, s.prefix+folder, after, id, "", 1000)
			var answer minio.ErrorResponse
			if errors.As(err, &answer) && answer.Code == "NoSuchUpload" {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page.Uploads {
			if err := fn(strings.TrimPrefix(o.Key, s.prefix), o); err != nil {
				return err
			}
		}
		if !page.IsTruncated || page.NextKeyMarker == "" {
			return nil
		}
	}
}
