package artifact

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"tracker/blob"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

const (
	// pieceSize is the number of bytes in a row of blob_piece. The last row of a blob can be
	// smaller.
	pieceSize = 256 << 10
	// sliceSize is the number of bytes written in one transaction. A transaction of this size
	// delays other writes by a few milliseconds.
	sliceSize = 4 * pieceSize
)

// inline implements blob.Store with tables of the database. A staged blob is a row of
// blob_inline without a hash.
type inline struct{ store *Store }

func (b inline) Stage(ctx context.Context, r io.Reader) (blob.Staged, error) {
	id, err := write(ctx, b.store, func(tx *sqlite.Tx) (id int64, err error) {
		err = tx.Row(`INSERT INTO blob_inline (size_bytes, modified_date) VALUES (0, ?) RETURNING id`, b.store.now()).Scan(&id)
		return id, err
	})
	if err != nil {
		return nil, inlineError(err)
	}
	staged := &stagedInline{backend: b, id: id}
	if err := staged.fill(ctx, r); err != nil {
		return nil, errors.Join(err, staged.Discard())
	}
	return staged, nil
}

type stagedInline struct {
	backend inline
	id      int64
	blob    blob.Blob
	ended   bool // committed or discarded
	named   bool // committed
}

func (s *stagedInline) Blob() blob.Blob { return s.blob }

func (s *stagedInline) fill(ctx context.Context, r io.Reader) error {
	h := sha256.New()
	buf := make([]byte, sliceSize)
	for {
		n, err := blob.Fill(ctx, r, buf)
		if err != nil && err != io.EOF {
			return err
		}
		h.Write(buf[:n])
		if n > 0 {
			if err := s.append(ctx, buf[:n]); err != nil {
				return inlineError(err)
			}
		}
		if err == io.EOF {
			s.blob.Hash = hex.EncodeToString(h.Sum(nil))
			return nil
		}
	}
}

// append appends p to the staged blob. It returns ErrClaimLost if a collection has deleted the
// staged blob.
func (s *stagedInline) append(ctx context.Context, p []byte) error {
	part, size := s.blob.Size/pieceSize, s.blob.Size+int64(len(p))
	err := change(ctx, s.backend.store, func(tx *sqlite.Tx) error {
		n, err := tx.Exec(`UPDATE blob_inline SET size_bytes = ?, modified_date = ? WHERE id = ?`, size, s.backend.store.now(), s.id)
		if err == nil && n == 0 {
			err = ErrClaimLost
		}
		for at := 0; at < len(p) && err == nil; at += pieceSize {
			_, err = tx.Exec(`INSERT INTO blob_piece (inline_id, part, data) VALUES (?, ?, ?)`,
				s.id, part+int64(at/pieceSize), p[at:min(at+pieceSize, len(p))])
		}
		return err
	})
	if err == nil {
		s.blob.Size = size
	}
	return err
}

// Commit sets the hash of the staged row. If another row already has the hash, Commit discards
// the staged row.
func (s *stagedInline) Commit(ctx context.Context) error {
	if s.named {
		return nil
	}
	if s.ended {
		return errors.New("the blob was discarded")
	}
	twice, err := write(ctx, s.backend.store, func(tx *sqlite.Tx) (bool, error) {
		now := s.backend.store.now()
		n, err := tx.Exec(`UPDATE blob_inline SET modified_date = ? WHERE hash = ?`, now, s.blob.Hash)
		if err != nil || n > 0 {
			return n > 0, err
		}
		n, err = tx.Exec(`UPDATE blob_inline SET hash = ?, modified_date = ? WHERE id = ? AND hash IS NULL`, s.blob.Hash, now, s.id)
		if err == nil && n == 0 {
			err = ErrClaimLost
		}
		return false, err
	})
	if err != nil {
		return inlineError(err)
	}
	s.named = true
	if !twice {
		s.ended = true
		return nil
	}
	_ = s.Discard() // if Discard fails, a collection deletes the pieces
	return nil
}

// Discard deletes the staged row and its pieces, even if the context of the upload is done.
func (s *stagedInline) Discard() error {
	if s.ended {
		return nil
	}
	s.ended = true
	return s.backend.deleteRow(context.Background(), s.id)
}

// deleteRow deletes the pieces of a row without a hash, a few in each transaction. Then it
// deletes the row.
func (b inline) deleteRow(ctx context.Context, id int64) error {
	for {
		more, err := free(ctx, b.store, func(tx *sqlite.Tx) (bool, error) {
			n, err := tx.Exec(`DELETE FROM blob_piece WHERE rowid IN (SELECT blob_piece.rowid FROM blob_piece
				JOIN blob_inline ON blob_inline.id = blob_piece.inline_id
				WHERE inline_id = ? AND hash IS NULL LIMIT ?)`, id, sliceSize/pieceSize)
			if err != nil || n > 0 {
				return true, err
			}
			_, err = tx.Exec(`DELETE FROM blob_inline WHERE id = ? AND hash IS NULL`, id)
			return false, err
		})
		if err != nil || !more {
			return inlineError(err)
		}
	}
}

func (b inline) Open(ctx context.Context, want blob.Blob) (io.ReadSeekCloser, error) {
	type row struct{ id, size int64 }
	r, err := read(ctx, b.store, func(tx *sqlite.Tx) (r row, err error) {
		err = tx.Row(`SELECT id, size_bytes FROM blob_inline WHERE hash = ?`, want.Hash).Scan(&r.id, &r.size)
		return r, err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("the database has no blob with the hash %.70q: %w", want.Hash, blob.ErrNotFound)
	case err != nil:
		return nil, inlineError(err)
	case r.size != want.Size:
		return nil, fmt.Errorf("the blob %s has %d bytes instead of %d; restore the database from a backup, or upload it again: %w",
			want.Hash, r.size, want.Size, blob.ErrDamaged)
	}
	return &inlineReader{ctx: ctx, store: b.store, id: r.id, size: want.Size, part: -1}, nil
}

// Delete first removes the hash from the row, so that Open no longer finds the blob. Then it
// deletes the pieces.
func (b inline) Delete(ctx context.Context, hash string) error {
	id, err := free(ctx, b.store, func(tx *sqlite.Tx) (id int64, err error) {
		err = tx.Row(`UPDATE blob_inline SET hash = NULL, modified_date = ? WHERE hash = ? RETURNING id`,
			b.store.now(), hash).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return id, err
	})
	if err != nil || id == 0 {
		return inlineError(err)
	}
	if err := b.deleteRow(ctx, id); err != nil {
		b.store.log.Warn("could not delete the pieces of a deleted blob; the next collection of orphans will delete them", "error", err)
	}
	return nil
}

func (b inline) Walk(ctx context.Context, fn func(blob.Info) error) error {
	return b.each(ctx, `hash IS NOT NULL`, func(r inlineRow) error {
		return fn(blob.Info{Blob: blob.Blob{Hash: *r.Hash, Size: r.Size}, Modified: r.Modified.Time()})
	})
}

func (b inline) WalkStaged(ctx context.Context, olderThan time.Time, fn func(blob.StagedInfo) error) error {
	return b.each(ctx, `hash IS NULL AND modified_date < ?`, func(r inlineRow) error {
		return fn(blob.StagedInfo{Name: fmt.Sprint(r.ID), Size: r.Size, Modified: r.Modified.Time()})
	}, scalar.TimeOf(olderThan))
}

func (b inline) DeleteStaged(ctx context.Context, name string) error {
	var id int64
	if _, err := fmt.Sscan(name, &id); err != nil {
		return nil
	}
	return b.deleteRow(ctx, id)
}

// URI returns "", because an inline blob has no address outside of the database.
func (inline) URI(string) string { return "" }

type inlineRow struct {
	ID       int64       `db:"id"`
	Hash     *string     `db:"hash"`
	Size     int64       `db:"size_bytes"`
	Modified scalar.Time `db:"modified_date"`
}

// each calls fn for each row of blob_inline that matches the condition where. It reads a
// thousand rows at a time.
func (b inline) each(ctx context.Context, where string, fn func(inlineRow) error, args ...any) error {
	for after := int64(0); ; {
		rows, err := read(ctx, b.store, func(tx *sqlite.Tx) (rows []inlineRow, err error) {
			err = tx.Select(&rows, `SELECT
					id,
					hash,
					size_bytes,
					modified_date
				FROM blob_inline WHERE `+where+` AND id > ? ORDER BY id LIMIT 1000`, append(args[:len(args):len(args)], after)...)
			return rows, err
		})
		if err != nil || len(rows) == 0 {
			return inlineError(err)
		}
		for _, r := range rows {
			after = r.ID
			if err := fn(r); err != nil {
				return err
			}
		}
	}
}

// inlineError wraps a SQLite error in an error of package blob. It returns other errors unchanged.
func inlineError(err error) error {
	switch {
	case err == nil:
		return nil
	case sqlite.IsFull(err):
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	case sqlite.IsBusy(err), errors.Is(err, sqlite.ErrClosed):
		return fmt.Errorf("%w: %w", blob.ErrUnavailable, err)
	}
	return err
}
