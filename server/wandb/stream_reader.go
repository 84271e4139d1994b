package wandb

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"tracker/server/web"
	"tracker/store/console"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

const (
	maxLines = 1_000_000 // lines in a part of a stream
	// maxLine is the maximum number of values in a line.
	maxLine = 100_000
	// pieceValues and pieceBytes are the maximum size of a piece. A piece of one line may be
	// larger.
	pieceValues = 20_000
	pieceBytes  = 4 << 20
	// valueBytes is the maximum memory of a value before it is written, not counting its text.
	valueBytes = 256
)

// streamReader reads a part of a stream from its body, and writes it in pieces. The last piece has
// all data that is not in lines.
type streamReader struct {
	d     *json.Decoder
	most  int                      // maximum number of values in a piece with several lines
	grow  func(bytes int64) error  // counts memory until the next write
	write func(wandb.Stream) error // writes a piece

	piece  wandb.Stream
	values int // values in the piece
	bytes  int // bytes of its lines
	lines  int // lines in the whole part
	end    end
}

// end holds the fields of the last piece.
type end struct {
	summary    *string
	preempting bool
	complete   bool
	exitCode   *int
}

func newStreamReader(body io.Reader, most int, grow func(int64) error, write func(wandb.Stream) error) *streamReader {
	d := json.NewDecoder(body, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
	return &streamReader{d: d, most: most, grow: grow, write: write}
}

// read reads and writes the whole part.
func (s *streamReader) read() error {
	err := s.object(s.member)
	if err == nil {
		if _, err = s.d.ReadToken(); err == nil {
			return errTrailing
		}
	}
	if err != io.EOF { // an empty body returns io.EOF, too
		return err
	}
	s.piece.Summary, s.piece.Preempting, s.piece.Complete = s.end.summary, s.end.preempting, s.end.complete
	if s.end.exitCode != nil {
		s.piece.ExitCode = *s.end.exitCode
	}
	return s.write(s.piece)
}

var errTrailing = domain.Errorf(web.CodeMalformedBody, "The body must be a single JSON object, without anything after it.")

func (s *streamReader) member(name string) error {
	switch name {
	case "files":
		return s.object(s.file)
	case "preempting":
		return json.UnmarshalDecode(s.d, &s.end.preempting)
	case "complete":
		return json.UnmarshalDecode(s.d, &s.end.complete)
	case "exitcode":
		return json.UnmarshalDecode(s.d, &s.end.exitCode)
	}
	return s.d.SkipValue()
}

// file reads the lines that were added to a file since the last request.
func (s *streamReader) file(name string) error {
	offset, n := int64(0), int64(0) // number of the first line, and of lines so far
	var last string
	var printed []string
	err := s.object(func(field string) error {
		switch field {
		case "offset":
			return json.UnmarshalDecode(s.d, &offset)
		case "content":
			return s.content(func(line string) error {
				n++
				switch name {
				case "wandb-history.jsonl":
					return s.history(line)
				case "wandb-events.jsonl":
					return s.event(line)
				case "wandb-summary.json":
					last = line
				case "output.log":
					printed = append(printed, withoutStamp(line))
					if len(printed) == 2*console.MaxLines { // Append uses at most the last MaxLines+1
						printed = append(printed[:0], printed[console.MaxLines-1:]...)
					}
				}
				return nil
			})
		}
		return s.d.SkipValue()
	})
	to := max(0, offset) + n
	switch name {
	case "wandb-history.jsonl":
		s.piece.HistoryLines = to
	case "wandb-events.jsonl":
		s.piece.EventLines = to
	case "wandb-summary.json":
		if n > 0 {
			s.end.summary = &last
		}
	case "output.log":
		s.piece.LogLines, s.piece.Output = to, printed
	}
	return err
}

// object calls member with each name of the next value, which must be an object or null. member
// reads the value of the name.
func (s *streamReader) object(member func(name string) error) error {
	if s.d.PeekKind() != '{' {
		return json.UnmarshalDecode(s.d, new(struct{})) // it is null, otherwise this returns an error
	}
	if _, err := s.d.ReadToken(); err != nil {
		return err
	}
	for s.d.PeekKind() != '}' {
		name, err := s.d.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	_, err := s.d.ReadToken()
	return err
}

// content calls line with each text of the next value, which must be a list or null. A null in the
// list is an empty text.
func (s *streamReader) content(line func(text string) error) error {
	if s.d.PeekKind() != '[' {
		return json.UnmarshalDecode(s.d, new([]string)) // it is null, otherwise this returns an error
	}
	if _, err := s.d.ReadToken(); err != nil {
		return err
	}
	for s.d.PeekKind() != ']' {
		if s.lines++; s.lines > maxLines {
			return errLines
		}
		var text string
		if s.d.PeekKind() != '"' {
			if err := json.UnmarshalDecode(s.d, &text); err != nil {
				return err
			}
		} else {
			token, err := s.d.ReadToken()
			if err != nil {
				return err
			}
			text = token.String()
		}
		if err := line(text); err != nil {
			return err
		}
	}
	_, err := s.d.ReadToken()
	return err
}

var errLines = domain.Errorf(domain.CodePayloadTooLarge, "The body has more than %d lines; send less at once.", maxLines)

// history adds a line of the history to the piece.
func (s *streamReader) history(line string) error {
	row, ok, err := s.row(line)
	if err != nil {
		return err
	}
	if !ok {
		s.lost("A line of the history that is not a JSON object, or has too many values, was left out.")
		return nil
	}
	s.piece.Rows = append(s.piece.Rows, row)
	return nil
}

// event adds a line of the system metrics to the piece.
func (s *streamReader) event(line string) error {
	row, ok, err := s.row(line)
	if err != nil {
		return err
	}
	if !ok {
		s.lost("A line of the system metrics that is not a JSON object, or has too many values, was left out.")
		return nil
	}
	for i := range row.Numbers {
		n := &row.Numbers[i]
		n.Key = wandb.SystemPrefix + strings.TrimPrefix(n.Key, "system.")
	}
	row.Rest = nil
	s.piece.Events = append(s.piece.Events, row)
	s.piece.LastEvent = line
	return nil
}

// row returns the row of a line and makes room for it in the piece. ok is false if the line can't
// be read.
func (s *streamReader) row(line string) (row format.Row, ok bool, err error) {
	n := json.Values([]byte(line))
	if s.values > 0 && (s.values+n > s.most || s.bytes+len(line) > pieceBytes) {
		if err := s.write(s.piece); err != nil {
			return row, false, err
		}
		s.piece, s.values, s.bytes = wandb.Stream{}, 0, 0
	}
	if n > maxLine {
		return row, false, nil
	}
	s.values += n
	s.bytes += len(line)
	if err := s.grow(int64(n) * valueBytes); err != nil {
		return row, false, err
	}
	row, err = format.ParseRow(line)
	return row, err == nil, nil
}

// lost records that data could not be read.
func (s *streamReader) lost(what string) {
	if !slices.Contains(s.piece.Lost, what) {
		s.piece.Lost = append(s.piece.Lost, what)
	}
}

// stamp matches the prefix that clients write before each printed line.
var stamp = regexp.MustCompile(`^(ERROR )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)? `)

// withoutStamp returns a line without that prefix.
func withoutStamp(line string) string {
	line = line[len(stamp.FindString(line)):]
	return strings.ToValidUTF8(strings.ReplaceAll(line, "\n", " "), "\uFFFD")
}
