package markdown

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// maxAllocation is a bound for the bytes that one call allocates, whatever the
// text. The elements at their limit take about half of it.
const maxAllocation = 96 << 20

// render returns the results of convert, and fails the test if a bound is exceeded.
func render(t testing.TB, source string) (string, error) {
	t.Helper()
	if err := checkSize(source); err != nil {
		return "", err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := convert(t.Context(), source)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > poolFactor*maxAllocation {
		t.Errorf("%d bytes make it allocate %d", len(source), n)
	}
	if out.Len() > maxOutput {
		t.Errorf("%d bytes give %d of HTML", len(source), out.Len())
	}
	// A single call can exceed the limit, but by no more than quadratic work.
	if out.meter.work > maxWork+MaxBytes*MaxBytes {
		t.Errorf("the work is %d", out.meter.work)
	}
	return out.String(), err
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"# Title\n\nA *b* **c** `d` ~~e~~\n", "<h1>Title</h1>\n<p>A <em>b</em> <strong>c</strong> <code>d</code> <del>e</del></p>\n"},
		{"> - a\n>   1. b", "<blockquote>\n<ul>\n<li>a\n<ol>\n<li>b</li>\n</ol>\n</li>\n</ul>\n</blockquote>\n"},
		{"|a|b|\n|-|:-:|\n|1|`x\\|y`|", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th align=\"center\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td align=\"center\"><code>x|y</code></td>\n</tr>\n</tbody>\n</table>\n"},
		{"[a][1] https://example.com\n\n[1]: /b 'c'", "<p><a href=\"/b\" title=\"c\">a</a> <a href=\"https://example.com\">https://example.com</a></p>\n"},
		{"![a](/b.png) ![x](javascript:y)", "<p><a href=\"/b.png\">a</a> x</p>\n"},
		{"- [x] a\n- [ ] b", "<ul>\n<li><input type=\"checkbox\" disabled checked aria-label=\"done\"> a</li>\n<li><input type=\"checkbox\" disabled aria-label=\"open\"> b</li>\n</ul>\n"},
		{"<script>x</script>\n\na <b onclick=y>b</b> [c](javascript:d)", "<!-- raw HTML omitted -->\n<p>a <!-- raw HTML omitted -->b<!-- raw HTML omitted --> <a href=\"\">c</a></p>\n"},
		{"```go\n<x>\n```\n\n---\n", "<pre><code class=\"language-go\">&lt;x&gt;\n</code></pre>\n<hr>\n"},
		{"", ""},
	} {
		if got, err := Render(t.Context(), c.source); got != c.want || err != nil {
			t.Errorf("%q gives %q, %v, want %q", c.source, got, err, c.want)
		}
	}
}

// long returns text without special characters.
func long(bytes int) string { return strings.Repeat("lorem ipsum dolor ", bytes/18) }

// An ordinary document is rendered, even if it is long.
func TestRenderLongDocument(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < MaxBytes-3000; i++ {
		fmt.Fprintf(&b, "## Run %d\n\n%s *with* `code`, [a link](https://example.com/%d) and snake_case_names.\n\n", i, long(900), i)
		b.WriteString("| metric | value |\n|--------|-------|\n| loss | 0.1 |\n| accuracy | 0.9 |\n\n- first\n- second\n  - third\n\n> quoted\n\n")
	}
	html, err := render(t, b.String())
	if err != nil || strings.Count(html, "<table>") < 100 {
		t.Errorf("%d bytes of HTML, %v", len(html), err)
	}
	html, err = render(t, long(60_000)+"*end*")
	if err != nil || !strings.Contains(html, "<em>end</em>") {
		t.Errorf("a long paragraph: %d bytes of HTML, %v", len(html), err)
	}
}

// attacks holds texts for which goldmark without limits needs gigabytes of memory, or seconds to
// hours.
var attacks = map[string]string{
	"wide table":        strings.Repeat("|a", 6000) + "\n" + strings.Repeat("|-", 6000) + "\n" + strings.Repeat("b\n", 4000),
	"narrow tables":     strings.Repeat(strings.Repeat("|a", 100)+"\n"+strings.Repeat("|-", 100)+"\n"+strings.Repeat("b\n", 700)+"\n", 12),
	"escaped pipes":     "|a|\n|-|\n|" + strings.Repeat("`\\|`", 30_000) + "|\n",
	"quotes":            strings.Repeat(">", 120_000),
	"quotes and spaces": strings.Repeat("> ", 60_000),
	"quoted lines":      strings.Repeat(strings.Repeat("> ", 100)+"a\n", 1000),
	"lists":             strings.Repeat("- ", 60_000) + "x",
	"ordered lists":     strings.Repeat("1. ", 60_000) + "x",
	"list and blanks":   strings.Repeat("- ", 100) + strings.Repeat("\n", 9000) + "x",
	"staircase":         staircase(),
	"empty links":       strings.Repeat("[](", 60_000),
	"spaced links":      strings.Repeat("[ (](", 40_000),
	"open brackets":     strings.Repeat("[", 200_000),
	"brackets":          strings.Repeat("[", 60_000) + strings.Repeat("]", 60_000),
	"links in brackets": strings.Repeat("[", 60_000) + "[a](b)" + strings.Repeat("]", 60_000),
	"images":            strings.Repeat("![", 60_000) + strings.Repeat("](a)", 40_000),
	"angle brackets":    strings.Repeat("<", 200_000),
	"empty tags":        strings.Repeat("<>", 100_000),
	"open tags":         strings.Repeat("<a ", 80_000),
	"comments":          strings.Repeat("a <!-- ", 30_000),
	"declarations":      strings.Repeat("a <!A ", 30_000),
	"instructions":      strings.Repeat("a <? ", 40_000),
	"CDATA":             strings.Repeat("a <![CDATA[", 20_000),
	"stars":             strings.Repeat("*", 200_000) + "a" + strings.Repeat("*", 50_000),
	"openers":           strings.Repeat("*a ", 80_000),
	"closers":           strings.Repeat("a* ", 80_000),
	"mixed delimiters":  strings.Repeat("*a_ ", 60_000),
	"nested emphasis":   strings.Repeat("*a **a ", 20_000) + strings.Repeat("b** b* ", 15_000),
	"tildes":            strings.Repeat("~", 200_000),
	"intraword":         strings.Repeat("a_", 120_000),
	"backticks":         backticks(),
	"escaped backticks": strings.Repeat("\\``", 80_000),
	"words with at":     strings.Repeat("(a@b.", 50_000),
	"URLs":              strings.Repeat("www.a(", 40_000),
	"long word":         "http://" + strings.Repeat("a.", 120_000),
	"references":        "[a]: /" + strings.Repeat("x", 100_000) + "\n\n" + strings.Repeat("[a]\n\n", 4000),
	"definitions":       strings.Repeat("[a]: b\n(x\n", 4000),
	"quoted titles":     strings.Repeat("[a]: b\n\"x\n[a]: c\n'x\n", 2000),
	"HTML blocks":       strings.Repeat("<div>\n\n", 5000),
	"escapes":           strings.Repeat("\"", 250_000),
	"entities":          strings.Repeat("&amp;", 50_000),
	"headings":          strings.Repeat("# *a*\n", 9999),
	"short items":       strings.Repeat("- *a*a*a*a*a*a*a*a*a*a\n", 9999),
	"setext":            strings.Repeat("a\n=\n", 4999),
	"zeros":             strings.Repeat("\x00", 250_000),
	"too long":          strings.Repeat("a", MaxBytes+1),
	"too many lines":    strings.Repeat("\n", maxLines+1),
}

// staircase returns lists with increasing indentation.
func staircase() string {
	var b strings.Builder
	for i := 0; b.Len() < 200_000; i++ {
		b.WriteString(strings.Repeat("  ", i) + "* a\n")
	}
	return b.String()
}

// backticks returns runs of backticks with different lengths.
func backticks() string {
	var b strings.Builder
	for i := 1; b.Len() < 200_000; i++ {
		b.WriteString(strings.Repeat("`", i) + " ")
	}
	return b.String()
}

// Each attack is rendered within the bounds, or rejected with a reason.
func TestRenderAttacks(t *testing.T) {
	for name, source := range attacks {
		t.Run(name, func(t *testing.T) {
			html, err := render(t, source)
			var limit *LimitError
			if err != nil && !errors.As(err, &limit) {
				t.Error(err)
			}
			t.Logf("%d bytes of Markdown, %d of HTML, %v", len(source), len(html), err)
		})
	}
	for name, reason := range map[string]string{
		"wide table": "table cells", "empty links": "special characters", "references": "larger than", "too long": "longer than 256 KiB",
		"too many lines": "10,000 lines",
	} {
		if _, err := Render(t.Context(), attacks[name]); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %q", name, err, reason)
		}
	}
	// Deep nesting stays readable: deeper markers are shown as text.
	html, err := Render(t.Context(), strings.Repeat("> ", 100)+"deep")
	if err != nil || strings.Count(html, "<blockquote>") != maxDepth || !strings.Contains(html, "deep") {
		t.Errorf("%q, %v", html, err)
	}
}

// Rendering stops when its context is done, before the start or in the middle.
func TestRenderEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if html, err := Render(ctx, "a"); html != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", html, err)
	}
	ending := &endingContext{Context: t.Context(), left: 3}
	out, err := convert(ending, strings.Repeat("*a*\n\n", 4000))
	if !errors.Is(err, context.Canceled) || out.Len() > 0 || out.meter.calls > 64*4 {
		t.Errorf("%v after %d calls, %d bytes", err, out.meter.calls, out.Len())
	}
}

// endingContext is done after left calls of Err.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// FuzzRender checks that no text exceeds the bounds of output, work and
// allocation. The text is a repeated pattern, because repetition makes small differences in cost
// large.
func FuzzRender(f *testing.F) {
	for _, s := range []string{"> ", "[](", "|a", "|-|\n", "*a_ ", "`", "<a ", "- ", "[a]: b\n", "~~", "a@b.", "\n\n", "\\|", "    "} {
		f.Add(s, "", "x\n", uint16(3000))
	}
	f.Add("|a", "\n|-|\n", "b\n", uint16(4000))
	f.Add("[", "[a](b)", "]", uint16(2000))
	f.Fuzz(func(t *testing.T, before, middle, after string, n uint16) {
		size := len(before) + len(after) + 1
		times := min(int(n), 64<<10/size)
		source := strings.Repeat(before, times) + middle + strings.Repeat(after, times)
		_, err := render(t, source)
		var limit *LimitError
		if err != nil && !errors.As(err, &limit) {
			t.Errorf("%v", err)
		}
	})
}
