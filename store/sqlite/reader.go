package sqlite

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// reservedReaders is the number of connections that only ReadShort uses. Its reads take
// well under a millisecond, so two connections serve thousands a second.
const reservedReaders = 2

// Read runs fn on one snapshot of the file, which the first statement takes. ErrClosed
// means that fn did not run.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	return db.read(ctx, nil, fn)
}

// ReadShort is Read for a few look-ups by key. It can also use connections that
// Read does not use, so it need not wait for the end of long reads.
func (db *DB) ReadShort(ctx context.Context, fn func(*Tx) error) error {
	return db.read(ctx, db.reserved, fn)
}

// read is Read with the connections of a second pool; nil for none.
func (db *DB) read(ctx context.Context, reserved *pool, fn func(*Tx) error) error {
	if db.opts.OnRead != nil {
		db.opts.OnRead(ctx)
	}
	c, from, err := db.reader(ctx, reserved)
	if err != nil {
		return err
	}
	// An interrupted BEGIN may have succeeded, and the next one on this connection
	// would fail. COMMIT must also run if the caller has gone, or the connection
	// would keep its snapshot. So ctx does not end these two.
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

// Ping checks that the file can be read and queried, that this process may still write to
// it, and that the last write did not fail with an I/O error. It returns ErrTaken,
// ErrMoved or ErrOverwritten if this process must not write any more.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.writable(); err != nil {
		return err
	}
	if db.files.changed() {
		db.wake() // the writer checks whether it was a checkpoint
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

// writable returns an error if this process must not write to the files any more.
func (db *DB) writable() error {
	if lost := db.lost.Load(); lost != nil {
		return *lost
	}
	return db.files.check(db.path)
}

// readStart reads the first bytes of the file: SQLite can answer from memory
// if the file system is gone.
func readStart(f *os.File) error {
	var magic [16]byte
	_, err := f.ReadAt(magic[:], 0)
	if err == nil && string(magic[:]) != "SQLite format 3\x00" {
		err = fileError(Damaged, nil, "%s is damaged: it does not begin with the header of a SQLite file; restore a backup, or choose another file", f.Name())
	}
	return err
}

// pool holds connections for reading. It hands out the connection that was returned last,
// whose cached pages are the most recent ones.
type pool struct {
	free chan struct{} // has an element for each available connection
	mu   sync.Mutex
	idle []*conn // open connections; the others are opened when needed
}

func newPool(size int) *pool { return &pool{free: make(chan struct{}, size)} }

// open makes the connections available.
func (p *pool) open() {
	for range cap(p.free) {
		p.free <- struct{}{}
	}
}

// waiting returns the channel to receive from before take, or nil for a nil pool.
func (p *pool) waiting() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.free
}

// take returns the connection that was returned last, or nil if a new one must be
// opened.
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

// put returns a connection of take to the pool; nil if the connection was closed or not opened.
func (p *pool) put(c *conn) {
	if c != nil {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	p.free <- struct{}{}
}

// close waits for all connections and closes them.
func (p *pool) close() {
	for range cap(p.free) {
		<-p.free
		if c := p.take(); c != nil {
			c.close()
		}
	}
}

// reader takes a connection of the readers, or of reserved if it is not nil. It waits
// for one until ctx ends. The caller returns the connection to from.
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
	case <-db.closing.Done(): // Close takes all connections
		return nil, nil, ErrClosed
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if c = from.take(); c == nil {
		// A new connection must not open, or create, a different file.
		if err = db.writable(); err == nil {
			c, err = openConn(ctx, db.readDB)
		}
		if err != nil {
			from.put(nil)
		}
	}
	return c, from, err
}

// ReadParallel runs fn for each part on a snapshot of its own, with as many
// goroutines as cores, and returns the results in the order of the parts. It stops
// at the first error.
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
