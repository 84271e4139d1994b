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
	maxLines = 1_000_000 // maximum number of lines in a stream part
	// maxLine is the maximum number of JSON values in a line.
	maxLine = 100_000
	// pieceValues and pieceBytes limit the size of a batch. A batch with a single line can exceed
	// these limits.
	pieceValues = 20_000
	pieceBytes  = 4 << 20
	// valueBytes is the maximum memory of a value before it is written, without its string.
	valueBytes = 256
)

// streamReader reads a stream part from a request body and writes it in batches. The last batch
// contains all data outside of lines.
type streamReader struct {
	d     *json.Decoder
	most  int                      // maximum number of values in a batch with several lines
	grow  func(bytes int64) error  // counts the memory of the batch, which write releases
	write func(wandb.Stream) error // writes a batch
	// writer is the id of the client if several clients write to the run, and "" otherwise.
	writer string

	piece  wandb.Stream
	values int // number of values in piece
	bytes  int // number of bytes in the lines of piece
	lines  int // number of lines read from the stream part
	end    end
}

// end holds the fields that are written with the last batch.
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

// read reads the stream part to its end and writes all data.
func (s *streamReader) read() error {
	err := s.object(s.member)
	if err == nil {
		if _, err = s.d.ReadToken(); err == nil {
			return errTrailing
		}
	}
	if err != io.EOF { // an empty body also returns io.EOF
		return err
	}
	s.piece.Summary, s.piece.Preempting, s.piece.Complete = s.end.summary, s.end.preempting, s.end.complete
	if s.end.exitCode != nil {
		s.piece.ExitCode = *s.end.exitCode
	}
	return s.writePiece()
}

// writePiece writes piece and begins the next one.
func (s *streamReader) writePiece() error {
	s.piece.Writer = s.writer
	err := s.write(s.piece)
	s.piece, s.values, s.bytes = wandb.Stream{}, 0, 0
	return err
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

// file reads the lines that the stream part adds to a file.
func (s *streamReader) file(name string) error {
	offset, n := int64(0), int64(0) // number of the first line, and number of lines read
	var last string
	var printed []string
	err := s.object(func(field string) error {
		switch field {
		case "offset":
			if n > 0 && s.writer != "" {
				return errOffset // its lines may be written already
			}
			return json.UnmarshalDecode(s.d, &offset)
		case "content":
			return s.content(func(line string) error {
				n++
				switch name {
				case "wandb-history.jsonl":
					return s.history(line, max(0, offset)+n-1)
				case "wandb-events.jsonl":
					return s.event(line)
				case "wandb-summary.json":
					last = line
				case "output.log":
					printed = append(printed, withoutStamp(line))
					if len(printed) == 2*console.MaxLines { // Append uses at most the last MaxLines+1 lines
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

// object reads a JSON object or null. It calls member with each name, and member reads the value
// that follows.
func (s *streamReader) object(member func(name string) error) error {
	if s.d.PeekKind() != '{' {
		return json.UnmarshalDecode(s.d, new(struct{})) // accepts null; other values cause an error
	}
	return json.EachMember(s.d, member)
}

// content reads a JSON list of strings, or null, and calls line with each string. A null in the
// list is treated as an empty string.
func (s *streamReader) content(line func(text string) error) error {
	if s.d.PeekKind() != '[' {
		return json.UnmarshalDecode(s.d, new([]string)) // accepts null; other values cause an error
	}
	return json.EachElement(s.d, func() error {
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
		return line(text)
	})
}

var errOffset = domain.Errorf(web.CodeMalformedBody, "The offset of a file must precede its content.")

var errLines = domain.Errorf(domain.CodePayloadTooLarge, "The body has more than %d lines; send less at once.", maxLines)

// history adds a history line to piece. number is the number of the line in the stream of the client.
func (s *streamReader) history(line string, number int64) error {
	row, ok, err := s.row(line)
	if err != nil {
		return err
	}
	if !ok {
		s.lost("A line of the history that is not a JSON object, or has too many values, was left out.")
		return nil
	}
	row.Line = number
	s.piece.Rows = append(s.piece.Rows, row)
	return nil
}

// event adds a line of system metrics to piece.
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

// row parses a line. If the row does not fit into the current batch, the batch is written first. ok
// is false if the line is invalid or too long.
func (s *streamReader) row(line string) (row format.Row, ok bool, err error) {
	n := json.Values([]byte(line))
	if s.values > 0 && (s.values+n > s.most || s.bytes+len(line) > pieceBytes) {
		if err := s.writePiece(); err != nil {
			return row, false, err
		}
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

// lost adds the message what to the data losses of piece.
func (s *streamReader) lost(what string) {
	if !slices.Contains(s.piece.Lost, what) {
		s.piece.Lost = append(s.piece.Lost, what)
	}
}

// stamp matches the time stamp that clients write before each output line.
var stamp = regexp.MustCompile(`^(ERROR )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)? `)

// withoutStamp returns an output line without its time stamp.
func withoutStamp(line string) string {
	line = line[len(stamp.FindString(line)):]
	return strings.ToValidUTF8(strings.ReplaceAll(line, "\n", " "), "\uFFFD")
}
