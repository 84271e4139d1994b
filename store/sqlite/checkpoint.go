package sqlite

import (
	"context"
	"time"
)

const (
	// checkpoints is the maximum number of retries of Checkpoint. checkpointPause is the pause
	// before each retry. All pauses together take at most half a second.
	checkpoints     = 50
	checkpointPause = 10 * time.Millisecond
)

// Checkpoint copies the write-ahead log into the file. The next commit after a checkpoint
// restarts the log from the beginning.
//
// A task that takes many snapshots in turn calls Checkpoint between two snapshots. SQLite never
// copies the whole log while a snapshot is open. Without calls of Checkpoint, the log of a busy
// file would grow until the task ends.
//
// If other commits or snapshots prevent a complete copy, Checkpoint returns nil after half a
// second.
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
