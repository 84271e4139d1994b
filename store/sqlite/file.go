package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

// PageSize is the page size of a new file in bytes. A small commit writes one or two pages,
// whatever their size, so it writes fewer bytes if pages are small. SQLite's default of 4096
// bytes has no advantage for this program.
const PageSize = 1024

var readerPragmas = []string{"query_only(1)"}

// writerPragmas returns the pragmas of the writer's connection.
func (o Options) writerPragmas() []string {
	switch {
	case o.Scratch && o.MustExist: // SQLite can't change the mode of a file with a write-ahead log in use
		return []string{"synchronous(off)", "cache_size(-16000)"}
	case o.Scratch:
		return []string{"journal_mode(memory)", "synchronous(off)", "cache_size(-16000)"}
	}
	return []string{"journal_mode(wal)", "synchronous(full)", "cache_size(-16000)", "wal_autocheckpoint(4000)"}
}

// serverWait and commandWait are the maximum times that a connection waits for the lock of the
// file. A command waits longer, because a server might write all the time. SQLite tries to get
// the lock ten times a second, but a busy server holds the lock most of the time.
const (
	serverWait  = 10 * time.Second
	commandWait = time.Minute
)

// DSN returns the data source name of the file at path. The path must be absolute. The name
// includes the pragmas, so they apply to every connection of a pool.
func DSN(path string, pragmas ...string) string { return dsn(path, serverWait, pragmas...) }

func dsn(path string, wait time.Duration, pragmas ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows path, C:/…
	}
	all := append([]string{fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "foreign_keys(1)", "temp_store(memory)"}, pragmas...)
	u := url.URL{Scheme: "file", Path: slashed, RawQuery: url.Values{"_pragma": all}.Encode()}
	return u.String()
}

// createFile creates an empty file if the file does not exist. Only its owner can read the
// file, because it might contain secrets. SQLite creates the -wal and -shm files with the same
// mode.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// setPageSize sets the page size of an empty file. It does not change other files. It must be
// called before the file gets a write-ahead log.
func (o Options) setPageSize(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 0 {
		return err
	}
	size := cmp.Or(o.PageSize, PageSize)
	db, err := sqlx.Open("sqlite", DSN(path, fmt.Sprintf("page_size(%d)", size)))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM`)
	return errors.Join(err, db.Close())
}
