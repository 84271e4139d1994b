package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// separated reads a CSV or TSV file.
type separated struct {
	bounded
	in      *csv.Reader
	header  []string
	decimal bool // whether numbers can have decimal commas
	err     error
	cells   []cell
}

func commaRows(r *reader) rows { return newSeparated(r, ',') }
func tabRows(r *reader) rows   { return newSeparated(r, '\t') }

// utf8 returns a reader that converts in to UTF-8. If in begins with a byte-order mark of UTF-16,
// it is decoded as UTF-16. The mark is removed.
func utf8(in io.Reader) io.Reader {
	return transform.NewReader(in, unicode.BOMOverride(transform.Nop))
}

// maxHeader is the number of bytes in which separatorOf looks for separators.
const maxHeader = 64 << 10

// separatorOf guesses the separator of a file from its first row. It returns the comma,
// semicolon or tab that is most frequent outside of quotes. It prefers the comma.
func separatorOf(in *bufio.Reader) rune {
	top, _ := in.Peek(maxHeader) // a shorter file is not an error
	var commas, semicolons, tabs int
	quoted := false
	for _, c := range top {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			commas++
		case c == ';':
			semicolons++
		case c == '\t':
			tabs++
		}
		if c == '\n' && !quoted {
			break
		}
	}
	switch {
	case semicolons > commas && semicolons >= tabs:
		return ';'
	case tabs > commas:
		return '\t'
	}
	return ','
}

var errNotText = errors.New("it is not text in UTF-8, or in UTF-16 with a byte-order mark")

// newSeparated returns a reader of rows with the given separator. If separator is a comma,
// separatorOf guesses the separator.
func newSeparated(r *reader, separator rune) rows {
	text := bufio.NewReaderSize(utf8(r.in), maxHeader)
	if separator == ',' {
		separator = separatorOf(text)
	}
	s := &separated{bounded: bounded{r: text}, decimal: separator == ';'}
	s.in = csv.NewReader(&s.bounded)
	s.in.Comma, s.in.FieldsPerRecord, s.in.LazyQuotes, s.in.ReuseRecord = separator, -1, true, true
	header, err := s.in.Read()
	if err == nil && len(header) > maxColumns {
		err = fmt.Errorf("it has more than %d columns", maxColumns)
	}
	for _, name := range header {
		if strings.IndexByte(name, 0) >= 0 && err == nil {
			err = errNotText
		}
		s.header = append(s.header, strings.TrimSpace(name))
	}
	s.err = err
	return s
}

// decimalComma matches a number with a decimal comma, such as 1,5.
var decimalComma = regexp.MustCompile(`^\s*[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?\s*$`)

func (s *separated) next() ([]cell, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.row = 0
	record, err := s.in.Read()
	if err != nil {
		return nil, err
	}
	if len(record) > len(s.header) {
		return nil, &rowError{fmt.Errorf("it has %d columns, but the table has %d", len(record), len(s.header))}
	}
	s.cells = s.cells[:0]
	for i, text := range record {
		if s.header[i] == "" || strings.TrimSpace(text) == "" {
			continue
		}
		if s.decimal && len(text) < maxText && decimalComma.MatchString(text) {
			text = strings.Replace(text, ",", ".", 1)
		}
		s.cells = append(s.cells, cell{key: s.header[i], text: text})
	}
	return s.cells, nil
}

func (s *separated) columns() []string  { return s.header }
func (s *separated) parameters() []cell { return nil }

// lastLine returns the number of bytes of tail up to the end of the last complete line, or -1 if no
// line is complete. tail is the end of a file and starts at an even offset. mark holds the first
// two bytes of the file, which can be a byte-order mark.
func lastLine(tail, mark []byte) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(mark, []byte{0xff, 0xfe}):
		end = "\n\x00"
	case bytes.HasPrefix(mark, []byte{0xfe, 0xff}):
		end = "\x00\n"
	}
	for at := len(tail); ; {
		at = bytes.LastIndex(tail[:at], []byte(end))
		if at < 0 || at%len(end) == 0 {
			return at + min(at+1, 1)*len(end)
		}
		at += len(end) - 1
	}
}
