package archive

import "time"

// SetWait sets how long an export waits for others.
func (db *DB) SetWait(d time.Duration) { db.wait = d }

// Occupy takes the places of all exports and returns a function that frees one.
func (db *DB) Occupy() (free func()) {
	for range maxExports {
		db.exporting <- struct{}{}
	}
	return func() { <-db.exporting }
}
