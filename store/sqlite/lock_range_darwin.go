package sqlite

// setOpenFileLock is F_OFD_SETLK in <sys/fcntl.h>.
const setOpenFileLock = 90
