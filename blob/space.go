package blob

import "math"

// available returns the number of bytes that can be written to a file system with the given
// total and free bytes. If total is 0, available returns math.MaxInt64, because some network
// and FUSE file systems report 0 for both numbers.
func available(total, free uint64) int64 {
	if total == 0 {
		return math.MaxInt64
	}
	return int64(min(free, math.MaxInt64))
}
