// Package store is the domain: the records, their rules, who may do what, and
// the SQL that keeps them in one SQLite file.
//
// Every method that a person can reach takes the acting user first and checks
// permission, existence and state in the transaction that does the work.
// Errors are *Error, or become one with AsError. All methods are safe for
// concurrent use.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/crypto/bcrypt"
	_ "modernc.org/sqlite" // the driver
)

func init() { sqlx.BindDriver("sqlite", sqlx.QUESTION) }

// Options say how a database is opened.
type Options struct {
	// Path of the SQLite file; it is made, with its folder, when it is not there.
	Path string
	// Exclusive takes the lock file beside the database, as a server does.
	// Open fails when another process has it.
	Exclusive bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger gets what no caller can be told; nil discards it.
	Logger *slog.Logger
	// OnCommit is called by the writer after each transaction; nil is fine.
	OnCommit func(CommitStats)
	// BcryptCost of new passwords; 0 means bcrypt.DefaultCost.
	BcryptCost int
	// Backends are where the bytes of artifacts lie; only the database itself
	// when it is left out.
	Backends Backends
	// UploadDir is the folder of artifacts that come in several requests, until
	// all of their bytes are there. It is made when it is needed; "" means a
	// folder beside the database.
	UploadDir string
	// MaxUpload is the size in bytes of the largest artifact; 0 for no limit.
	MaxUpload int64
}

// CommitStats describe one transaction of the writer.
type CommitStats struct {
	Pieces   int           // requests that shared it
	Duration time.Duration // from BEGIN to the end of COMMIT
	Err      error         // why it failed, or nil
}

// DB is an open database.
type DB struct {
	opts    Options
	path    string
	now     func() time.Time
	log     *slog.Logger
	lock    *fileLock
	writeDB *sqlx.DB
	readDB  *sqlx.DB

	writer  *conn
	queue   chan *piece
	closing chan struct{} // closed when no more is taken
	done    chan struct{} // closed when the writer has ended
	close   func() error

	readers chan *conn // nil for one not opened yet

	recents  *recents      // nil without Exclusive
	moved    chan struct{} // closed when nothing moves them any more
	unrolled chan int64    // series that are to be rolled up in the background

	searched chan searched // metrics that were searched for
	copied   chan struct{} // closed when nothing copies them any more

	backends   *backends
	unused     chan struct{} // asks for a collection
	collecting sync.Mutex    // held by a collection
	collected  chan struct{} // closed when nothing is collected any more
	uploads    uploadLocks

	ledger      ledger // the writer's own
	seen        seen
	dataVersion int64 // PRAGMA data_version at which it was loaded
	stale       bool  // it must be loaded again
	journal     *journal
	crowd       int // callers that were there at the end of the last transaction
}

// Open opens the database at o.Path, brings its schema up to date, and starts
// the writer. A file that is newer than this program, damaged, not a database
// of tracker, or not writable is refused with a sentence.
func Open(ctx context.Context, o Options) (*DB, error) {
	path, err := resolve(o.Path)
	if err != nil {
		return nil, err
	}
	db := &DB{
		opts:        o,
		path:        path,
		now:         o.Now,
		log:         o.Logger,
		queue:       make(chan *piece, 1024),
		closing:     make(chan struct{}),
		done:        make(chan struct{}),
		readers:     make(chan *conn, 2*runtime.NumCPU()),
		searched:    make(chan searched, 16),
		copied:      make(chan struct{}),
		unused:      make(chan struct{}, 1),
		collected:   make(chan struct{}),
		dataVersion: -1,
		journal:     newJournal(),
		moved:       make(chan struct{}),
		unrolled:    make(chan int64, 1024),
	}
	if db.now == nil {
		db.now = time.Now
	}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	if db.opts.BcryptCost == 0 {
		db.opts.BcryptCost = bcrypt.DefaultCost
	}
	if err := db.open(ctx); err != nil {
		db.closeFiles()
		return nil, openError(path, err)
	}
	if db.opts.UploadDir == "" {
		db.opts.UploadDir = db.path + ".uploads"
	}
	db.backends = newBackends(db, o.Backends)
	db.close = sync.OnceValue(db.end)
	go db.run()
	go db.copySearched()
	go db.move()
	if o.Exclusive {
		if err := db.recover(); err != nil {
			close(db.collected)
			return nil, errors.Join(openError(path, err), db.Close())
		}
	}
	go db.collectInBackground()
	return db, nil
}

// resolve returns the absolute path of a database file, behind links where it
// is there: whoever comes by another name must meet the same lock.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return abs, nil // it is not there yet, or opening it will tell what is wrong
	}
	return target, nil
}

func (db *DB) open(ctx context.Context) error {
	if err := createFile(db.path); err != nil {
		return err
	}
	if db.opts.Exclusive {
		lock, err := lockFile(lockPath(db.path))
		if err != nil {
			return err
		}
		db.lock = lock
	}
	if err := setPageSize(ctx, db.path); err != nil {
		return err
	}
	var err error
	if db.writeDB, err = sqlx.Open("sqlite", dsn(db.path, writerPragmas...)); err != nil {
		return err
	}
	db.writeDB.SetMaxOpenConns(1)
	if db.readDB, err = sqlx.Open("sqlite", dsn(db.path, readerPragmas...)); err != nil {
		return err
	}
	if err := db.recognise(ctx); err != nil {
		return err
	}
	if db.writer, err = openConn(ctx, db.writeDB); err != nil {
		return err
	}
	if err := db.migrate(ctx); err != nil {
		return err
	}
	if db.opts.Exclusive {
		if db.recents, err = loadRecents(&tx{conn: db.writer, ctx: ctx, db: db}); err != nil {
			return err
		}
	}
	for range cap(db.readers) {
		db.readers <- nil
	}
	return nil
}

// recognise refuses a file that is not ours before anything changes it: the
// writer's first act is to give it a write-ahead log.
func (db *DB) recognise(ctx context.Context) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	c, err := openConn(ctx, db.readDB)
	if err != nil {
		return err
	}
	_, err = schemaVersion(&tx{conn: c, ctx: ctx}, db.path, len(all))
	return errors.Join(err, c.close())
}

// createFile makes an empty file that only its owner can read, for it will
// hold password hashes; SQLite gives the same mode to its companions.
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

// pageSize is that of a new file, in bytes. A commit of a few points writes a
// page or two, whatever its size; the pages of SQLite's own choice are twice as
// large and gain nothing here.
const pageSize = 1024

// setPageSize gives an empty file its pages; a file that has some keeps them.
// It must be done before the file gets a write-ahead log.
func setPageSize(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 0 {
		return err
	}
	db, err := sqlx.Open("sqlite", dsn(path, fmt.Sprintf("page_size(%d)", pageSize)))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM`)
	return errors.Join(err, db.Close())
}

var (
	writerPragmas = []string{"journal_mode(wal)", "synchronous(full)", "cache_size(-16000)", "wal_autocheckpoint(4000)"}
	readerPragmas = []string{"query_only(1)"}
)

// dsn carries every pragma, so that each connection of a pool has them.
func dsn(path string, pragmas ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/…
	}
	all := append([]string{"busy_timeout(10000)", "foreign_keys(1)", "temp_store(memory)"}, pragmas...)
	u := url.URL{Scheme: "file", Path: slashed, RawQuery: url.Values{"_pragma": all}.Encode()}
	return u.String()
}

// openError says in one sentence why the database at path can't be opened.
func openError(path string, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), isReadOnly(err):
		return fmt.Errorf("the database %s can't be written: give this user the right to write to its folder, or choose another place with SERVICE_DB_FILE (%w)", path, err)
	case isDamaged(err):
		return fmt.Errorf("%s is damaged or not a SQLite database: restore a backup with `tracker restore`, or choose another file with SERVICE_DB_FILE (%w)", path, err)
	case isFull(err):
		return fmt.Errorf("there is no room on the disk for the database %s: free some and start again (%w)", path, err)
	case isBusy(err):
		return fmt.Errorf("another process holds the database %s: end it, or try again in a moment (%w)", path, err)
	}
	return fmt.Errorf("the database %s can't be opened: %w", path, err)
}

// Close waits for the writes that were queued, checkpoints the write-ahead
// log into the database file, and closes it. Closing again does nothing.
func (db *DB) Close() error { return db.close() }

func (db *DB) end() error {
	close(db.closing)
	<-db.done
	<-db.copied
	<-db.moved
	<-db.collected
	for range cap(db.readers) {
		if c := <-db.readers; c != nil {
			c.close()
		}
	}
	_, err := db.writer.raw.ExecContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	if isFull(err) {
		err = fmt.Errorf("there is no room on the disk to bring %s-wal into the database: nothing is lost, keep both, and the next start does it (%w)",
			db.path, err)
	}
	return errors.Join(err, db.closeFiles())
}

func (db *DB) closeFiles() error {
	var errs []error
	if db.writer != nil {
		errs = append(errs, db.writer.close())
	}
	if db.readDB != nil {
		errs = append(errs, db.readDB.Close())
	}
	if db.writeDB != nil {
		errs = append(errs, db.writeDB.Close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.release())
	}
	return errors.Join(errs...)
}

// Path is the absolute path of the database file.
func (db *DB) Path() string { return db.path }

// Ping proves that the database answers a query.
func (db *DB) Ping(ctx context.Context) error {
	return db.ask(ctx, func(tx *tx) error {
		var one int
		return tx.row(`SELECT 1`).Scan(&one)
	})
}

// QueueLength is how many writes wait for the writer.
func (db *DB) QueueLength() int { return len(db.queue) }

// Size is the size in bytes of the database file and its write-ahead log.
func (db *DB) Size() (file, wal int64, err error) {
	info, err := os.Stat(db.path)
	if err != nil {
		return 0, 0, err
	}
	file = info.Size()
	if info, err = os.Stat(db.path + "-wal"); err == nil {
		wal = info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	return file, wal, nil
}
