//go:build unix

package blob

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the directory entries of a folder durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isFull reports whether err means a full disk, or a quota or size limit.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// isReadOnly reports whether err means a read-only file system.
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
