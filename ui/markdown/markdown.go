// Package markdown renders GitHub Flavored Markdown as HTML, within limits.
//
// The text comes from people and trainings, and goldmark sets no limits: its
// table extension pads every row to the width of the header, and several
// constructs take quadratic time. Render limits the input, the nesting of
// blocks, the number of elements, the work of the parsers and the output. It
// ends with its context, and only a few calls run at the same time. A text that
// exceeds a limit is not rendered at all: Render returns a LimitError, and the
// caller shows the plain text.
//
// Raw HTML and links that would run a script are dropped. Images become links,
// because a page loads nothing from other sites.
package markdown

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const (
	// MaxBytes is the maximum length of a text in bytes.
	MaxBytes = 256 << 10

	maxLines  = 10_000
	maxOutput = 1 << 20 // bytes of HTML

	// maxDepth is the nesting limit of lists and block quotes. Deeper markers are
	// text.
	maxDepth = 32

	// maxElements is the limit of table cells and of elements within lines:
	// links, emphasis, code and the like. An element takes some 300 bytes of
	// memory while a text is rendered.
	maxElements = 50_000

	// maxWork is the maximum number of bytes that the parsers read. See meter.
	maxWork = 64 << 20

	// maxTime is the time limit of one call. maxWork is reached in a fraction of it.
	maxTime = 5 * time.Second
)

// slots holds a value for each call that is rendering.
var slots = make(chan struct{}, min(runtime.GOMAXPROCS(0), 4))

// LimitError is the error for a text that exceeds a limit.
type LimitError struct {
	Reason string // clause that completes "it is shown as plain text, because …"
}

func (e *LimitError) Error() string { return "the Markdown can't be rendered, because " + e.Reason }

// Render returns the HTML of source. If source exceeds a limit, the error is a LimitError. If ctx
// ends, it is the error of ctx.
func Render(ctx context.Context, source string) (string, error) {
	if err := checkSize(source); err != nil {
		return "", err
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	out, err := convert(limited, source)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = &LimitError{"it takes too long to render"}
	}
	if err != nil {
		return "", err
	}
	return out.String(), nil
}

func checkSize(source string) error {
	if len(source) > MaxBytes {
		return &LimitError{"it is longer than " + humanize.IBytes(MaxBytes)}
	}
	lines := 0
	for i := range len(source) {
		if source[i] == '\n' {
			lines++
		}
	}
	if lines > maxLines {
		return &LimitError{"it has more than " + humanize.Comma(maxLines) + " lines"}
	}
	return nil
}

// convert renders source within the limits of a meter. It returns the output, with the meter, also
// after an error, for tests.
func convert(ctx context.Context, source string) (*output, error) {
	m := &meter{ctx: ctx}
	out := &output{meter: m}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	bytes := []byte(source)
	pc := parser.NewContext()
	pc.Set(meterKey, m)
	document := markdownParser.Parse(text.NewReader(bytes), parser.WithContext(pc))
	if m.err != nil {
		return out, m.err
	}
	return out, htmlRenderer.Render(out, bytes, document)
}

// output is a buffer of at most maxOutput bytes. It implements util.BufWriter.
type output struct {
	bytes.Buffer
	meter *meter
}

// room reports whether n more bytes may be written.
func (o *output) room(n int) bool {
	if o.meter.err == nil && o.Len()+n > maxOutput {
		o.meter.err = &LimitError{fmt.Sprintf("its page would be larger than %s", humanize.IBytes(maxOutput))}
	}
	return o.meter.err == nil
}

func (o *output) Write(p []byte) (int, error) {
	if !o.room(len(p)) {
		return 0, o.meter.err
	}
	return o.Buffer.Write(p)
}

func (o *output) WriteString(s string) (int, error) {
	if !o.room(len(s)) {
		return 0, o.meter.err
	}
	return o.Buffer.WriteString(s)
}

func (o *output) WriteByte(c byte) error {
	if !o.room(1) {
		return o.meter.err
	}
	return o.Buffer.WriteByte(c)
}

func (o *output) WriteRune(r rune) (int, error) {
	if !o.room(4) {
		return 0, o.meter.err
	}
	return o.Buffer.WriteRune(r)
}

func (o *output) Available() int { return maxOutput - o.Len() }
func (o *output) Buffered() int  { return o.Len() }
func (o *output) Flush() error   { return o.meter.err }
