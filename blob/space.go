package blob

import "math"

// available returns the number of bytes that can be written to a file system
// that reports these numbers of bytes. Some network and FUSE file systems
// report zero for both; in that case available returns math.MaxInt64.
func available(total, free uint64) int64 {
	if total == 0 {
		return math.MaxInt64
	}
	return int64(min(free, math.MaxInt64))
}
