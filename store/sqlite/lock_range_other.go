//go:build unix && !linux && !darwin

package sqlite

import "os"

// These systems have no file locks that are independent of SQLite's locks.

func lockRange(*os.File, bool) error { return nil }

func unlockRange(*os.File) error { return nil }

func holder(*os.File) (pid int, found bool) { return 0, false }
