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

// Bytes and rows can't change in one transaction. A claim is a row of table
// blob_pin that keeps a blob from being deleted while its bytes are put in place
// and until its record is inserted. A blob whose row has deleting = 1 is being
// deleted: its records are hidden, and it can't be claimed.
//
// The claims and deletions of a killed process remain in the database. The claims and
// deletions of the server, which alone holds the lock of the database, have no expiry
// date; the next server ends them when it starts. The claims and deletions of other
// processes, which may be alive when a server starts, have an expiry date.
const (
	// ClaimAge is the time after which the claim of a command expires. It is longer
	// than the time needed to put received bytes in place.
	ClaimAge = time.Hour
	// deletionAge is the time after which the deletion of a command expires. It is
	// longer than deleteTimeout, after which the command gives up.
	deletionAge   = 5 * time.Minute
	deleteTimeout = time.Minute

	// maxDeletionWait is the maximum time that a claim waits for a deletion of the blob.
	maxDeletionWait   = 10 * time.Second
	deletionWaitPause = 20 * time.Millisecond
)

// expiry returns the expiry date of a claim or deletion of this process, or nil if this
// process is the server.
func (s *Store) expiry(age time.Duration) *scalar.Time {
	if s.db.Exclusive() {
		return nil
	}
	return new(s.now() + scalar.Time(age.Milliseconds()))
}

// isUsed is the SQL condition that a record or an unexpired claim refers to a row of
// blob. Its parameter is the present time.
const isUsed = `(EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
	OR EXISTS (SELECT 1 FROM blob_pin WHERE blob_pin.blob_id = blob.id
		AND (blob_pin.expires_date IS NULL OR blob_pin.expires_date > ?)))`

// Claim keeps a blob from being deleted.
type Claim struct {
	store *Store
	id    int64
	blob  int64
}

// claim claims a blob, which need not exist yet. It waits while the blob is being
// deleted, and returns ErrDeleting if that takes longer than maxDeletionWait.
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
		// The process that was deleting the blob was killed. Delete the hidden records;
		// the row gets the bytes that are about to be written.
		err = endDeletion(tx, c.blob)
	}
	if err != nil {
		return nil, err
	}
	err = tx.Row(`INSERT INTO blob_pin (blob_id, expires_date) VALUES (?, ?) RETURNING id`,
		c.blob, s.expiry(ClaimAge)).Scan(&c.id)
	return c, err
}

// Use ends the claim in the transaction that inserts the record, and returns the
// id of the blob. It returns ErrClaimLost if the claim does not exist any more, because
// the bytes may have been deleted too.
func (c *Claim) Use(tx *sqlite.Tx) (blobID int64, err error) {
	n, err := tx.Exec(`DELETE FROM blob_pin WHERE id = ?`, c.id)
	if err == nil && n == 0 {
		err = ErrClaimLost
	}
	return c.blob, err
}

// Release ends a claim that was not used, and deletes the blob if nothing else
// uses it. If that fails, a collection does it later.
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

// keep renews the claim until end is called, because it can take longer than ClaimAge to
// put a very large blob in place and read it back. If the renewals fail, the claim can be
// lost, and Use returns ErrClaimLost.
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
				// Ignore the error: the claim lasts for four ticks, and the next one tries again.
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

// Recover ends the claims and deletions of a server that was killed. It must be
// called before other methods, by a process that holds the lock of the database.
func (s *Store) Recover() error {
	return change(context.Background(), s, func(tx *sqlite.Tx) error {
		if _, err := tx.Exec(`DELETE FROM blob_pin WHERE expires_date IS NULL OR expires_date <= ?`, s.now()); err != nil {
			return err
		}
		// The date is in the past, so a collection ends the deletions.
		_, err := tx.Exec(`UPDATE blob SET deleting_until = 0 WHERE deleting = 1 AND deleting_until IS NULL`)
		return err
	})
}
