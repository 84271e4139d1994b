package sqlite

import (
	"context"
	"time"
)

const (
	// checkpoints is how often Checkpoint tries, and checkpointPause how long it
	// waits in between: half a second at most.
	checkpoints     = 50
	checkpointPause = 10 * time.Millisecond
)

// Checkpoint copies the write-ahead log into the file, so that the next commit
// begins the log again. A job that takes one snapshot after another calls it in
// between. Otherwise the log of a busy file would grow until the job ends,
// because it is never copied as a whole while a snapshot is open. Checkpoint
// gives up after half a second of others' commits and snapshots.
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
