//go:build unix

package mlflow_test

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process so far. ok is false if the time is
// unknown.
func processorTime() (t time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
