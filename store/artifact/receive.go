package artifact

import (
	"context"
	"io"

	"tracker/blob"
)

// Received holds bytes that are durable in a backend but have no record yet. The caller must
// call Discard, even after Commit.
type Received struct {
	blob.Blob
	store   *Store
	backend Backend
	staged  blob.Staged
}

// Receive reads r to its end and stages the bytes in the default backend. It returns an error from
// r unchanged.
func (s *Store) Receive(ctx context.Context, r io.Reader) (*Received, error) {
	b, err := s.Backend(s.DefaultBackend())
	if err != nil {
		return nil, err
	}
	src := &source{r: r}
	staged, err := b.Stage(ctx, src)
	if src.err != nil {
		err = src.err
	}
	if err != nil {
		return nil, err
	}
	return &Received{Blob: staged.Blob(), store: s, backend: s.DefaultBackend(), staged: staged}, nil
}

// Discard deletes the staged bytes. It does nothing after Commit has put the bytes in place. If
// the deletion fails, a later collection deletes the bytes.
func (r *Received) Discard() {
	if err := r.staged.Discard(); err != nil {
		r.store.log.Warn("could not delete the staged bytes of an upload", "backend", r.backend, "error", err)
	}
}

// Commit claims the blob and puts the bytes in place. The caller must call Use or Release on
// the returned claim.
func (r *Received) Commit(ctx context.Context) (*Claim, error) {
	c, err := r.store.claim(ctx, r.backend, r.Blob)
	if err != nil {
		return nil, err
	}
	if err := r.staged.Commit(ctx); err != nil {
		c.Release(ctx)
		return nil, err
	}
	return c, nil
}

// source is a reader that records the read error of r, so that the caller can distinguish a failed
// reader from a failed backend.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
