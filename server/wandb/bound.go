package wandb

import (
	"context"
	"errors"
	"time"

	"tracker/store/domain"
	"tracker/store/json"
)

const (
	maxDocument = 32 << 20 // bytes in a request; a request can contain a configuration or a summary
	maxTokens   = 20_000   // tokens in a GraphQL document
	maxValues   = 200_000  // JSON values in a request; the variables can name thousands of files
	maxDepth    = 40       // nesting depth of selections
	maxWork     = 500_000  // fields in the response and evaluated parts of the document
	// checkWork is the amount of work between two checks of the time limit.
	checkWork = 1000
	// maxTime is the maximum duration of an operation. It equals the store's time limit for
	// searches.
	maxTime = domain.SearchLimit

	// A string in a request can itself contain JSON, such as a filter. maxInner and
	// maxInnerValues limit the JSON in a string, because maxValues does not count values in
	// strings.
	maxInner       = 1 << 20 // in bytes
	maxInnerValues = 20_000
	// namedFile is the estimated memory in bytes for a file that a client names, with its
	// address in the response. takeNamed adds four times the length of the file's name.
	namedFile = 1000
)

var (
	errTooLarge = domain.Invalid("query", "The query asks for more than %d MiB; request less at once.", domain.MaxAnswerBytes>>20)
	errTooLong  = domain.Invalid("query", "The query took more than %d seconds and was stopped; request less at once.", int(maxTime.Seconds()))
)

// bounds counts the work of one operation and the size of its response.
type bounds struct {
	ctx      context.Context
	work     int
	answered int64 // bytes of text in the response
}

// step counts n fields or document parts as work. It returns an error if the operation exceeds
// maxWork or the time limit.
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

// text counts a string in the response. It returns errTooLarge if the response is too large.
func (b *bounds) text(s string) error {
	if b.answered += int64(len(s)); b.answered > domain.MaxAnswerBytes {
		return errTooLarge
	}
	return nil
}

// inner decodes the JSON in text, a string of a request, and stores the result in the value pointed
// to by into. It returns invalid if text is not the expected JSON, and another error if it exceeds
// a limit.
func inner(field, text string, into any, invalid error) error {
	if len(text) > maxInner || json.Values([]byte(text)) > maxInnerValues {
		return domain.Invalid(field, "%s may have up to %d bytes and %d values; send less at once.", field, maxInner, maxInnerValues)
	}
	if json.Unmarshal([]byte(text), into, json.AllowDuplicateNames(true)) != nil {
		return invalid
	}
	return nil
}

// untimed suspends the time limit of the operation until end is called. Operations that write or
// delete the files of an artifact version in batches use it.
func (c *call) untimed() (end func()) {
	c.timer.Stop()
	return func() { c.timer.Reset(maxTime) }
}

// takeNamed counts the memory for a file that a client has named.
func (c *call) takeNamed(name string) error {
	return domain.Take(c.ctx, namedFile+4*int64(len(name)))
}

// bounded runs an operation with limits for its time and memory. If other requests use too much
// memory, an operation that only reads waits and is repeated.
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
