package blob

import (
	"errors"

	"golang.org/x/sys/windows"
)

// syncDir does nothing. NTFS journals directory entries, and Windows can't flush a folder with
// this API.
func syncDir(string) error { return nil }

// isFull reports whether err means a full disk or a quota.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// isReadOnly reports whether err means a read-only disk.
func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
