package sqlite

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// reservedReaders is the number of connections that only ReadShort can use. A short read takes
// well under a millisecond. Two connections can serve thousands of short reads a second.
const reservedReaders = 2

// Read runs fn on a snapshot of the file. The first statement of fn takes the snapshot. If Read
// returns ErrClosed, fn did not run.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	return db.read(ctx, nil, fn)
}

// ReadShort is like Read, for a function that does only a few look-ups by key. It can also use
// reserved connections, so it does not wait for long reads.
func (db *DB) ReadShort(ctx context.Context, fn func(*Tx) error) error {
	return db.read(ctx, db.reserved, fn)
}

// read is like Read. If reserved is not nil, read can also use connections of reserved.
func (db *DB) read(ctx context.Context, reserved *pool, fn func(*Tx) error) error {
	if db.opts.OnRead != nil {
		db.opts.OnRead(ctx)
	}
	c, from, err := db.reader(ctx, reserved)
	if err != nil {
		return err
	}
	// BEGIN and COMMIT ignore ctx. An interrupted BEGIN might have succeeded, and the next
	// BEGIN on this connection would fail. Without COMMIT, the connection would keep its
	// snapshot.
	tx := &Tx{conn: c, ctx: context.Background()}
	if _, err = tx.Exec(`BEGIN`); err == nil {
		tx.ctx = ctx
		err = call(fn, tx)
		tx.ctx = context.Background()
		if _, e := tx.Exec(`COMMIT`); e != nil {
			err = errors.Join(err, e, c.close())
			c = nil
		}
	}
	from.put(c)
	return err
}

// Ping checks the database. The file must be readable, a query must succeed, and the last write
// must not have failed with an I/O error. Ping returns ErrTaken, ErrMoved or ErrOverwritten if
// this process must no longer write to the file.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.writable(); err != nil {
		return err
	}
	if db.files.changed() {
		db.wake() // the writer checks whether a checkpoint has changed the file
	}
	if err := readStart(db.files.db); errors.Is(err, os.ErrClosed) {
		return ErrClosed
	} else if err != nil {
		return err
	}
	if failed := db.ioError.Load(); failed != nil {
		return *failed
	}
	return db.ReadShort(ctx, func(tx *Tx) error {
		var one int
		if err := tx.Row(`SELECT 1`).Scan(&one); err != nil {
			return err
		}
		return db.checkOwner(tx)
	})
}

// writable returns an error if this process must no longer write to the files.
func (db *DB) writable() error {
	if lost := db.lost.Load(); lost != nil {
		return *lost
	}
	return db.files.check(db.path)
}

// readStart reads the first bytes of the file from the file system. A query is not sufficient,
// because SQLite can answer it from memory even if the file system is gone.
func readStart(f *os.File) error {
	var magic [16]byte
	_, err := f.ReadAt(magic[:], 0)
	if err == nil && string(magic[:]) != "SQLite format 3\x00" {
		err = fileError(Damaged, nil, "%s is damaged: it does not begin with the header of a SQLite file; restore a backup, or choose another file", f.Name())
	}
	return err
}

// pool holds connections for reading. It prefers the connection that was returned last, which
// has the most recent pages in its cache.
type pool struct {
	free chan struct{} // one element for each available connection
	mu   sync.Mutex
	idle []*conn // open connections that are not in use
}

func newPool(size int) *pool { return &pool{free: make(chan struct{}, size)} }

// open makes all connections of the pool available.
func (p *pool) open() {
	for range cap(p.free) {
		p.free <- struct{}{}
	}
}

// waiting returns the channel that a caller must receive from before take. It returns nil if p
// is nil.
func (p *pool) waiting() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.free
}

// take returns the available connection that was returned last. It returns nil if the caller
// must open a new connection.
func (p *pool) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

// put returns a connection to the pool. c is nil if the connection was closed or never opened.
func (p *pool) put(c *conn) {
	if c != nil {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	p.free <- struct{}{}
}

// close waits until all connections are available and closes them.
func (p *pool) close() {
	for range cap(p.free) {
		<-p.free
		if c := p.take(); c != nil {
			c.close()
		}
	}
}

// reader waits for a connection from db.readers or, if reserved is not nil, from reserved. It
// stops waiting when ctx ends. The caller must call from.put(c).
func (db *DB) reader(ctx context.Context, reserved *pool) (c *conn, from *pool, err error) {
	select {
	case <-db.closing.Done():
		return nil, nil, ErrClosed
	default:
	}
	select {
	case <-db.readers.waiting():
		from = db.readers
	case <-reserved.waiting():
		from = reserved
	case <-db.closing.Done(): // Close needs all connections
		return nil, nil, ErrClosed
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if c = from.take(); c == nil {
		// A new connection must not open or create another file at the path.
		if err = db.writable(); err == nil {
			c, err = openConn(ctx, db.readDB)
		}
		if err != nil {
			from.put(nil)
		}
	}
	return c, from, err
}

// ReadParallel calls fn for each part and returns the results in the order of the parts. Each
// call has its own snapshot. The calls run in one goroutine per core. ReadParallel stops at the
// first error.
func ReadParallel[P, R any](ctx context.Context, db *DB, parts []P, fn func(*Tx, P) (R, error)) ([]R, error) {
	results, failures := make([]R, len(parts)), make([]error, len(parts))
	var next atomic.Int64
	var failed atomic.Bool
	var wait sync.WaitGroup
	for range min(len(parts), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(parts)) && !failed.Load(); i = next.Add(1) - 1 {
				failures[i] = db.Read(ctx, func(tx *Tx) (err error) {
					results[i], err = fn(tx, parts[i])
					return err
				})
				if failures[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}
