//go:build !unix

package cmd

import "math"

// maxFiles returns a number that bounds nothing.
func maxFiles() uint64 { return math.MaxInt32 }
