//go:build !unix

package transfertest_test

import (
	"testing"
	"time"
)

var begun = time.Now()

// cpuTime returns the time since the start, because the processor time is not available.
func cpuTime(testing.TB) time.Duration { return time.Since(begun) }
