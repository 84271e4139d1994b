package sqlite

import (
	"context"
	"time"
)

const (
	// checkpoints is the number of attempts of Checkpoint and checkpointPause the
	// pause between them: half a second at most.
	checkpoints     = 50
	checkpointPause = 10 * time.Millisecond
)

// Checkpoint copies the write-ahead log into the file, so that the next commit
// starts the log from the beginning. A job that takes many snapshots in turn calls it
// between them. Otherwise the log of a busy file would grow until the job ends,
// because it is never copied as a whole while a snapshot is open. If commits and
// snapshots of others prevent the copy, Checkpoint gives up after half a second.
func (db *DB) Checkpoint(ctx context.Context) error {
	if err := db.writable(); err != nil {
		return err
	}
	c, from, err := db.reader(ctx, nil)
	if err != nil {
		return err
	}
	defer from.put(c)
	tx := &Tx{conn: c, ctx: ctx}
	for try := 0; ; try++ {
		var busy, frames, copied int
		if err := tx.Row(`PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &frames, &copied); err != nil {
			return err
		}
		if busy == 0 && frames == copied || try == checkpoints {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-db.closing.Done():
			return ErrClosed
		case <-time.After(checkpointPause):
		}
	}
}
