package blob_test

import (
	"math"
	"testing"

	"tracker/blob"
)

// A file system that reports zeros is not treated as full.
func TestAvailable(t *testing.T) {
	for _, tt := range []struct {
		total, free uint64
		want        int64
	}{
		{0, 0, math.MaxInt64},
		{1 << 40, 0, 0},
		{1 << 40, 1 << 30, 1 << 30},
		{math.MaxUint64, math.MaxUint64, math.MaxInt64},
	} {
		if got := blob.Available(tt.total, tt.free); got != tt.want {
			t.Errorf("%d free of %d: %d are available, want %d", tt.free, tt.total, got, tt.want)
		}
	}
}
