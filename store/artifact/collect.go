package artifact

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"tracker/blob"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// StagedAge is the time after which unchanged staged bytes count as orphans. StagedAge is
// longer than any pause during an upload.
const StagedAge = time.Hour

// collectPause is the time between two background collections. Wake starts a background
// collection immediately.
const collectPause = 5 * time.Minute

// OrphanKind is the kind of an orphan: a blob, staged bytes or an upload.
type OrphanKind string

// These are the kinds of orphans.
const (
	OrphanBlob   OrphanKind = "blob"   // blob without a record
	OrphanStaged OrphanKind = "staged" // bytes of an interrupted upload or migration
	OrphanUpload OrphanKind = "upload" // bytes of an expired resumable upload
)

// Orphan describes bytes that no record uses.
type Orphan struct {
	Kind    OrphanKind
	Backend Backend // "" for a resumable upload, because its file is in Options.UploadDir
	Name    string  // hash of a blob, id of an upload, or name of staged bytes in the backend
	Size    int64   // in bytes; 0 if the backend does not report it
	Err     error   // error of a failed deletion; otherwise nil

	// Kept is set if the collection did not delete the orphan. An upload or a command might
	// still be using the orphan.
	Kept bool
	// Until is the time after which a collection can delete a kept orphan. Until is zero if the
	// server claims the orphan. The claim of a server ends when the next server starts.
	Until time.Time
}

// Collection configures Collect.
type Collection struct {
	// Age is the time after which unchanged staged bytes count as orphans. Claims of commands are
	// ended if they are older than Age. While a server runs, staged bytes count as orphans after
	// StagedAge at the earliest, because they might belong to an upload.
	Age time.Duration
	// If Scan is set, Collect searches all backends for bytes without a row. Otherwise, it searches
	// only the tables and the folder of resumable uploads.
	Scan bool
	// If DryRun is set, Collect reports orphans without deleting them.
	DryRun bool
	// Found is called for each orphan. If the orphan is deleted, Found is called after the
	// deletion.
	Found func(Orphan)
}

// Collect deletes orphans. Other goroutines and processes can read and write during the
// collection. If a backend can't be read, Collect continues with the next backend and returns
// the error at the end.
func (s *Store) Collect(ctx context.Context, c Collection) error {
	s.collecting.Lock()
	defer s.collecting.Unlock()
	r := &collector{Collection: c, store: s, stagedAge: c.Age}
	if c.Age < StagedAge && !s.db.Exclusive() {
		served, err := s.db.Served()
		if err != nil {
			return err
		}
		if served {
			r.stagedAge = StagedAge
		}
	}
	errs := []error{r.expiredUploads(ctx), r.unusedBlobs(ctx)}
	if c.Scan {
		for _, name := range s.configured() {
			b, err := s.inUse(ctx, name)
			if b == nil {
				errs = append(errs, err)
				continue
			}
			if err := errors.Join(r.staged(ctx, name, b), r.unknownBlobs(ctx, name, b)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, backendError(err)))
			}
		}
	}
	return errors.Join(errs...)
}

// CollectStaged deletes staged bytes from a backend if they have not changed for the duration
// age. It returns the number of deleted files or objects, and their total size in bytes.
func (s *Store) CollectStaged(ctx context.Context, name Backend, age time.Duration) (n int, size int64, err error) {
	b, err := s.Backend(name)
	if err != nil {
		return 0, 0, backendError(err)
	}
	r := &collector{store: s, stagedAge: age, Collection: Collection{Age: age, Found: func(o Orphan) {
		switch {
		case o.Err != nil:
			err = o.Err
		case !o.Kept:
			n, size = n+1, size+o.Size
		}
	}}}
	if failed := r.staged(ctx, name, b); failed != nil {
		err = failed
	}
	return n, size, backendError(err)
}

// Run collects orphans in the background until ctx is done. It returns immediately if this process
// does not hold the database lock.
func (s *Store) Run(ctx context.Context) {
	if !s.db.Exclusive() {
		return
	}
	tick := time.NewTicker(collectPause)
	defer tick.Stop()
	for {
		if _, err := s.CollectUnused(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("could not delete all orphans; will try again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}

// Wake starts a background collection. Callers use Wake after a change that might have left a
// blob without a record.
func (s *Store) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a collection is about to run
	}
}

// CollectUnused deletes the blobs that are unused according to the tables. It does not list the
// contents of the backends. It returns the number of deleted blobs.
func (s *Store) CollectUnused(ctx context.Context) (deleted int, err error) {
	var failed error
	err = s.Collect(ctx, Collection{Age: ClaimAge, Found: func(o Orphan) {
		switch {
		case o.Err != nil:
			failed = o.Err
		case !o.Kept && o.Kind == OrphanBlob:
			deleted++
		}
	}})
	return deleted, errors.Join(failed, err)
}

// collector is the state of a call to Collect.
type collector struct {
	Collection
	store     *Store
	stagedAge time.Duration // age after which staged bytes count as orphans
}

// report calls remove to delete an orphan, and then reports the orphan. It reports nothing if
// remove finds that the orphan is now in use. In a dry run, report does not call remove.
func (c *collector) report(o Orphan, remove func() (bool, error)) {
	if !c.DryRun {
		done, err := remove()
		if !done && err == nil {
			return
		}
		o.Err = backendError(err)
	}
	c.Found(o)
}

// keep reports an orphan that was not deleted. The orphan is protected until the given time.
func (c *collector) keep(o Orphan, until time.Time) {
	o.Kept, o.Until = true, until
	c.Found(o)
}

// expired returns the expiry date of a claim that was made c.Age ago. madeFor is the time from
// the start of a claim to its expiry.
func (c *collector) expired(madeFor time.Duration) scalar.Time {
	return c.store.now() + scalar.Time((madeFor - c.Age).Milliseconds())
}

// expiredDeletion returns the latest expiry date of deletions that can be ended. A deletion can
// be ended if it has expired or was started at least c.Age ago.
func (c *collector) expiredDeletion() scalar.Time {
	return max(c.store.now(), c.expired(deletionAge))
}

// deleteExpired runs the statement "DELETE " + from with the parameter until. It does nothing
// in a dry run. If no row matches, it does not start a write transaction.
func (c *collector) deleteExpired(ctx context.Context, from string, until scalar.Time) error {
	if c.DryRun {
		return nil
	}
	found, err := read(ctx, c.store, func(tx *sqlite.Tx) (found bool, err error) {
		err = tx.Row(`SELECT EXISTS (SELECT 1 `+from+`)`, until).Scan(&found)
		return found, err
	})
	if err != nil || !found {
		return err
	}
	_, err = free(ctx, c.store, func(tx *sqlite.Tx) (struct{}, error) {
		_, err := tx.Exec(`DELETE `+from, until)
		return struct{}{}, err
	})
	return err
}

// unusedRow is the row of a blob that no record uses or that is being deleted.
type unusedRow struct {
	blobRow
	Deleting bool         `db:"deleting"`
	Claimed  bool         `db:"claimed"`
	Until    *scalar.Time `db:"until"` // expiry of the claim; nil for a claim of the server
}

// unusedBlobs deletes the blobs that no record uses.
func (c *collector) unusedBlobs(ctx context.Context) error {
	if !c.DryRun {
		var errs []error
		for _, d := range c.store.unfinished.take() {
			errs = append(errs, d.finish(ctx, true))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	// If the process that made an expired claim is still running, its upload fails, but no data is
	// lost.
	if err := c.deleteExpired(ctx, `FROM blob_pin WHERE expires_date <= ?`, c.expired(ClaimAge)); err != nil {
		return err
	}
	for after := int64(0); ctx.Err() == nil; {
		page, err := read(ctx, c.store, func(tx *sqlite.Tx) (page []unusedRow, err error) {
			err = tx.Select(&page, `SELECT
					id,
					backend,
					hash,
					size_bytes,
					deleting,
					CASE deleting
						WHEN 1 THEN deleting_until IS NULL OR deleting_until > ?
						ELSE EXISTS (SELECT 1 FROM blob_pin WHERE blob_id = blob.id AND (expires_date IS NULL OR expires_date > ?))
					END AS claimed,
					CASE deleting
						WHEN 1 THEN deleting_until
						ELSE (SELECT nullif(max(coalesce(expires_date, 1 << 62)), 1 << 62) FROM blob_pin WHERE blob_id = blob.id)
					END AS until
				FROM blob
				WHERE id > ? AND (deleting = 1 OR NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id))
				ORDER BY id LIMIT 100`, c.expiredDeletion(), c.expired(ClaimAge), after)
			return page, err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, row := range page {
			after = row.ID
			o := Orphan{Kind: OrphanBlob, Backend: row.Backend, Name: row.Hash, Size: row.Size}
			if row.Claimed {
				c.keep(o, c.keptUntil(row))
				continue
			}
			c.report(o, func() (bool, error) {
				if row.Deleting {
					return c.endDeletion(ctx, row.ID)
				}
				return c.store.DeleteUnused(ctx, row.ID)
			})
		}
	}
	return nil
}

// keptUntil returns the time when the claim or deletion of row counts as expired for this
// collection. It returns the zero time if the claim belongs to the server.
func (c *collector) keptUntil(row unusedRow) time.Time {
	switch {
	case row.Until == nil:
		return time.Time{}
	case row.Deleting:
		return row.Until.Time().Add(min(0, c.Age-deletionAge))
	}
	return row.Until.Time().Add(c.Age - ClaimAge)
}

// endDeletion finishes the deletion of a process that was killed. It reports whether it deleted
// the blob.
func (c *collector) endDeletion(ctx context.Context, id int64) (bool, error) {
	d, err := free(ctx, c.store, func(tx *sqlite.Tx) (*Deletion, error) {
		var due bool
		err := tx.Row(`SELECT deleting = 1 AND coalesce(deleting_until <= ?, 0) FROM blob WHERE id = ?`,
			c.expiredDeletion(), id).Scan(&due)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !due {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return c.store.beginDeletion(tx, id)
	})
	if err != nil || d == nil {
		return false, err
	}
	// If finish fails, the record stays hidden. A record must not reappear long after a user
	// has deleted it.
	err = d.finish(ctx, true)
	return err == nil, err
}

// staged deletes the expired staged bytes in a backend.
func (c *collector) staged(ctx context.Context, name Backend, b blob.Store) error {
	olderThan := c.store.clock().Add(-c.stagedAge)
	all := olderThan.AddDate(1, 0, 0) // includes future dates, which come from the clocks of other machines
	return b.WalkStaged(ctx, all, func(i blob.StagedInfo) error {
		o := Orphan{Kind: OrphanStaged, Backend: name, Name: i.Name, Size: i.Size}
		if !i.Modified.Before(olderThan) {
			c.keep(o, i.Modified.Add(c.stagedAge))
			return ctx.Err()
		}
		c.report(o, func() (bool, error) {
			err := b.DeleteStaged(ctx, i.Name)
			return err == nil, err
		})
		return ctx.Err()
	})
}

// unknownBlobs deletes the blobs in a backend that have no row in the blob table. A commit inserts
// the row before it puts the bytes in place. A blob without a row therefore does not belong to a
// running upload.
func (c *collector) unknownBlobs(ctx context.Context, name Backend, b blob.Store) error {
	return b.Walk(ctx, func(i blob.Info) error {
		known, err := read(ctx, c.store, func(tx *sqlite.Tx) (known bool, err error) {
			err = tx.Row(`SELECT EXISTS (SELECT 1 FROM blob WHERE backend = ? AND hash = ?)`, name, i.Hash).Scan(&known)
			return known, err
		})
		if err != nil || known {
			return err
		}
		c.report(Orphan{Kind: OrphanBlob, Backend: name, Name: i.Hash, Size: i.Size}, func() (bool, error) {
			return c.store.DeleteUnknown(ctx, name, i.Blob)
		})
		return ctx.Err()
	})
}

// expiredUploads deletes expired resumable uploads, and upload files that have no row in the upload
// table.
func (c *collector) expiredUploads(ctx context.Context) error {
	if err := c.deleteExpired(ctx, `FROM upload WHERE updated_date <= ?`, c.store.uploadExpiry()); err != nil {
		return err
	}
	expired, err := c.store.expiredFiles(ctx)
	if err != nil {
		return err
	}
	for _, o := range expired {
		c.report(o, func() (bool, error) {
			err := c.store.removeUploadFile(o.Name)
			return err == nil, err
		})
	}
	return nil
}
