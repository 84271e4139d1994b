package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

var errLong = fmt.Errorf("a row has more than %d bytes", maxLine)

// bounded is a reader that returns an error if a row has more than maxLine bytes. The caller
// sets row to 0 before each row.
type bounded struct {
	r   io.Reader
	row int // bytes read since the start of the row
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.row > maxLine {
		return 0, errLong
	}
	n, err := b.r.Read(p)
	b.row += n
	return n, err
}

// lines reads a JSON Lines file.
type lines struct {
	in    *bufio.Scanner
	cells []cell
}

func lineRows(r *reader) rows {
	in := bufio.NewScanner(utf8(r.in))
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
		if errors.Is(err, bufio.ErrTooLong) {
			err = errLong
		}
		return nil, err
	}
	return nil, io.EOF
}

func (l *lines) columns() []string  { return nil } // nil, because rows can have different columns
func (l *lines) parameters() []cell { return nil }

var errObject = errors.New("it is not a JSON object")

// object appends the values of a JSON object to cells. The key of a nested value is its path, with
// names separated by slashes. object accepts NaN and Infinity, which Python writes.
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

// maxDepth is the maximum nesting depth of objects.
const maxDepth = 32

func flatten(cells []cell, prefix string, o map[string]any, depth int) ([]cell, error) {
	if depth > maxDepth || len(cells) > maxColumns {
		return nil, errors.New("it has too many values or too many levels")
	}
	var err error
	for _, name := range slices.Sorted(maps.Keys(o)) {
		key := prefix + name
		switch v := o[name].(type) {
		case float64:
			cells = append(cells, cell{key: key, text: strconv.FormatFloat(v, 'g', -1, 64)})
		case bool:
			text := "0"
			if v {
				text = "1"
			}
			cells = append(cells, cell{key: key, text: text})
		case string:
			cells = append(cells, cell{key: key, text: v})
		case map[string]any:
			if kind, ok := v["_type"].(string); ok {
				cells = append(cells, cell{key: key, media: kind})
				continue
			}
			if cells, err = flatten(cells, key+"/", v, depth+1); err != nil {
				return nil, err
			}
		case []any:
			cells = append(cells, cell{key: key, text: "a list"})
		}
	}
	return cells, nil
}

// Quoted adds quotes around the bare words NaN, Infinity and -Infinity, which are not valid JSON.
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

// maxState is the maximum size of trainer_state.json in bytes.
const maxState = 128 << 20

// state reads trainer_state.json. It decodes rows one by one, because a decoded row needs many
// times the memory of its text.
type state struct {
	history *format.Elements
	params  []cell
	err     error
	cells   []cell
}

func stateRows(r *reader) rows {
	s := &state{history: format.NewElements("[]")}
	var err error
	var text string
	var top []format.Member
	size := r.file.info.Size()
	if size > maxState {
		err = fmt.Errorf("it has more than %d bytes", maxState)
	} else if text, err = transfer.ReadText(r.in, size); err == nil {
		if top, err = format.Members(text); err != nil {
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
					s.params = append(s.params, cell{key: key, text: value})
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

func (s *state) columns() []string  { return nil }
func (s *state) parameters() []cell { return s.params }
