//go:build !unix

package cmd

import "math"

// maxFiles returns a number that sets no limit in practice.
func maxFiles() uint64 { return math.MaxInt32 }
