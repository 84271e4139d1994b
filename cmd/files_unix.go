//go:build unix

package cmd

import (
	"math"
	"syscall"
)

// maxFiles returns the maximum number of open files of this process.
func maxFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxInt32
	}
	return uint64(l.Cur)
}
