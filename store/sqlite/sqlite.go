// Package sqlite is a transaction kernel on one SQLite file.
//
// All changes are made by one goroutine, the writer. It takes the waiting jobs, runs
// them in one transaction, commits once and then returns their results: when Write
// returns nil, the changes are on disk. A job that fails is rolled back alone, to a
// savepoint. If the transaction itself fails, its jobs are repeated one by one, and
// each gets its own result.
//
// Reads run concurrently with the writer, each on a snapshot, which shows the last
// commit before the read began and nothing later. Some connections are reserved for
// short reads, so that long ones can't keep them waiting.
//
// State in memory that belongs to the file takes part in each commit as a
// Participant: it writes its pending changes before the commit, is informed of the
// result of the transaction, and is loaded again after another process has changed
// the file.
//
// The Options define the schema; the package itself uses only the table owner. Errors are
// *FileError, ErrClosed, ErrTaken, ErrMoved, ErrOverwritten or errors of SQLite, which
// error.go classifies.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the driver
)

func init() { sqlx.BindDriver("sqlite", sqlx.QUESTION) }

// Options configure Open.
type Options struct {
	// Path is the path of the file. It is created, with its directory, if it does not exist.
	Path string
	// Schema is the schema of the file.
	Schema Schema
	// Participants take part in every commit, in this order.
	Participants []Participant
	// Exclusive makes Open take the lock file beside the database, or return an error if
	// another process has the lock. The schema must have the table
	//
	//	owner (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL)
	//
	// in which this process stores its name.
	Exclusive bool
	// MustExist makes Open return an error if the file is missing or empty.
	MustExist bool
	// Scratch is set for a file that is useless after a crash. Commits then do not wait for
	// the disk.
	Scratch bool
	// Now returns the time for the names of copies; nil means time.Now.
	Now func() time.Time
	// Logger gets errors that can't be returned to a caller; nil discards them.
	Logger *slog.Logger
	// Reserve is the size in bytes of a file beside the database whose space a Freeing job
	// may release on a full disk; 0 for none. It needs Exclusive and FreeSpace.
	Reserve int64
	// FreeSpace returns the number of bytes that can be written to the disk of a directory.
	FreeSpace func(dir string) (int64, error)
	// ReservePause is the time between two attempts to write the reserve again; 0 for
	// ten seconds.
	ReservePause time.Duration
	// OnCommit, if not nil, is called by the writer after each transaction.
	OnCommit func(CommitStats)
	// OnRead, if not nil, is called before each read, with its context.
	OnRead func(context.Context)
}

// CommitStats describes one transaction of the writer.
type CommitStats struct {
	Jobs     int           // number of jobs that shared it
	Duration time.Duration // from BEGIN to the end of COMMIT
	Err      error         // error of the transaction, or nil
}

// DB is an open file. Its methods are safe for concurrent use.
type DB struct {
	opts Options
	path string
	lock *fileLock

	reserve *reserve // nil for none

	writeDB *sqlx.DB
	writer  *conn
	queue   chan *job
	done    chan struct{} // closed when the writer has ended

	readDB   *sqlx.DB
	readers  *pool
	reserved *pool // used by ReadShort only

	ioError atomic.Pointer[error] // error of the last transaction; nil if it had none

	owner string // name of this process in table owner
	files opened
	lost  atomic.Pointer[error] // ErrOverwritten after the files were overwritten; nil before

	closing    context.Context // done when no more jobs and reads are accepted
	stop       context.CancelFunc
	background sync.WaitGroup
	close      func() error

	// Used by the writer only.
	participants []Participant
	atBegin      []int64 // marks of the participants at the beginning of the transaction
	atJob        []int64 // marks of the participants at the beginning of the job
	dataVersion  int64   // PRAGMA data_version at the last Load of the participants
	stale        bool    // the participants must be loaded again
	lossLogged   bool
	batchSize    int // number of jobs at the end of the last transaction
	maxBatch     time.Duration
}

// Open opens the file, brings its schema up to date and starts the writer. If the file
// can't be used, the error is a *FileError.
func Open(ctx context.Context, o Options) (*DB, error) {
	path, err := resolve(o.Path)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{
		opts:         o,
		path:         path,
		queue:        make(chan *job, 1024),
		done:         make(chan struct{}),
		readers:      newPool(2 * runtime.NumCPU()),
		reserved:     newPool(reservedReaders),
		participants: o.Participants,
		dataVersion:  -1,
		maxBatch:     maxBatch,
	}
	db.closing, db.stop = context.WithCancel(context.Background())
	db.close = sync.OnceValue(db.end)
	if err := db.open(ctx); err != nil {
		db.stop()
		db.closeFiles()
		return nil, OpenError(path, err)
	}
	if o.Exclusive && o.Reserve > 0 {
		db.reserve = newReserve(o, path)
	}
	go db.run()
	if db.reserve != nil {
		db.Go(func(ctx context.Context) {
			db.reserve.run(ctx, func(err error) {
				o.Logger.Warn("the reserve for a full disk could not be written", "file", db.reserve.path, "error", err)
			})
		})
	}
	return db, nil
}

// resolve returns the absolute path of a file. It follows links if the file exists, so
// that all names of a file have one lock.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return abs, nil // it does not exist yet, or opening it reports the error
	}
	return target, nil
}

func (db *DB) open(ctx context.Context) error {
	info, err := os.Stat(db.path)
	switch {
	case db.opts.MustExist && errors.Is(err, fs.ErrNotExist):
		return fileError(Missing, nil, "the file %s does not exist", db.path)
	case err == nil && info.Size() == 0 && db.opts.MustExist:
		return fileError(Empty, nil, "%s is an empty file, not a database of %s; restore a backup", db.path, db.opts.Schema.Application)
	case err == nil && info.Size() == 0:
		db.opts.Logger.Warn("the database file is empty; creating a new database in it", "file", db.path)
	}
	if err := createFile(db.path); err != nil {
		return err
	}
	if err := db.takeLocks(); err != nil {
		return err
	}
	if err := refuseHardLinks(db.path); err != nil {
		return err
	}
	if err := checkTruncation(db.path); err != nil {
		return err
	}
	if err := setPageSize(ctx, db.path); err != nil {
		return err
	}
	wait := serverWait
	if !db.opts.Exclusive {
		wait = commandWait
	}
	if db.writeDB, err = sqlx.Open("sqlite", dsn(db.path, wait, db.opts.writerPragmas()...)); err != nil {
		return err
	}
	db.writeDB.SetMaxOpenConns(1)
	if db.readDB, err = sqlx.Open("sqlite", DSN(db.path, readerPragmas...)); err != nil {
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
	if db.lock != nil {
		if err := db.claim(&Tx{conn: db.writer, ctx: ctx, writer: true}); err != nil {
			return err
		}
		notices, err := db.files.remember(db.path)
		if err != nil {
			return err
		}
		if !notices {
			db.opts.Logger.Warn("the index of the write-ahead log can't be read here: the server will not notice when another program overwrites the database",
				"file", db.path)
		}
	}
	db.readers.open()
	db.reserved.open()
	return nil
}

// takeLocks opens the file and takes the locks of a serving process, or checks that no
// other process serves the file under another path.
func (db *DB) takeLocks() (err error) {
	note := ""
	if db.opts.Exclusive {
		if db.lock, err = lockFile(db.path); err != nil {
			return err
		}
		note = db.lock.former
	} else {
		note = db.Note()
	}
	if db.files.db, err = os.OpenFile(db.path, os.O_RDWR, 0); err != nil {
		return err
	}
	if db.lock != nil {
		err = lockDatabase(db.files.db)
	} else {
		err = refuseOtherPath(db.files.db, db.path)
	}
	if err != nil {
		return err
	}
	if err := refuseOverwritten(db.path, note); err != nil {
		return err
	}
	if db.lock != nil && note == overwrittenNote {
		return db.SetNote("") // the log no longer exists
	}
	return nil
}

// recognise returns an error for a file of another application before anything changes
// the file: the writer's first act is to give it a write-ahead log.
func (db *DB) recognise(ctx context.Context) error {
	scripts, err := db.opts.Schema.Scripts()
	if err != nil {
		return err
	}
	c, err := openConn(ctx, db.readDB)
	if err != nil {
		return err
	}
	_, err = db.opts.Schema.version(&Tx{conn: c, ctx: ctx}, db.path, len(scripts))
	return errors.Join(err, c.close())
}

// Close rejects further jobs and reads, waits for the queued jobs, the running reads and
// the functions of Go, checkpoints the write-ahead log into the file, and closes it.
// Closing again does nothing. If the file was overwritten, Close leaves it and its log
// unchanged: the connections stay open, because SQLite copies the log when the last one
// is closed.
func (db *DB) Close() error { return db.close() }

func (db *DB) end() error {
	db.stop()
	<-db.done
	db.background.Wait()
	db.readers.close()
	db.reserved.close()
	if lost := db.lost.Load(); lost != nil {
		return errors.Join(*lost, db.files.close(), db.lock.release())
	}
	// The log stays if another program has a snapshot open. To wait for the end of the snapshot
	// would block the writes of a server, and Litestream always has one.
	_, err := db.writer.raw.ExecContext(context.Background(), `PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)`)
	if IsFull(err) {
		err = fmt.Errorf("not enough disk space to copy %s-wal into the database: nothing is lost; keep both files and free some space, and the next start copies it (%w)",
			db.path, err)
	}
	return errors.Join(err, db.closeFiles())
}

func (db *DB) closeFiles() error {
	var errs []error
	if closeFirst {
		errs = append(errs, db.files.close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.close())
	}
	if db.readDB != nil {
		errs = append(errs, db.readDB.Close())
	}
	if db.writeDB != nil {
		errs = append(errs, db.writeDB.Close())
	}
	if !closeFirst {
		errs = append(errs, db.files.close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.release())
	}
	return errors.Join(errs...)
}

// Go runs fn in the background. Its context ends when Close begins, and Close
// waits for fn.
func (db *DB) Go(fn func(context.Context)) {
	db.background.Go(func() { fn(db.closing) })
}

// Path returns the absolute path of the file.
func (db *DB) Path() string { return db.path }

// Exclusive reports whether this process has the lock of the file.
func (db *DB) Exclusive() bool { return db.lock != nil }

// QueueLength returns the number of jobs that wait for the writer.
func (db *DB) QueueLength() int { return len(db.queue) }

// QueueSize returns the maximum number of jobs that can wait for the writer.
func (db *DB) QueueSize() int { return cap(db.queue) }

// MaxReaders returns the maximum number of concurrent calls of Read.
func (db *DB) MaxReaders() int { return cap(db.readers.free) }

// Size returns the size in bytes of the file and of its write-ahead log.
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
