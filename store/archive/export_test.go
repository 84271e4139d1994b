package archive

import "time"

// SetWait sets the maximum time that an export waits for other exports.
func (db *DB) SetWait(d time.Duration) { db.wait = d }

// Occupy takes all export slots and returns a function that frees one slot.
func (db *DB) Occupy() (free func()) {
	for range maxExports {
		db.exporting <- struct{}{}
	}
	return func() { <-db.exporting }
}
