package sqlite

import "time"

// SetMaxBatch sets how long a transaction takes jobs. It is called before the first write.
func (db *DB) SetMaxBatch(d time.Duration) { db.maxBatch = d }
