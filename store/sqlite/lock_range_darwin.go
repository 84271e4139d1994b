package sqlite

// setOpenFileLock is F_OFD_SETLK of <sys/fcntl.h>.
const setOpenFileLock = 90
