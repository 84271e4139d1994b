package blob

import (
	"errors"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: NTFS journals names by itself, and a folder can't be
// flushed through this interface.
func syncDir(string) error { return nil }

// isFull tells that there is no room left, or a quota is reached.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// isReadOnly tells that the disk takes no writes.
func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
