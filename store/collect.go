package store

import (
	"context"
	"time"
)

// collectPause is the time between two looks for what nobody needs any more,
// unless something asks for one.
const collectPause = 5 * time.Minute

// collectInBackground removes what nobody needs until the database closes.
func (db *DB) collectInBackground() {
	defer close(db.collected)
	if !db.opts.Exclusive {
		return // it belongs to whoever has the lock
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-db.closing
		cancel()
	}()
	tick := time.NewTicker(collectPause)
	defer tick.Stop()
	for {
		if _, err := db.Collect(ctx); err != nil && ctx.Err() == nil {
			db.log.Warn("not all that nobody needs could be removed; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-db.unused:
		}
	}
}

// collectSoon wakes the collection in the background, after a change that can
// have left bytes that no resource has.
func (db *DB) collectSoon() {
	select {
	case db.unused <- struct{}{}:
	default: // it is awake already, or will be
	}
}

// Collect removes uploads that have expired, and the bytes that a blob's row
// speaks of and no resource has. It returns how many contents it removed, and
// goes on behind one that it can't remove. Bytes without a row are none of its
// business.
func (db *DB) Collect(ctx context.Context) (removed int, err error) {
	db.collecting.Lock()
	defer db.collecting.Unlock()
	err = db.removeOldUploads(ctx)
	for after := int64(0); ctx.Err() == nil; {
		ids, failed := read(ctx, db, func(tx *tx) (ids []int64, err error) {
			err = tx.all(&ids, `SELECT id FROM blob WHERE deleting = 0 AND id > ? AND NOT `+inUse+`
				ORDER BY id LIMIT 100`, after, tx.now)
			return ids, err
		})
		if failed != nil {
			return removed, failed
		}
		if len(ids) == 0 {
			break
		}
		for _, id := range ids {
			after = id
			done, failed := db.removeBlob(ctx, id)
			if failed != nil {
				err = failed
			}
			if done {
				removed++
			}
		}
	}
	if failed := db.endDeletes(ctx); failed != nil {
		err = failed
	}
	return removed, err
}

// endDeletes carries out the removals of processes that were killed.
func (db *DB) endDeletes(ctx context.Context) error {
	all, err := write(ctx, db, System, func(tx *tx) (all []removal, err error) {
		var ids []int64
		err = tx.all(&ids, `SELECT id FROM blob WHERE deleting = 1 AND deleting_until <= ?`, tx.now)
		for _, id := range ids {
			if err != nil {
				break
			}
			var r removal
			r, err = tx.mark(id)
			all = append(all, r)
		}
		return all, err
	})
	if err != nil {
		return err
	}
	for _, r := range all {
		// One that fails stays as it is, hidden, rather than come back a day
		// after somebody has removed it.
		if failed := db.carryOut(ctx, r, true); failed != nil {
			err = failed
		}
	}
	return err
}

// recover ends what a server that was killed has left: it is gone for certain,
// since this process has its lock. Marks get a date in the past, which makes
// them work for Collect.
func (db *DB) recover() error {
	return change(context.Background(), db, System, func(tx *tx) error {
		if _, err := tx.exec(`DELETE FROM blob_pin WHERE expires_date IS NULL OR expires_date <= ?`, tx.now); err != nil {
			return err
		}
		_, err := tx.exec(`UPDATE blob SET deleting_until = 0 WHERE deleting = 1 AND deleting_until IS NULL`)
		return err
	})
}
