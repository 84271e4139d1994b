//go:build unix && !linux && !darwin

package sqlite

import "os"

// These systems do not have locks of an open file that leave SQLite's locks alone.

func lockRange(*os.File, bool) error { return nil }

func unlockRange(*os.File) error { return nil }

func holder(*os.File) (pid int, found bool) { return 0, false }
