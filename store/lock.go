package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// fileLock is the sign of the one server of a database: a lock that the
// operating system drops when the process ends, however it ends, on a file
// that names the process. The file stays; only the lock on it counts.
type fileLock struct{ f *os.File }

var errLocked = errors.New("locked")

func lockPath(path string) string { return path + ".lock" }

// lockFile takes the lock, or says who has it.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = lock(f)
	if errors.Is(err, errLocked) {
		owner, readErr := io.ReadAll(io.LimitReader(f, 64))
		f.Close()
		who := "another process"
		if pid := strings.TrimSpace(string(owner)); readErr == nil && pid != "" {
			who = "process " + pid
		}
		return nil, Errorf(CodeUnavailable,
			"The database %s is already being served by %s; use that server, or end it first.",
			strings.TrimSuffix(path, ".lock"), who)
	}
	if err == nil {
		err = writeOwner(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &fileLock{f}, nil
}

func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

func (l *fileLock) release() error { return l.f.Close() }
