package blob

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// stagedBytes is a staged blob in memory that fits into one part.
type stagedBytes struct {
	store     *S3
	blob      Blob
	data      []byte
	discarded bool
	named     bool
}

func (b *stagedBytes) Blob() Blob { return b.blob }

func (b *stagedBytes) Commit(ctx context.Context) error {
	if b.named {
		return nil
	}
	if b.discarded {
		return errDiscarded
	}
	s, key := b.store, keyOf(b.blob.Hash)
	err := s.try(ctx, func(ctx context.Context) error {
		info, err := s.core.PutObject(ctx, s.bucket, s.prefix+key, bytes.NewReader(b.data), b.blob.Size, "", b.blob.Hash,
			minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true})
		return requireETag(err, info.ETag)
	})
	if err == nil {
		err = s.verify(ctx, key, b.blob)
	}
	if err != nil {
		return err
	}
	s.free(b.data)
	b.named, b.data = true, nil
	return nil
}

func (b *stagedBytes) Discard() error {
	b.discarded, b.data = true, nil
	return nil
}

// stagedObject is a staged blob that is stored as an object in staging/.
type stagedObject struct {
	store *S3
	blob  Blob
	key   string // "" after Commit or Discard
	named bool
}

func (o *stagedObject) Blob() Blob { return o.blob }

// Commit requests a copy of the staged object to the blob's key. It returns nil even if the staged
// object can't be deleted afterwards. In that case, WalkStaged lists the staged object.
func (o *stagedObject) Commit(ctx context.Context) error {
	if o.named {
		return nil
	}
	if o.key == "" {
		return errDiscarded
	}
	s, key := o.store, keyOf(o.blob.Hash)
	if err := s.copyObject(ctx, o.key, key, o.blob.Size); err != nil {
		return err
	}
	if err := s.verify(ctx, key, o.blob); err != nil {
		return err
	}
	o.named = true
	_ = o.Discard()
	return nil
}

func (o *stagedObject) Discard() error {
	if o.key == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.store.timeout)
	defer cancel()
	if err := o.store.remove(ctx, o.key); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = o.store.explain(err)
		}
		return err
	}
	o.key = ""
	return nil
}

// copyObject copies an object within the bucket. A large object is copied in parts, because a
// single copy might exceed the timeout.
func (s *S3) copyObject(ctx context.Context, from, to string, size int64) error {
	if size <= s.copySize {
		return s.try(ctx, func(ctx context.Context) error {
			info, err := s.core.CopyObject(ctx, s.bucket, s.prefix+from, s.bucket, s.prefix+to, nil, minio.CopySrcOptions{}, minio.PutObjectOptions{})
			return requireETag(err, info.ETag)
		})
	}
	u := &upload{store: s, key: to}
	err := u.begin(ctx)
	for err == nil && u.size < size {
		length := min(s.copySize, size-u.size)
		err = s.try(ctx, func(ctx context.Context) error {
			p, err := s.core.CopyObjectPart(ctx, s.bucket, s.prefix+from, s.bucket, s.prefix+to, u.id, len(u.parts)+1, u.size, length, nil)
			if err := requireETag(err, p.ETag); err != nil {
				return err
			}
			u.add(p.ETag, length)
			return nil
		})
	}
	if err == nil {
		err = u.complete(ctx)
	}
	if err != nil && u.id != "" {
		// Abort this upload only. Another process might be copying the same blob.
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		_ = s.abort(ctx, to, u.id)
	}
	return err
}

// WalkStaged lists the objects in staging/ and all incomplete uploads. Some object stores do not
// list incomplete uploads, but delete them after a day.
func (s *S3) WalkStaged(ctx context.Context, olderThan time.Time, fn func(StagedInfo) error) error {
	err := s.list(ctx, stagingDir+"/", func(key string, o minio.ObjectInfo) error {
		if !o.LastModified.Before(olderThan) {
			return nil
		}
		return fn(StagedInfo{Name: key, Size: o.Size, Modified: o.LastModified})
	})
	if err != nil {
		return err
	}
	return s.uploads(ctx, "", func(key string, o minio.ObjectMultipartInfo) error {
		if !o.Initiated.Before(olderThan) || !isOurKey(key) {
			return nil
		}
		return fn(StagedInfo{Name: key + uploadMark + o.UploadID, Size: o.Size, Modified: o.Initiated})
	})
}

// uploadMark separates the key from the upload ID in the name of an incomplete upload.
const uploadMark = "?upload="

// isOurKey reports whether key has the form of a blob key or a staging key.
func isOurKey(key string) bool {
	_, ok := hashFromKey(key)
	return ok || isStagingKey(key)
}

// DeleteStaged deletes an object in staging/ or aborts an upload. DeleteStaged ignores names that
// are neither staging keys nor names of uploads.
func (s *S3) DeleteStaged(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key, id, isUpload := strings.Cut(name, uploadMark)
	switch {
	case isUpload && isOurKey(key):
		return s.abort(ctx, key, id)
	case !isUpload && isStagingKey(key):
		return s.remove(ctx, key)
	}
	return nil
}
