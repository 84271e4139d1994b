package store

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
)

const (
	// pieceSize is the size of a piece of inline bytes; the last one of a
	// content may be smaller.
	pieceSize = 256 << 10
	// sliceSize is how many bytes go into one transaction. A transaction of
	// this size takes a few milliseconds, which is what other writers wait.
	sliceSize = 4 * pieceSize
)

// inline is the blob.Store that keeps contents in the database. Everything it
// writes goes through the writer in slices, so that nobody waits long for it.
type inline struct{ db *DB }

// Stage writes the pieces under a row that has no hash yet.
func (s inline) Stage(ctx context.Context, r io.Reader) (blob.Staged, error) {
	id, err := write(ctx, s.db, System, func(tx *tx) (id int64, err error) {
		err = tx.row(`INSERT INTO blob_inline (size_bytes, modified_date) VALUES (0, ?) RETURNING id`, tx.now).Scan(&id)
		return id, err
	})
	if err != nil {
		return nil, inlineError(err)
	}
	staged := &stagedInline{store: s, id: id}
	if err := staged.fill(ctx, r); err != nil {
		return nil, errors.Join(err, staged.Discard())
	}
	return staged, nil
}

type stagedInline struct {
	store inline
	id    int64
	blob  blob.Blob
	ended bool // committed or discarded
	named bool // committed
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

// append writes a slice behind what is there.
func (s *stagedInline) append(ctx context.Context, p []byte) error {
	part, size := s.blob.Size/pieceSize, s.blob.Size+int64(len(p))
	err := change(ctx, s.store.db, System, func(tx *tx) error {
		for at := 0; at < len(p); at += pieceSize {
			_, err := tx.exec(`INSERT INTO blob_piece (inline_id, part, data) VALUES (?, ?, ?)`,
				s.id, part+int64(at/pieceSize), p[at:min(at+pieceSize, len(p))])
			if err != nil {
				return err
			}
		}
		n, err := tx.exec(`UPDATE blob_inline SET size_bytes = ?, modified_date = ? WHERE id = ?`, size, tx.now, s.id)
		return changedOne(n, err, "content")
	})
	if err == nil {
		s.blob.Size = size
	}
	return err
}

// Commit gives the row its hash, unless another one has it.
func (s *stagedInline) Commit(ctx context.Context) error {
	if s.named {
		return nil
	}
	if s.ended {
		return errors.New("the content was discarded")
	}
	twice, err := write(ctx, s.store.db, System, func(tx *tx) (bool, error) {
		n, err := tx.exec(`UPDATE blob_inline SET modified_date = ? WHERE hash = ?`, tx.now, s.blob.Hash)
		if err != nil || n > 0 {
			return n > 0, err
		}
		n, err = tx.exec(`UPDATE blob_inline SET hash = ?, modified_date = ? WHERE id = ? AND hash IS NULL`,
			s.blob.Hash, tx.now, s.id)
		return false, changedOne(n, err, "content")
	})
	if err != nil {
		return inlineError(err)
	}
	s.named = true
	if !twice {
		s.ended = true
		return nil
	}
	// What was staged is not needed; if it can't be removed it is a leftover.
	_ = s.Discard()
	return nil
}

// Discard removes the pieces. It does so also for a caller that has gone.
func (s *stagedInline) Discard() error {
	if s.ended {
		return nil
	}
	s.ended = true
	return s.store.remove(context.Background(), s.id)
}

// remove removes a content that has no hash, in slices.
func (s inline) remove(ctx context.Context, id int64) error {
	for {
		more, err := write(ctx, s.db, System, func(tx *tx) (bool, error) {
			n, err := tx.exec(`DELETE FROM blob_piece WHERE rowid IN (SELECT blob_piece.rowid FROM blob_piece
				JOIN blob_inline ON blob_inline.id = blob_piece.inline_id
				WHERE inline_id = ? AND hash IS NULL LIMIT ?)`, id, sliceSize/pieceSize)
			if err != nil || n > 0 {
				return true, err
			}
			_, err = tx.exec(`DELETE FROM blob_inline WHERE id = ? AND hash IS NULL`, id)
			return false, err
		})
		if err != nil || !more {
			return inlineError(err)
		}
	}
}

// Open reads a piece at a time, each in a short transaction of its own: a
// reader that is slow must not keep the write-ahead log from being emptied.
func (s inline) Open(ctx context.Context, b blob.Blob) (io.ReadSeekCloser, error) {
	type found struct{ id, size int64 }
	f, err := read(ctx, s.db, func(tx *tx) (f found, err error) {
		err = tx.row(`SELECT id, size_bytes FROM blob_inline WHERE hash = ?`, b.Hash).Scan(&f.id, &f.size)
		return f, err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("the database has no bytes under the hash %.70q: %w", b.Hash, blob.ErrNotFound)
	case err != nil:
		return nil, inlineError(err)
	case f.size != b.Size:
		return nil, fmt.Errorf("the content %s has %d bytes instead of %d; restore the database from a backup, or upload it again: %w",
			b.Hash, f.size, b.Size, blob.ErrDamaged)
	}
	return &inlineReader{ctx: ctx, db: s.db, id: f.id, size: b.Size, part: -1}, nil
}

type inlineReader struct {
	ctx    context.Context
	db     *DB
	id     int64
	size   int64
	at     int64
	part   int64 // that piece holds; -1 for none
	piece  reused
	closed bool
}

func (r *inlineReader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, errors.New("the content was closed")
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.at >= r.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if part := r.at / pieceSize; part != r.part {
		if err := r.load(part); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.piece[r.at%pieceSize:])
	r.at += int64(n)
	return n, nil
}

func (r *inlineReader) load(part int64) error {
	want := min(pieceSize, r.size-part*pieceSize)
	r.part = -1
	err := r.db.ask(r.ctx, func(tx *tx) error {
		err := tx.row(`SELECT data FROM blob_piece WHERE inline_id = ? AND part = ?`, r.id, part).Scan(&r.piece)
		if err != nil {
			return err
		}
		// Its pages are not read again, but each of the readers would keep as
		// many as fit into its cache.
		_, err = tx.exec(`PRAGMA shrink_memory`)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && int64(len(r.piece)) != want {
		return fmt.Errorf("piece %d of an inline content is missing or too short; `tracker check` says more: %w", part, blob.ErrDamaged)
	}
	if err != nil {
		return inlineError(err)
	}
	r.part = part
	return nil
}

// reused takes the bytes of a row into the room that it has for them.
type reused []byte

func (p *reused) Scan(value any) error {
	data, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("a piece is %T", value)
	}
	*p = append((*p)[:0], data...)
	return nil
}

func (r *inlineReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	default:
		return 0, fmt.Errorf("%d is no way to seek", whence)
	}
	if offset < 0 {
		return 0, errors.New("a position before the beginning")
	}
	r.at = offset
	return offset, nil
}

func (r *inlineReader) Close() error {
	r.closed, r.piece = true, nil
	return nil
}

// Delete takes the hash away, with which the content is gone, and removes the
// pieces then.
func (s inline) Delete(ctx context.Context, hash string) error {
	id, err := write(ctx, s.db, System, func(tx *tx) (id int64, err error) {
		err = tx.row(`UPDATE blob_inline SET hash = NULL, modified_date = ? WHERE hash = ? RETURNING id`,
			tx.now, hash).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return id, err
	})
	if err != nil || id == 0 {
		return inlineError(err)
	}
	if err := s.remove(ctx, id); err != nil {
		s.db.log.Warn("the pieces of a removed artifact are still there; they are removed later", "error", err)
	}
	return nil
}

// Walk calls fn for each content.
func (s inline) Walk(ctx context.Context, fn func(blob.Found) error) error {
	return s.each(ctx, `hash IS NOT NULL`, func(r inlineRow) error {
		return fn(blob.Found{Blob: blob.Blob{Hash: *r.Hash, Size: r.Size}, Modified: r.Modified.Time()})
	})
}

// Leftovers calls fn for each content without a hash that rests since olderThan.
func (s inline) Leftovers(ctx context.Context, olderThan time.Time, fn func(blob.Leftover) error) error {
	return s.each(ctx, `hash IS NULL AND modified_date < ?`, func(r inlineRow) error {
		return fn(blob.Leftover{Name: fmt.Sprint(r.ID), Size: r.Size, Modified: r.Modified.Time()})
	}, toTime(olderThan))
}

// Remove removes what Leftovers has listed.
func (s inline) Remove(ctx context.Context, l blob.Leftover) error {
	var id int64
	if _, err := fmt.Sscan(l.Name, &id); err != nil {
		return nil
	}
	return s.remove(ctx, id)
}

// URI is empty: the bytes lie where the records do.
func (inline) URI(string) string { return "" }

type inlineRow struct {
	ID       int64   `db:"id"`
	Hash     *string `db:"hash"`
	Size     int64   `db:"size_bytes"`
	Modified Time    `db:"modified_date"`
}

// each calls fn for the rows that fit, a thousand to a transaction.
func (s inline) each(ctx context.Context, where string, fn func(inlineRow) error, args ...any) error {
	for after := int64(0); ; {
		rows, err := read(ctx, s.db, func(tx *tx) (rows []inlineRow, err error) {
			err = tx.all(&rows, `SELECT
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

// inlineError says in the words of package blob what the database said.
func inlineError(err error) error {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	case isBusy(err), errors.Is(err, errClosing):
		return fmt.Errorf("%w: %w", blob.ErrUnavailable, err)
	}
	return err
}
