// Package markdown renders GitHub Flavored Markdown as HTML within limits.
//
// The text comes from users and training scripts, and goldmark itself sets no limits. Its table
// extension pads every row to the width of the header, and several constructs take quadratic
// time. Render limits the size of the input and output, the nesting of blocks, the number of
// elements, and the work of the parsers. Render stops when its context is done, and only a few
// calls run at the same time. If a text exceeds a limit, Render returns a LimitError, and the
// caller shows the plain text.
//
// Raw HTML and links that would run a script are dropped. Images become links, because pages
// load nothing from other sites.
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
	maxOutput = 1 << 20 // maximum bytes of HTML

	// maxDepth is the maximum nesting depth of lists and block quotes. Deeper markers are
	// rendered as text.
	maxDepth = 32

	// maxElements is the maximum number of table cells and inline elements. Inline elements are
	// links, emphasis, code spans and similar elements. Each element takes about 300 bytes of
	// memory during rendering.
	maxElements = 50_000

	// maxWork is the maximum number of bytes that the parsers read; see meter.
	maxWork = 64 << 20

	// maxTime is the maximum duration of a call of Render. A text normally reaches maxWork in a
	// fraction of maxTime.
	maxTime = 5 * time.Second
)

// slots holds one value per running call of Render.
var slots = make(chan struct{}, min(runtime.GOMAXPROCS(0), 4))

// LimitError is the error for a text that exceeds a limit.
type LimitError struct {
	Reason string // the end of the sentence "It is shown as plain text, because …"
}

func (e *LimitError) Error() string { return "the Markdown can't be rendered, because " + e.Reason }

// Render returns the HTML of source. The error is a LimitError if source exceeds a limit. If
// ctx is done, Render returns the error of ctx.
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

// convert renders source within the limits of a meter. Even after an error, it returns the output
// with its meter, for tests.
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

// output is a buffer for at most maxOutput bytes. It implements util.BufWriter.
type output struct {
	bytes.Buffer
	meter *meter
}

// room reports whether n more bytes fit into the output.
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
