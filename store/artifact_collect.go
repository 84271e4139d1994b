package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"tracker/blob"
)

// StrayAge is how long bytes without a name rest before they count as left
// over: longer than an upload pauses.
const StrayAge = time.Hour

// StrayKind tells what a stray is.
type StrayKind string

// The kinds of strays.
const (
	StrayContent StrayKind = "content" // whole bytes that no artifact has
	StrayStaged  StrayKind = "staged"  // bytes of an upload or migration that was interrupted
	StrayUpload  StrayKind = "upload"  // bytes of a resumable upload that has expired
)

// Stray is something that takes room and that nobody needs.
type Stray struct {
	Kind    StrayKind
	Backend Backend // "" for an upload, which lies in a folder of its own
	Name    string  // the hash of a content, the id of an upload, or what the backend calls it
	Size    int64   // in bytes, as far as it is known
	Err     error   // why it could not be removed

	// Spared says that it stays: an upload or a command may be at work on it, or
	// was when it was killed.
	Spared bool
	// Until is when it is not spared any more. It is zero for what the server
	// has claimed, which the next start of the server frees.
	Until time.Time
}

// CollectStrays calls found for everything that takes room and that nobody
// needs, in all backends that are set up, after it has removed it if remove is
// set. Others may go on reading and writing. Staged bytes count when they have
// rested for age; so do the claims of commands that were killed, which are those
// of a server only with the next start of it. Before that they are reported as
// spared. When a backend can't be looked into, it goes on with the next one and
// returns the error in the end.
func (db *DB) CollectStrays(ctx context.Context, age time.Duration, remove bool, found func(Stray)) error {
	db.collecting.Lock()
	defer db.collecting.Unlock()
	c := &collection{db: db, age: age, remove: remove, found: found}
	errs := []error{c.unused(ctx)}
	for _, name := range db.places() {
		s, err := db.place(ctx, name)
		if s == nil {
			errs = append(errs, err)
			continue
		}
		if err := errors.Join(c.staged(ctx, name, s), c.unknown(ctx, name, s)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, plainly(err)))
		}
	}
	errs = append(errs, c.uploads(ctx))
	return errors.Join(errs...)
}

// RemoveLeftovers removes what uploads that were interrupted have left in a
// backend at least age ago. It returns how many there were and their bytes.
func (db *DB) RemoveLeftovers(ctx context.Context, name Backend, age time.Duration) (n int, size int64, err error) {
	s, err := db.BlobStore(name)
	if err != nil {
		return 0, 0, plainly(err)
	}
	c := &collection{db: db, age: age, remove: true, found: func(s Stray) {
		switch {
		case s.Err != nil:
			err = s.Err
		case !s.Spared:
			n, size = n+1, size+s.Size
		}
	}}
	if failed := c.staged(ctx, name, s); failed != nil {
		err = failed
	}
	return n, size, plainly(err)
}

// collection is one run of CollectStrays.
type collection struct {
	db     *DB
	age    time.Duration
	remove bool
	found  func(Stray)
}

// tell removes a stray, if that is wanted, and reports it, unless somebody
// needs it meanwhile.
func (c *collection) tell(s Stray, remove func() (bool, error)) {
	if c.remove {
		done, err := remove()
		if !done && err == nil {
			return
		}
		s.Err = plainly(err)
	}
	c.found(s)
}

// since is the date that a claim which is good for so long has if it was made
// before the age of the collection.
func (c *collection) since(now Time, good time.Duration) Time {
	return now + Time(good.Milliseconds()) - Time(c.age.Milliseconds())
}

// spare reports a stray that is due later; at the zero time when nobody knows.
func (c *collection) spare(s Stray, until time.Time) {
	s.Spared, s.Until = true, until
	c.found(s)
}

// unused finds blobs that a row speaks of and no artifact has.
func (c *collection) unused(ctx context.Context) error {
	if c.remove {
		// Whose pin is taken away although it is alive fails, and loses nothing.
		err := change(ctx, c.db, System, func(tx *tx) error {
			_, err := tx.exec(`DELETE FROM blob_pin WHERE expires_date <= ?`, c.since(tx.now, pinAge))
			return err
		})
		if err != nil {
			return err
		}
	}
	type row struct {
		removal
		Deleting bool  `db:"deleting"`
		Claimed  bool  `db:"claimed"`
		Until    *Time `db:"until"` // of the claim; NULL for the server's
	}
	for after := int64(0); ; {
		page, err := read(ctx, c.db, func(tx *tx) (page []row, err error) {
			pinned, marked := c.since(tx.now, pinAge), max(tx.now, c.since(tx.now, deletingAge))
			err = tx.all(&page, `SELECT
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
				ORDER BY id LIMIT 100`, marked, pinned, after)
			return page, err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, b := range page {
			after = b.ID
			stray := Stray{Kind: StrayContent, Backend: b.Backend, Name: b.Hash, Size: b.Size}
			if b.Claimed {
				c.spare(stray, c.freed(b.Until, b.Deleting))
				continue
			}
			c.tell(stray, func() (bool, error) {
				if b.Deleting {
					return c.endDelete(ctx, b.ID)
				}
				return c.db.removeBlob(ctx, b.ID)
			})
		}
	}
}

// freed is when a claim does not count any more, after the age of the
// collection; the zero time for one of the server.
func (c *collection) freed(until *Time, deleting bool) time.Time {
	switch {
	case until == nil:
		return time.Time{}
	case deleting:
		return until.Time().Add(min(0, c.age-deletingAge))
	}
	return until.Time().Add(c.age - pinAge)
}

// endDelete carries out the removal of a process that was killed.
func (c *collection) endDelete(ctx context.Context, id int64) (bool, error) {
	r, err := write(ctx, c.db, System, func(tx *tx) (*removal, error) {
		var due bool
		err := tx.row(`SELECT deleting = 1 AND coalesce(deleting_until <= ?, 0) FROM blob WHERE id = ?`,
			max(tx.now, c.since(tx.now, deletingAge)), id).Scan(&due)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !due {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		r, err := tx.mark(id)
		return &r, err
	})
	if err != nil || r == nil {
		return false, err
	}
	err = c.db.carryOut(ctx, *r, true)
	return err == nil, err
}

// staged finds what has no name in a backend.
func (c *collection) staged(ctx context.Context, name Backend, s blob.Store) error {
	olderThan := c.db.now().Add(-c.age)
	all := olderThan.AddDate(1, 0, 0) // also what the clock of another machine dates
	return s.Leftovers(ctx, all, func(l blob.Leftover) error {
		stray := Stray{Kind: StrayStaged, Backend: name, Name: l.Name, Size: l.Size}
		if !l.Modified.Before(olderThan) {
			c.spare(stray, l.Modified.Add(c.age))
			return ctx.Err()
		}
		c.tell(stray, func() (bool, error) {
			err := s.Remove(ctx, l)
			return err == nil, err
		})
		return ctx.Err()
	})
}

// unknown finds the bytes in a backend of which no row speaks. Whoever puts
// bytes in their place makes the row first, so nobody is about to.
func (c *collection) unknown(ctx context.Context, name Backend, s blob.Store) error {
	return s.Walk(ctx, func(f blob.Found) error {
		known, err := read(ctx, c.db, func(tx *tx) (known bool, err error) {
			err = tx.row(`SELECT EXISTS (SELECT 1 FROM blob WHERE backend = ? AND hash = ?)`, name, f.Hash).Scan(&known)
			return known, err
		})
		if err != nil || known {
			return err
		}
		c.tell(Stray{Kind: StrayContent, Backend: name, Name: f.Hash, Size: f.Size}, func() (bool, error) {
			return c.db.removeUnknown(ctx, name, f.Blob)
		})
		return ctx.Err()
	})
}

// removeUnknown removes bytes of which no row speaks. It makes one for as long
// as that takes, so that an upload of the same bytes waits.
func (db *DB) removeUnknown(ctx context.Context, name Backend, b blob.Blob) (bool, error) {
	r, err := write(ctx, db, System, func(tx *tx) (*removal, error) {
		r := removal{Backend: name, Hash: b.Hash, Size: b.Size, until: tx.until(deletingAge)}
		err := tx.row(`INSERT INTO blob (backend, hash, size_bytes, deleting, deleting_until) VALUES (?, ?, ?, 1, ?)
			ON CONFLICT (backend, hash) DO NOTHING RETURNING id`, name, b.Hash, b.Size, r.until).Scan(&r.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return &r, err
	})
	if err != nil || r == nil {
		return false, err
	}
	err = db.carryOut(ctx, *r, false)
	return err == nil, err
}

// uploads finds resumable uploads that have expired, and files that none has.
func (c *collection) uploads(ctx context.Context) error {
	old, err := c.db.oldUploads(ctx)
	if err == nil && c.remove {
		err = c.db.removeOldUploads(ctx)
	}
	if err != nil {
		return err
	}
	for _, s := range old {
		c.tell(s, func() (bool, error) {
			_, err := os.Stat(c.db.uploadPath(s.Name))
			if errors.Is(err, fs.ErrNotExist) {
				return true, nil
			}
			return false, err
		})
	}
	return nil
}

// oldUploads lists what removeOldUploads removes, as far as it takes room.
func (db *DB) oldUploads(ctx context.Context) (all []Stray, err error) {
	files, err := os.ReadDir(db.opts.UploadDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || db.now().Sub(info.ModTime()) < UploadAge || uuid.Validate(f.Name()) != nil {
			continue
		}
		kept, err := read(ctx, db, func(tx *tx) (kept bool, err error) {
			err = tx.row(`SELECT EXISTS (SELECT 1 FROM upload WHERE id = ? AND resource_id IS NULL AND updated_date > ?)`,
				f.Name(), tx.now-Time(UploadAge.Milliseconds())).Scan(&kept)
			return kept, err
		})
		if err != nil {
			return nil, err
		}
		if !kept {
			all = append(all, Stray{Kind: StrayUpload, Name: f.Name(), Size: info.Size()})
		}
	}
	return all, nil
}

// UsedBackends are the backend where new bytes go, and those where there are
// some.
func (db *DB) UsedBackends(ctx context.Context) ([]Backend, error) {
	return read(ctx, db, func(tx *tx) (all []Backend, err error) {
		err = tx.all(&all, `SELECT DISTINCT backend FROM blob UNION SELECT ? ORDER BY 1`, db.DefaultBackend())
		return all, err
	})
}

// places are the backends that are set up.
func (db *DB) places() []Backend {
	return append([]Backend{Inline}, slices.Sorted(maps.Keys(db.backends.Open))...)
}

// place opens a backend to look into it. One that can't be opened and that no
// row speaks of is not in use: nil without an error.
func (db *DB) place(ctx context.Context, name Backend) (blob.Store, error) {
	s, err := db.BlobStore(name)
	if err == nil {
		return s, nil
	}
	used, failed := read(ctx, db, func(tx *tx) (used bool, err error) {
		err = tx.row(`SELECT EXISTS (SELECT 1 FROM blob WHERE backend = ?)`, name).Scan(&used)
		return used, err
	})
	if failed != nil || !used {
		return nil, failed
	}
	return nil, fmt.Errorf("%s: %w", name, plainly(err))
}
