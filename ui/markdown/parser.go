package markdown

import (
	"bytes"
	"context"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// meter limits the work of rendering one text. When a limit is exceeded, the meter sets err. All
// metered parsers then do nothing, and goldmark parses the remaining text in linear time. The
// caller discards the result.
//
// The work is an upper bound of the number of bytes that the parsers read. A parser of inline
// elements reads at most the block that contains the element. At the end of the block, goldmark
// matches delimiters and searches for nested links. For each parser call, matching and
// searching read at most as many bytes as the parser.
type meter struct {
	ctx      context.Context
	err      error
	work     int // number of bytes read, as an upper bound
	calls    int // number of calls of spend
	elements int
}

var meterKey = parser.NewContextKey()

func meterOf(pc parser.Context) *meter { return pc.Get(meterKey).(*meter) }

// spend adds bytes to the work and reports whether rendering can continue.
func (m *meter) spend(bytes int) bool {
	if m.err != nil {
		return false
	}
	m.calls++
	if m.calls%64 == 0 {
		m.err = m.ctx.Err()
	}
	if m.work += bytes; m.work > maxWork {
		m.err = &LimitError{"its paragraphs are too long or have too many special characters"}
	}
	return m.err == nil
}

// add adds to the number of elements and reports whether rendering can continue.
func (m *meter) add(elements int) bool {
	if m.elements += elements; m.elements > maxElements && m.err == nil {
		m.err = &LimitError{"it has more than " + humanize.Comma(maxElements) + " table cells, links and other elements"}
	}
	return m.err == nil
}

// markdownParser is goldmark's parser for GitHub Flavored Markdown with metered parts.
var markdownParser = parser.NewParser(
	parser.WithBlockParsers(blockParsers()...),
	parser.WithInlineParsers(inlineParsers()...),
	parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
		util.Prioritized(meteredTable{extension.NewTableParagraphTransformer()}, 200))...),
	parser.WithASTTransformers(
		util.Prioritized(meteredTransformer{extension.NewTableASTTransformer()}, 0)),
)

func blockParsers() []util.PrioritizedValue {
	all := parser.DefaultBlockParsers()
	for i, p := range all {
		if p.Value == parser.NewListParser() || p.Value == parser.NewBlockquoteParser() {
			all[i].Value = container{p.Value.(parser.BlockParser)}
		}
	}
	return all
}

// container is a parser of lists or block quotes. It opens no block at nesting depth maxDepth.
type container struct{ parser.BlockParser }

func (c container) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if len(pc.OpenedBlocks()) >= maxDepth || !meterOf(pc).spend(1) {
		return nil, parser.NoChildren
	}
	return c.BlockParser.Open(parent, reader, pc)
}

// linkifyWork is the work of one search for a URL at the start of a word. Text inside a URL is
// not searched again.
const linkifyWork = 256

func inlineParsers() (all []util.PrioritizedValue) {
	for _, p := range append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0)) {
		one := inline{p.Value.(parser.InlineParser), blockWork}
		if c, ok := p.Value.(parser.CloseBlocker); ok {
			p.Value = closingInline{one, c}
		} else {
			p.Value = one
		}
		all = append(all, p)
	}
	linkify := inline{extension.NewLinkifyParser(), func(ast.Node, []byte) int { return linkifyWork }}
	return append(all, util.Prioritized(linkify, 999))
}

// inline is a metered parser of inline elements.
type inline struct {
	parser.InlineParser
	work func(parent ast.Node, line []byte) int
}

// closingInline is an inline whose parser also acts at the end of a block.
type closingInline struct {
	inline
	parser.CloseBlocker
}

func (p inline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	if m.err != nil {
		return nil
	}
	line, _ := block.PeekLine()
	if !m.spend(p.work(parent, line)) {
		return nil
	}
	n := p.InlineParser.Parse(parent, block, pc)
	if n != nil {
		m.add(1)
	}
	return n
}

// blockWork returns the length of the block times the number of repeated delimiters at the
// start of line. Each of these delimiters might start an element.
func blockWork(parent ast.Node, line []byte) int {
	lines := parent.Lines()
	if lines == nil || lines.Len() == 0 {
		return 1
	}
	run := 1
	if slices.Contains([]byte("*_~`"), line[0]) {
		for run < len(line) && line[run] == line[0] {
			run++
		}
	}
	return run * (lines.At(lines.Len()-1).Stop - lines.At(0).Start)
}

// meteredTable converts a paragraph into a table if the table does not exceed the limits of the
// meter.
type meteredTable struct{ parser.ParagraphTransformer }

func (t meteredTable) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	m, lines, source := meterOf(pc), node.Lines(), reader.Source()
	columns, escaped := 0, 0
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(source)
		escaped += bytes.Count(line, []byte(`\|`))
		if i > 0 && isDelimiterRow(line) {
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
	}
	if columns == 0 {
		return
	}
	// For each escaped pipe, the table extension searches all code spans in tables.
	if m.spend(escaped*len(source)) && m.add(columns*lines.Len()) {
		t.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// isDelimiterRow reports whether line can be the delimiter row below a table header.
func isDelimiterRow(line []byte) bool {
	return len(bytes.Trim(line, "-:| \t\r\n\v\f")) == 0 && bytes.Contains(line, []byte("-"))
}

// meteredTransformer does nothing after a limit was exceeded.
type meteredTransformer struct{ parser.ASTTransformer }

func (t meteredTransformer) Transform(node *ast.Document, reader text.Reader, pc parser.Context) {
	if meterOf(pc).err == nil {
		t.ASTTransformer.Transform(node, reader, pc)
	}
}
