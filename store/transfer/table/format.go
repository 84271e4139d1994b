package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tracker/store/json"
	"tracker/store/wandb/format"
)

// separated reads CSV and TSV.
type separated struct {
	bounded
	in     *csv.Reader
	header []string
	err    error
	cells  []cell
}

func commaRows(r *reader) rows { return newSeparated(r, ',') }
func tabRows(r *reader) rows   { return newSeparated(r, '\t') }

func newSeparated(r *reader, comma rune) rows {
	s := &separated{bounded: bounded{r: r.in}}
	s.in = csv.NewReader(&s.bounded)
	s.in.Comma, s.in.FieldsPerRecord, s.in.LazyQuotes, s.in.ReuseRecord = comma, -1, true, true
	header, err := s.in.Read()
	if err == nil && len(header) > maxColumns {
		err = fmt.Errorf("it has more than %d columns", maxColumns)
	}
	for i, name := range header {
		if i == 0 {
			name = strings.TrimPrefix(name, "\uFEFF")
		}
		s.header = append(s.header, strings.TrimSpace(name))
	}
	s.err = err
	return s
}

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
		return nil, &rowError{fmt.Errorf("it has %d columns, and the table has %d", len(record), len(s.header))}
	}
	s.cells = s.cells[:0]
	for i, text := range record {
		if s.header[i] != "" && strings.TrimSpace(text) != "" {
			s.cells = append(s.cells, cell{s.header[i], text})
		}
	}
	return s.cells, nil
}

func (s *separated) parameters() []cell { return nil }

var errLong = fmt.Errorf("a row has more than %d bytes", maxLine)

// bounded fails when a row has more than maxLine bytes.
type bounded struct {
	r   io.Reader
	row int // bytes that were read since the last row
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.row > maxLine {
		return 0, errLong
	}
	n, err := b.r.Read(p)
	b.row += n
	return n, err
}

// lines reads JSON Lines.
type lines struct {
	in    *bufio.Scanner
	cells []cell
}

func lineRows(r *reader) rows {
	in := bufio.NewScanner(r.in)
	in.Buffer(make([]byte, 64<<10), maxLine)
	return &lines{in: in}
}

func (l *lines) next() ([]cell, error) {
	for l.in.Scan() {
		if strings.TrimSpace(l.in.Text()) == "" {
			continue
		}
		var err error
		if l.cells, err = object(l.in.Bytes(), l.cells[:0]); err != nil {
			return nil, &rowError{err}
		}
		return l.cells, nil
	}
	if err := l.in.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func (l *lines) parameters() []cell { return nil }

var errObject = errors.New("it is not a JSON object")

// object returns the values of a JSON object. The names of nested values are joined
// with slashes. NaN and Infinity, which Python writes, are allowed.
func object(text []byte, cells []cell) ([]cell, error) {
	var value any
	if err := json.Unmarshal(Quoted(text), &value, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err != nil {
		return nil, errObject
	}
	top, ok := value.(map[string]any)
	if !ok {
		return nil, errObject
	}
	return flatten(cells, "", top, 0)
}

// maxDepth bounds objects in objects.
const maxDepth = 32

func flatten(cells []cell, prefix string, o map[string]any, depth int) ([]cell, error) {
	if depth > maxDepth || len(cells) > maxColumns {
		return nil, errors.New("it has too many values, or too many levels")
	}
	var err error
	for _, name := range slices.Sorted(maps.Keys(o)) {
		key := prefix + name
		switch v := o[name].(type) {
		case float64:
			cells = append(cells, cell{key, strconv.FormatFloat(v, 'g', -1, 64)})
		case bool:
			text := "0"
			if v {
				text = "1"
			}
			cells = append(cells, cell{key, text})
		case string:
			cells = append(cells, cell{key, v})
		case map[string]any:
			if cells, err = flatten(cells, key+"/", v, depth+1); err != nil {
				return nil, err
			}
		case []any:
			cells = append(cells, cell{key, "a list"})
		}
	}
	return cells, nil
}

// Quoted returns JSON in which the bare words NaN, Infinity and -Infinity, which are
// not JSON, are texts.
func Quoted(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	var out []byte
	inText := false
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case inText && text[i] == '\\' && i+1 < len(text):
			out = append(out, text[i])
			i++
		case text[i] == '"':
			inText = !inText
		case !inText:
			word := ""
			for _, w := range []string{"NaN", "-Infinity", "Infinity"} {
				if word == "" && bytes.HasPrefix(rest, []byte(w)) {
					word = w
				}
			}
			if word != "" {
				out = append(append(append(out, '"'), word...), '"')
				i += len(word) - 1
				continue
			}
		}
		out = append(out, text[i])
	}
	return out
}

// maxState bounds trainer_state.json in bytes.
const maxState = 128 << 20

// state reads trainer_state.json. Its rows are read one by one, since they become many
// times as large as their text.
type state struct {
	history *format.Elements
	params  []cell
	err     error
	cells   []cell
}

func stateRows(r *reader) rows {
	s := &state{history: format.NewElements("[]")}
	text, err := io.ReadAll(io.LimitReader(r.in, maxState+1))
	if err == nil && len(text) > maxState {
		err = fmt.Errorf("it has more than %d bytes", maxState)
	}
	var top []format.Member
	if err == nil {
		if top, err = format.Members(string(text)); err != nil {
			err = errObject
		}
	}
	s.err = err
	for _, m := range top {
		switch m.Key {
		case "log_history":
			if _, err := format.Length(m.Value); err != nil && s.err == nil {
				s.err = errObject
			}
			s.history = format.NewElements(m.Value)
		case "num_train_epochs", "max_steps", "train_batch_size", "best_model_checkpoint":
			format.Parameters(m.Key, m.Value, func(key, value string) {
				if value != "null" {
					s.params = append(s.params, cell{key, value})
				}
			})
		}
	}
	return s
}

func (s *state) next() (cells []cell, err error) {
	if s.err != nil {
		return nil, s.err
	}
	row, ok := s.history.Next()
	if !ok {
		return nil, io.EOF
	}
	if s.cells, err = object([]byte(row), s.cells[:0]); err != nil {
		return nil, &rowError{err}
	}
	return s.cells, nil
}

func (s *state) parameters() []cell { return s.params }
