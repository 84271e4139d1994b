package artifact

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"tracker/blob"
	"tracker/store/sqlite"
)

// inlineReader reads the bytes of an inline blob. It reads each piece in a separate read
// transaction, because a slow reader must not prevent checkpoints of the write-ahead log.
type inlineReader struct {
	ctx    context.Context
	store  *Store
	id     int64
	size   int64
	at     int64
	part   int64 // number of the piece in memory; -1 if none
	piece  buffer
	closed bool
}

func (r *inlineReader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, errors.New("the blob was closed")
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
	err := r.store.db.Read(r.ctx, func(tx *sqlite.Tx) error {
		err := tx.Row(`SELECT data FROM blob_piece WHERE inline_id = ? AND part = ?`, r.id, part).Scan(&r.piece)
		if err != nil {
			return err
		}
		// Release the page cache. The pages of the piece are not read again, but each
		// connection would keep them in its cache.
		_, err = tx.Exec(`PRAGMA shrink_memory`)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && int64(len(r.piece)) != want {
		return fmt.Errorf("piece %d of an inline blob is missing or has the wrong size; `tracker check` names its artifact: %w", part, blob.ErrDamaged)
	}
	if err != nil {
		return inlineError(err)
	}
	r.part = part
	return nil
}

// buffer receives the bytes of a column and reuses its memory for the next column.
type buffer []byte

func (b *buffer) Scan(value any) error {
	data, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("a piece has the type %T", value)
	}
	*b = append((*b)[:0], data...)
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
		return 0, fmt.Errorf("invalid whence %d", whence)
	}
	if offset < 0 {
		return 0, errors.New("negative offset")
	}
	r.at = offset
	return offset, nil
}

func (r *inlineReader) Close() error {
	r.closed, r.piece = true, nil
	return nil
}
