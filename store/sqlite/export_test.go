package sqlite

import "time"

// SetMaxBatch sets how long a transaction accepts jobs. It must be called before the first write.
func (db *DB) SetMaxBatch(d time.Duration) { db.maxBatch = d }
