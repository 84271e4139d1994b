//go:build !linux

package tensorboard

// isNetwork reports whether a folder lies on a file system that is known to be one of
// another machine.
func isNetwork(string) bool { return false }
