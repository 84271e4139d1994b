//go:build !linux

package tensorboard

// isNetwork returns false. Network file systems are recognized only on Linux.
func isNetwork(string) bool { return false }
