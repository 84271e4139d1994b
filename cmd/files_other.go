//go:build !unix

package cmd

import "math"

// maxFiles returns the maximum number of open files of this process. On this system there is no
// practical limit.
func maxFiles() uint64 { return math.MaxInt32 }
