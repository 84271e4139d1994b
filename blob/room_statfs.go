//go:build linux || darwin

package blob

import "syscall"

// room is how many bytes can still be written below a path.
func room(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
