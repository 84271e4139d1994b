//go:build linux || darwin

package blob

import "syscall"

// FreeSpace returns the number of bytes that can be written below path.
func FreeSpace(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return available(s.Blocks*uint64(s.Bsize), s.Bavail*uint64(s.Bsize)), nil
}
