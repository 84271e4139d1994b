package wandb

import (
	"context"
	"errors"
	"time"

	"tracker/store"
)

const (
	maxDocument = 32 << 20 // bytes of a request: a configuration or a summary may be in it
	maxTokens   = 20_000   // of a document
	maxValues   = 200_000  // in a request: its variables may name thousands of files
	maxDepth    = 40       // of nested selections
	maxWork     = 500_000  // fields that are answered, and parts of the document that are read
	// checkWork is the amount of work after which an operation checks whether it
	// must end.
	checkWork = 1000
	// maxTime is how long an operation may take.
	maxTime = 30 * time.Second
)

var (
	errTooLarge = store.Invalid("query", "The query asks for more than %d MiB; ask for less at once.", store.MaxAnswerBytes>>20)
	errTooLong  = store.Invalid("query", "The query took more than %d seconds and was stopped; ask for less at once.", int(maxTime.Seconds()))
)

// bounds count the work and the memory of one operation.
type bounds struct {
	ctx      context.Context
	work     int
	answered int64 // bytes of texts
}

// step counts n fields or parts of the document.
func (b *bounds) step(n int) error {
	before := b.work
	if b.work += n; b.work > maxWork {
		return store.Invalid("query", "The query asks for more than %d values; ask for less at once.", maxWork)
	}
	if before/checkWork == b.work/checkWork {
		return nil
	}
	return b.ctx.Err()
}

// text counts a text that is answered.
func (b *bounds) text(s string) error {
	if b.answered += int64(len(s)); b.answered > store.MaxAnswerBytes {
		return errTooLarge
	}
	return nil
}

// bounded runs answer, which answers an operation, with bounds on its time and on the
// memory that it reads. When other requests hold too much memory, an operation that
// only reads is tried again when there is enough.
func (c *call) bounded(reads bool, answer func(*bounds) error) error {
	before := c.ctx
	defer func() { c.ctx = before }()
	ctx, cancel := context.WithTimeoutCause(before, maxTime, errTooLong)
	defer cancel()
	run := func(ctx context.Context) error {
		var taken int64
		c.ctx = store.WithBudget(ctx, func(n int64) error {
			if taken += n; taken > store.MaxAnswerBytes {
				return errTooLarge
			}
			return store.Take(ctx, n)
		})
		return answer(&bounds{ctx: ctx})
	}
	var err error
	if reads {
		err = c.share.Hold(ctx, run)
	} else {
		err = run(store.WithBudget(ctx, c.share.Take))
	}
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		return errTooLong
	}
	return err
}
