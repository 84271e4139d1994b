// Package sqlite runs transactions on one SQLite file.
//
// A single goroutine, the writer, makes all changes. The writer runs all waiting jobs in one
// transaction, commits once and returns the result of each job. When Write returns nil, the
// changes are on disk. A failed job is rolled back to its savepoint and does not affect other
// jobs. If the transaction itself fails, the writer repeats its jobs one by one, so that each job
// gets its own result.
//
// Reads run concurrently with the writer, each on its own snapshot. A snapshot shows all
// commits before the read began and no later commits. Some connections are reserved for short
// reads, so that short reads do not wait for long reads.
//
// A Participant holds state in memory that belongs to the file. It writes its pending changes
// before each commit and is informed of the result of the transaction. It reloads its state after
// another process has changed the file.
//
// The Options define the schema. The package itself uses only the owner table. Errors are
// *FileError, ErrClosed, ErrTaken, ErrMoved, ErrOverwritten and errors from SQLite. The functions
// in error.go classify errors from SQLite.
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
	_ "modernc.org/sqlite" // registers the driver
)

func init() { sqlx.BindDriver("sqlite", sqlx.QUESTION) }

// Options configures Open.
type Options struct {
	// Path is the path of the file. Open creates the file and its directory if they do not
	// exist.
	Path string
	// Schema describes the tables of the file.
	Schema Schema
	// Participants take part in every transaction of the writer, in slice order.
	Participants []Participant
	// Exclusive makes Open lock the file. Open returns a *FileError if another process holds
	// the lock. The schema must have the table
	//
	//	owner (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL)
	//
	// The process that holds the lock stores its name in this table.
	Exclusive bool
	// MustExist makes Open return an error if the file is missing or empty.
	MustExist bool
	// Scratch makes commits faster because they do not wait for the disk. A crash can destroy
	// the file. A new file has no write-ahead log, so reads and writes wait for each other.
	Scratch bool
	// PageSize is the page size of a new file in bytes; 0 means the constant PageSize. Large
	// transactions need less work with large pages.
	PageSize int
	// Now returns the time for the names of copies; nil means time.Now.
	Now func() time.Time
	// Logger receives errors of background work. nil discards the errors.
	Logger *slog.Logger
	// Reserve is the size in bytes of the reserve, a file beside the database; 0 means no
	// reserve. When the disk is full, the writer releases the space of the reserve for a Freeing
	// job. Reserve requires Exclusive and FreeSpace.
	Reserve int64
	// FreeSpace returns the free bytes on the disk that contains dir.
	FreeSpace func(dir string) (int64, error)
	// ReservePause is the time between two attempts to write the reserve; 0 means ten seconds.
	ReservePause time.Duration
	// OnCommit is called by the writer after each transaction. It can be nil.
	OnCommit func(CommitStats)
	// OnRead is called before each read, with the context of the read. It can be nil.
	OnRead func(context.Context)
}

// CommitStats describes one transaction of the writer.
type CommitStats struct {
	Jobs     int           // number of jobs in the transaction
	Duration time.Duration // time from BEGIN until COMMIT has returned
	Err      error         // error of the transaction, or nil
}

// DB is an open database file. Its methods are safe for concurrent use.
type DB struct {
	opts Options
	path string
	lock *fileLock

	reserve *reserve // nil if there is no reserve

	writeDB *sqlx.DB
	writer  *conn
	queue   chan *job
	done    chan struct{} // closed when the writer ends

	readDB   *sqlx.DB
	readers  *pool
	reserved *pool // connections that only ReadShort uses

	ioError atomic.Pointer[error] // I/O error since the last successful transaction, or nil

	owner string // name of this process in the owner table
	files opened
	lost  atomic.Pointer[error] // ErrOverwritten if the files were overwritten, else nil

	closing    context.Context // done when new jobs and reads are rejected
	stop       context.CancelFunc
	background sync.WaitGroup
	close      func() error

	// The fields below are used by the writer only.
	participants []Participant
	atBegin      []int64 // participants' marks at the beginning of the transaction
	atJob        []int64 // participants' marks at the beginning of the job
	dataVersion  int64   // PRAGMA data_version at the participants' last Load
	stale        bool    // whether the participants must reload their state
	lossLogged   bool
	batchSize    int // number of jobs in the last transaction plus jobs waiting at its end
	maxBatch     time.Duration
}

// Open opens the file, brings its schema up to date and starts the writer. It returns a
// *FileError if the file can't be used.
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

// resolve returns the absolute path of a file. If the file exists, resolve follows symbolic
// links, so that all names of a file lead to the same lock file.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return abs, nil // the file does not exist, or opening it will report the error
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
	if err := db.opts.setPageSize(ctx, db.path); err != nil {
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

// takeLocks opens the file. With Options.Exclusive, takeLocks takes the locks of a serving
// process. Without Exclusive, takeLocks checks that no process serves the file under another
// path.
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
		return db.SetNote("") // clear the note, because the log no longer exists
	}
	return nil
}

// recognise returns a *FileError if the file belongs to another application. It must run before
// the writer's connection is opened, because that connection creates a write-ahead log.
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

// Close closes the database. It rejects new jobs and reads. It waits for queued jobs, running
// reads and the functions of Go. It copies the write-ahead log into the file and closes the
// file. A second call does nothing.
//
// If the file was overwritten, Close does not change the file or its log. It leaves the
// connections open, because SQLite would copy the log when the last connection is closed.
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
	// The log remains if another program has a snapshot open. Close does not wait for the end of
	// that snapshot, because waiting would block a server's writes, and Litestream always has a
	// snapshot open.
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

// Go calls fn in the background. The context of fn ends when Close begins. Close waits until fn
// returns.
func (db *DB) Go(fn func(context.Context)) {
	db.background.Go(func() { fn(db.closing) })
}

// Path returns the absolute path of the file.
func (db *DB) Path() string { return db.path }

// Exclusive reports whether this process holds the lock of the file.
func (db *DB) Exclusive() bool { return db.lock != nil }

// QueueLength returns the number of jobs waiting for the writer.
func (db *DB) QueueLength() int { return len(db.queue) }

// QueueSize returns the maximum number of jobs that can wait for the writer.
func (db *DB) QueueSize() int { return cap(db.queue) }

// MaxReaders returns the maximum number of concurrent calls of Read.
func (db *DB) MaxReaders() int { return cap(db.readers.free) }

// Size returns the sizes of the file and of its write-ahead log in bytes.
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
