package sqlite

import "golang.org/x/sys/unix"

const setOpenFileLock = unix.F_OFD_SETLK
