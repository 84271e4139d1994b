package artifact

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"tracker/blob"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Bytes and rows can't be changed in one transaction. A claim is a row of the blob_pin table. It
// protects a blob from deletion while its bytes are put in place and until its record is inserted.
// A row of the blob table with deleting = 1 represents a blob that is being deleted. While a blob
// is being deleted, its records are hidden, and it can't be claimed.
//
// The claims and deletions of a killed process remain in the database. A server's claims and
// deletions have no expiry date: only one server can hold the database lock, so the next server
// ends them when it starts. The claims and deletions of other processes have an expiry date,
// because those processes might still be running when a server starts.
const (
	// ClaimAge is the time after which the claim of a command expires. ClaimAge is longer than
	// the time needed to put received bytes in place.
	ClaimAge = time.Hour
	// deletionAge is the time after which the deletion of a command expires. deletionAge is
	// longer than deleteTimeout, the time after which the command stops.
	deletionAge   = 5 * time.Minute
	deleteTimeout = time.Minute

	// maxDeletionWait is the maximum time that a claim waits for the end of a deletion.
	maxDeletionWait   = 10 * time.Second
	deletionWaitPause = 20 * time.Millisecond
)

// expiry returns the expiry date of a new claim or deletion. It returns nil if this process is
// the server.
func (s *Store) expiry(age time.Duration) *scalar.Time {
	if s.db.Exclusive() {
		return nil
	}
	return new(s.now() + scalar.Time(age.Milliseconds()))
}

// isUsed is an SQL condition on a row of the blob table. It is true if a record or an unexpired
// claim refers to the row. The parameter of the condition is the current time.
const isUsed = `(EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
	OR EXISTS (SELECT 1 FROM blob_pin WHERE blob_pin.blob_id = blob.id
		AND (blob_pin.expires_date IS NULL OR blob_pin.expires_date > ?)))`

// Claim protects a blob from deletion.
type Claim struct {
	store *Store
	id    int64
	blob  int64
}

// claim claims a blob. The blob need not exist yet. If the blob is being deleted, claim waits.
// It returns ErrDeleting if the deletion takes longer than maxDeletionWait.
func (s *Store) claim(ctx context.Context, name Backend, b blob.Blob) (*Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, maxDeletionWait)
	defer cancel()
	for {
		c, err := write(ctx, s, func(tx *sqlite.Tx) (*Claim, error) { return s.insertClaim(tx, name, b) })
		if !errors.Is(err, ErrDeleting) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ErrDeleting
		case <-time.After(deletionWaitPause):
		}
	}
}

func (s *Store) insertClaim(tx *sqlite.Tx, name Backend, b blob.Blob) (*Claim, error) {
	c := &Claim{store: s}
	var deleting bool
	var until *scalar.Time
	err := tx.Row(`SELECT id, deleting, deleting_until FROM blob WHERE backend = ? AND hash = ?`,
		name, b.Hash).Scan(&c.blob, &deleting, &until)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = tx.Row(`INSERT INTO blob (backend, hash, size_bytes) VALUES (?, ?, ?) RETURNING id`,
			name, b.Hash, b.Size).Scan(&c.blob)
	case err == nil && deleting && (until == nil || *until > s.now()):
		err = ErrDeleting
	case err == nil && deleting:
		// The process that was deleting the blob was killed. Delete the hidden records and
		// reuse the row for the new bytes.
		err = endDeletion(tx, c.blob)
	}
	if err != nil {
		return nil, err
	}
	err = tx.Row(`INSERT INTO blob_pin (blob_id, expires_date) VALUES (?, ?) RETURNING id`,
		c.blob, s.expiry(ClaimAge)).Scan(&c.id)
	return c, err
}

// Use ends the claim and returns the id of the blob. It must be called in the transaction that
// inserts the record. If the claim no longer exists, the bytes might have been deleted, and Use
// returns ErrClaimLost.
func (c *Claim) Use(tx *sqlite.Tx) (blobID int64, err error) {
	n, err := tx.Exec(`DELETE FROM blob_pin WHERE id = ?`, c.id)
	if err == nil && n == 0 {
		err = ErrClaimLost
	}
	return c.blob, err
}

// Release ends a claim that was not used. It deletes the blob if no record and no other claim
// uses the blob. If the deletion fails, a later collection deletes the blob.
func (c *Claim) Release(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	err := c.store.db.Write(ctx, sqlite.Upkeep|sqlite.Freeing, func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`DELETE FROM blob_pin WHERE id = ?`, c.id)
		return err
	})
	if err == nil {
		_, err = c.store.DeleteUnused(ctx, c.blob)
	}
	if err != nil {
		c.store.log.Warn("could not delete the bytes of a failed upload; will try again later", "error", err)
	}
}

// keep renews the claim until end is called. A very large blob needs renewals, because putting
// the blob in place and reading it back can take longer than ClaimAge. If the renewals fail, a
// collection can delete the claim, and Use returns ErrClaimLost.
func (c *Claim) keep() (end func()) {
	ended := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(ClaimAge / 4)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				// Ignore the error: the claim lasts for four ticks, and the next tick renews
				// the claim.
				_ = change(context.Background(), c.store, func(tx *sqlite.Tx) error {
					_, err := tx.Exec(`UPDATE blob_pin SET expires_date = ? WHERE id = ?`, c.store.expiry(ClaimAge), c.id)
					return err
				})
			}
		}
	})
	return func() {
		close(ended)
		renewing.Wait()
	}
}

// Recover ends the claims and deletions of a server that was killed. Recover must be called before
// other methods, by the process that holds the database lock.
func (s *Store) Recover() error {
	return change(context.Background(), s, func(tx *sqlite.Tx) error {
		if _, err := tx.Exec(`DELETE FROM blob_pin WHERE expires_date IS NULL OR expires_date <= ?`, s.now()); err != nil {
			return err
		}
		// Date 0 is in the past, so the next collection finishes the deletions.
		_, err := tx.Exec(`UPDATE blob SET deleting_until = 0 WHERE deleting = 1 AND deleting_until IS NULL`)
		return err
	})
}
