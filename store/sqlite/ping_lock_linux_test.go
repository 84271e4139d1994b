package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tracker/store/sqlite"
)

// locks returns the number of POSIX locks on a file.
func locks(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	wantOK(t, err)
	all, err := os.ReadFile("/proc/locks")
	wantOK(t, err)
	return strings.Count(string(all), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

// Ping must not release the locks of the connections. Otherwise, another program that reads the
// file would assume that it is the only user and remove the write-ahead log.
func TestPingKeepsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	db := open(t, exclusive(path))
	wantOK(t, db.Write(ctx, sqlite.Change, add("before")))
	before := locks(t, path)
	if before == 0 {
		t.Log("this system does not list locks")
		return
	}
	wantOK(t, db.Ping(ctx))
	if after := locks(t, path); after != before {
		t.Errorf("%d locks are left of %d", after, before)
	}
}
