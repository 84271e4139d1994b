package record

import (
	"cmp"
	"context"
	"slices"

	"tracker/store/points"
)

const (
	// copyPoints and copyPointsFresh are the maximum numbers of points in a transaction. Each
	// transaction rewrites each series that gets points. In a new database, transactions can be
	// larger, because no other writes wait for them.
	copyPoints      = 32768
	copyPointsFresh = 65536
	// heldPoints is the maximum number of points in a buffer of a Copier. If the points of a run
	// fit into a buffer, they are read only once, and are written in the order in which they were
	// first written.
	heldPoints = 1 << 17
)

// buffer holds points of one run, metric by metric.
type buffer struct {
	run    string // id of the run; "" if points does not hold all points of a run
	points []points.Copy
	order  []*points.Copy // elements of points to write, in the order in which they were first written
}

// choose sets order to the points for which keep returns true.
func (b *buffer) choose(keep func(*points.Copy) bool) {
	b.order = b.order[:0]
	for i := range b.points {
		if p := &b.points[i]; keep(p) {
			b.order = append(b.order, p)
		}
	}
}

// begin empties the buffer for the points of a run.
func (b *buffer) begin(run string) { b.run, b.points = run, b.points[:0] }

// add adds a point. If the buffer is full, add first empties the buffer and sets run to "".
func (b *buffer) add(p points.Copy) error {
	if len(b.points) == heldPoints {
		b.begin("")
	}
	b.points = append(b.points, p)
	return nil
}

// sending is a write of points in the background.
type sending struct {
	done chan struct{} // closed after the write
	n    int           // number of points that were written
	err  error
}

// hold reads the points of a run into c.read. It does nothing if c.read already holds the
// points of the run, or if the run has too many points.
func (c *Copier) hold(id string) error {
	if c.read.run == id {
		return nil
	}
	num, err := c.From.Num(id)
	if err != nil {
		return err
	}
	var total int64
	err = c.From.Row(`SELECT coalesce(sum(count), 0) FROM series WHERE iteration_num = ?`, num).Scan(&total)
	if err != nil || total > heldPoints {
		return err
	}
	c.read.begin(id)
	return c.From.Walk(num, c.read.add)
}

// points copies the points of a run. It copies all points of a new run. For an existing run, it
// copies the points of each metric from the first difference on. The write can continue after
// points has returned; wait waits until it has ended.
func (c *Copier) points(ctx context.Context, ref Ref, drop map[string]divergence) error {
	num, err := c.From.Num(ref.ID)
	if err != nil {
		return err
	}
	keys, err := c.From.Keys(num)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := c.From.Check(Key, key); err != nil {
			return err
		}
	}
	missing := func(p *points.Copy) bool {
		d, found := drop[p.Key]
		return !found || !d.Same && p.Step >= d.From
	}
	if c.read.run == ref.ID {
		c.read.choose(missing)
		slices.SortFunc(c.read.order, func(a, b *points.Copy) int { return cmp.Compare(a.Seq, b.Seq) })
		return c.send(ctx, ref)
	}
	c.read.begin("")
	err = c.From.Walk(num, func(p points.Copy) error {
		if len(c.read.points) == c.batchSize() {
			c.read.choose(missing)
			if err := c.send(ctx, ref); err != nil {
				return err
			}
		}
		return c.read.add(p)
	})
	if err != nil {
		return err
	}
	c.read.choose(missing)
	return c.send(ctx, ref)
}

// batchSize returns the maximum number of points in a transaction.
func (c *Copier) batchSize() int {
	if c.Fresh {
		return copyPointsFresh
	}
	return copyPoints
}

// send waits for the previous write and begins to write the points in c.read.order. It swaps
// c.read with the buffer of the previous write.
func (c *Copier) send(ctx context.Context, ref Ref) error {
	if err := c.wait(); err != nil {
		return err
	}
	all, s := c.read.order, &sending{done: make(chan struct{})}
	c.read, c.sent, c.sending = c.sent, c.read, s
	c.read.begin("")
	go func() {
		defer close(s.done)
		s.n, s.err = c.writePoints(ctx, ref, all)
	}()
	return nil
}

// wait waits for the write that send has started, and returns the error of that write.
func (c *Copier) wait() error {
	s := c.sending
	if s == nil {
		return nil
	}
	c.sending = nil
	<-s.done
	c.Result.Points += s.n
	return s.err
}

// change runs fn in a write transaction of the target, after waiting for the write that send has
// started. Because writes never run at the same time, copies of equal records are equal
// databases.
func (c *Copier) change(ctx context.Context, fn func(TargetTx) error) error {
	if err := c.wait(); err != nil {
		return err
	}
	return c.To.Write(ctx, fn)
}

// writePoints writes points of a run and returns the number of points that it has written.
func (c *Copier) writePoints(ctx context.Context, ref Ref, all []*points.Copy) (n int, err error) {
	for batch := range slices.Chunk(all, c.batchSize()) {
		write := c.To.Append
		if c.Fresh {
			write = c.To.Write // drops the cache of series, which is large for a run with many metrics
		}
		err := write(ctx, func(tx TargetTx) error {
			if err := allowContent(tx, ref); err != nil {
				return err
			}
			to, err := tx.Records().Num(ref.ID)
			if err != nil {
				return err
			}
			return tx.Records().AppendCopies(to, batch)
		})
		if err != nil {
			return n, err
		}
		n += len(batch)
	}
	return n, ctx.Err()
}
