package blob

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// stagedBytes is a content of one part, which waits in memory.
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
	s, name := b.store, place(b.blob.Hash)
	err := s.try(ctx, func(ctx context.Context) error {
		info, err := s.core.PutObject(ctx, s.bucket, s.prefix+name, bytes.NewReader(b.data), b.blob.Size, "", b.blob.Hash,
			minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true})
		return proven(err, info.ETag)
	})
	if err == nil {
		err = s.verify(ctx, name, b.blob)
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

// stagedObject is a content that lies in staging/.
type stagedObject struct {
	store *S3
	blob  Blob
	name  string // "" after Commit or Discard
	named bool
}

func (o *stagedObject) Blob() Blob { return o.blob }

// Commit has the store copy the object to its place. That it can't remove the
// first one then is no reason to fail: it is a leftover.
func (o *stagedObject) Commit(ctx context.Context) error {
	if o.named {
		return nil
	}
	if o.name == "" {
		return errDiscarded
	}
	s, name := o.store, place(o.blob.Hash)
	if err := s.copyObject(ctx, o.name, name, o.blob.Size); err != nil {
		return err
	}
	if err := s.verify(ctx, name, o.blob); err != nil {
		return err
	}
	o.named = true
	_ = o.Discard()
	return nil
}

func (o *stagedObject) Discard() error {
	if o.name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.store.timeout)
	defer cancel()
	if err := o.store.remove(ctx, o.name); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = o.store.explain(err)
		}
		return err
	}
	o.name = ""
	return nil
}

// copyObject copies within the bucket, in pieces when the object is so large
// that the store might keep silent for long about the whole.
func (s *S3) copyObject(ctx context.Context, from, to string, size int64) error {
	if size <= s.copySize {
		return s.try(ctx, func(ctx context.Context) error {
			info, err := s.core.CopyObject(ctx, s.bucket, s.prefix+from, s.bucket, s.prefix+to, nil, minio.CopySrcOptions{}, minio.PutObjectOptions{})
			return proven(err, info.ETag)
		})
	}
	u := &upload{store: s, name: to}
	err := u.begin(ctx)
	for err == nil && u.size < size {
		length := min(s.copySize, size-u.size)
		err = s.try(ctx, func(ctx context.Context) error {
			p, err := s.core.CopyObjectPart(ctx, s.bucket, s.prefix+from, s.bucket, s.prefix+to, u.id, len(u.parts)+1, u.size, length, nil)
			if err := proven(err, p.ETag); err != nil {
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
		// Not all that is under this name: others may be copying the same content.
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		_ = s.abort(ctx, to, u.id)
	}
	return err
}

// Leftovers lists the objects in staging/, and everywhere the uploads that are
// not complete. Some stores do not list these; they drop them after a day.
func (s *S3) Leftovers(ctx context.Context, olderThan time.Time, fn func(Leftover) error) error {
	err := s.list(ctx, stagingDir+"/", func(name string, o minio.ObjectInfo) error {
		if !o.LastModified.Before(olderThan) {
			return nil
		}
		return fn(Leftover{Name: name, Size: o.Size, Modified: o.LastModified})
	})
	if err != nil {
		return err
	}
	return s.uploads(ctx, "", func(name string, o minio.ObjectMultipartInfo) error {
		if !o.Initiated.Before(olderThan) || !s.ours(name) {
			return nil
		}
		return fn(Leftover{Name: name + uploadMark + o.UploadID, Size: o.Size, Modified: o.Initiated})
	})
}

// uploadMark stands between a name and the id of an upload to it.
const uploadMark = "?upload="

// ours tells whether this store gives objects such names.
func (s *S3) ours(name string) bool {
	if _, ok := hashAt(name); ok {
		return true
	}
	return isStaged(name)
}

// Remove removes an object in staging/ or gives up an upload, and nothing else.
func (s *S3) Remove(ctx context.Context, l Leftover) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name, id, isUpload := strings.Cut(l.Name, uploadMark)
	switch {
	case isUpload && s.ours(name):
		return s.abort(ctx, name, id)
	case !isUpload && isStaged(name):
		return s.remove(ctx, name)
	}
	return nil
}
