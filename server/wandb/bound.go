package wandb

import (
	"context"
	"errors"
	"time"

	"tracker/store/domain"
	"tracker/store/json"
)

const (
	maxDocument = 32 << 20 // bytes in a request: it may contain a configuration or a summary
	maxTokens   = 20_000   // in a document
	maxValues   = 200_000  // in a request: its variables may name thousands of files
	maxDepth    = 40       // nesting of selections
	maxWork     = 500_000  // answered fields and read parts of the document
	// checkWork is the amount of work between two checks whether an operation must
	// end.
	checkWork = 1000
	// maxTime is the maximum duration of an operation, the same as for the searches of
	// a read.
	maxTime = domain.SearchLimit

	// A string in a request may be JSON itself, such as a filter. Its values are not
	// counted with the body.
	maxInner       = 1 << 20 // bytes
	maxInnerValues = 20_000
	// namedFile is the memory in bytes of a file in an answer that a client has named,
	// with its address, in addition to four times its name.
	namedFile = 1000
)

var (
	errTooLarge = domain.Invalid("query", "The query asks for more than %d MiB; request less at once.", domain.MaxAnswerBytes>>20)
	errTooLong  = domain.Invalid("query", "The query took more than %d seconds and was stopped; request less at once.", int(maxTime.Seconds()))
)

// bounds counts the work and the memory of one operation.
type bounds struct {
	ctx      context.Context
	work     int
	answered int64 // bytes of text
}

// step counts n fields or parts of the document.
func (b *bounds) step(n int) error {
	before := b.work
	if b.work += n; b.work > maxWork {
		return domain.Invalid("query", "The query asks for more than %d values; request less at once.", maxWork)
	}
	if before/checkWork == b.work/checkWork {
		return nil
	}
	return b.ctx.Err()
}

// text counts a text in the answer.
func (b *bounds) text(s string) error {
	if b.answered += int64(len(s)); b.answered > domain.MaxAnswerBytes {
		return errTooLarge
	}
	return nil
}

// inner reads a string of a request that contains JSON into a variable. It returns
// invalid if the string is not such JSON.
func inner(field, text string, into any, invalid error) error {
	if len(text) > maxInner || json.Values([]byte(text)) > maxInnerValues {
		return domain.Invalid(field, "%s may have up to %d bytes and %d values; send less at once.", field, maxInner, maxInnerValues)
	}
	if json.Unmarshal([]byte(text), into, json.AllowDuplicateNames(true)) != nil {
		return invalid
	}
	return nil
}

// untimed suspends the time limit of the operation until end is called. It is used for
// the files of a version, which are written and deleted in pieces.
func (c *call) untimed() (end func()) {
	c.timer.Stop()
	return func() { c.timer.Reset(maxTime) }
}

// takeNamed counts the memory of a file in an answer that a client has named.
func (c *call) takeNamed(name string) error {
	return domain.Take(c.ctx, namedFile+4*int64(len(name)))
}

// bounded runs answer, which carries out an operation, with bounds on its time and on
// the memory that it reads. If other requests hold too much memory, an operation that
// only reads is run again when there is enough.
func (c *call) bounded(reads bool, answer func(*bounds) error) error {
	before := c.ctx
	defer func() { c.ctx = before }()
	ctx, cancel := context.WithCancelCause(before)
	defer cancel(nil)
	c.timer = time.AfterFunc(maxTime, func() { cancel(errTooLong) })
	defer c.timer.Stop()
	run := func(ctx context.Context) error {
		var taken int64
		c.ctx = domain.WithBudget(ctx, func(n int64) error {
			if taken += n; taken > domain.MaxAnswerBytes {
				return errTooLarge
			}
			return domain.Take(ctx, n)
		})
		return answer(&bounds{ctx: ctx})
	}
	var err error
	if reads {
		err = c.share.Hold(ctx, run)
	} else {
		err = run(domain.WithBudget(ctx, c.share.Take))
	}
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		return errTooLong
	}
	return err
}
