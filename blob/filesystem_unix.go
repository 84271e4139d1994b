//go:build unix

package blob

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isFull tells that there is no room left, or a quota or limit is reached.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// isReadOnly tells that the file system takes no writes.
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
