package wandb

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/json"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

// maxStream is the size limit of a part of a stream, in bytes. Clients send 10 MiB of
// lines, and a line that is longer by itself.
const maxStream = 64 << 20

const (
	maxLines = 1_000_000 // of a part of a stream
	// maxLine bounds the values in a line, and pieceValues those that are written
	// together: what is held for a value until then is some ten times its text.
	maxLine     = 100_000
	pieceValues = 20_000
)

// chunk has the lines that a client has added to a file since the last request.
type chunk struct {
	Offset  int64  `json:"offset"` // of the first line
	Content places `json:"content"`
}

// places are those of texts in a body. The texts are read one by one, so that a body
// is held once.
type places []place

// place is the part of a body from one byte to before another, with the quotes.
type place struct{ from, to int32 }

// UnmarshalJSONFrom reads a list of texts from a decoder at the beginning of the body.
func (l *places) UnmarshalJSONFrom(d *json.Decoder) error {
	if d.PeekKind() != '[' {
		return json.UnmarshalDecode(d, new([]string)) // null, or it fails
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if d.PeekKind() != '"' {
			if err := json.UnmarshalDecode(d, new(string)); err != nil {
				return err
			}
			*l = append(*l, place{})
			continue
		}
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		end := int32(d.InputOffset()) // a body is smaller than that
		*l = append(*l, place{end - int32(len(text)), end})
	}
	_, err := d.ReadToken()
	return err
}

// end returns the number of lines up to the end of a chunk.
func (f chunk) end() int64 { return max(0, f.Offset) + int64(len(f.Content)) }

// stream is a part of the stream of a run.
type stream struct {
	body       []byte
	Files      map[string]chunk `json:"files"`
	Preempting bool             `json:"preempting"`
	Complete   bool             `json:"complete"`
	ExitCode   *int             `json:"exitcode"`
}

// streamAnswer tells the client whether its script is to stop.
type streamAnswer struct {
	ExitCode *int           `json:"exitcode"`
	Limits   map[string]any `json:"limits"`
	Stopped  bool           `json:"stopped"`
}

// fileStream takes a part of the stream of a run. A client that gets a status from 400
// to 422 sends nothing more of its run. So a run that was changed or deleted meanwhile,
// and a line that can't be read, are not answered with such a status.
func (c *call) fileStream() error {
	answer := streamAnswer{Limits: map[string]any{}}
	id, err := c.iteration()
	if isNotFound(err) && c.inTrash() {
		answer.Stopped = true
		web.WriteJSON(c.w, c.r, http.StatusOK, answer)
		return nil
	}
	if err == nil {
		err = c.db.AllowPoints(c.ctx, c.actor, id) // before anything is unpacked
	}
	if err != nil {
		return err
	}
	body, err := web.ReadBody(c.w, c.r, web.Limits{Size: maxStream, Packed: true, Values: maxLines, Share: c.share})
	if err != nil {
		return err
	}
	in := stream{body: body}
	if body != nil {
		if err := web.DecodeLenient(body, &in); err != nil {
			return err
		}
	}
	// A part can be written any number of times, so after a failure between two
	// pieces the client only sends the part again.
	for _, piece := range in.pieces(pieceValues) {
		if answer.Stopped, err = c.db.AppendWandb(c.ctx, c.actor, id, piece.read()); err != nil {
			return err
		}
	}
	web.WriteJSON(c.w, c.r, http.StatusOK, answer)
	return nil
}

// iteration returns the id of the iteration that the path names.
func (c *call) iteration() (id string, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		id, err = v.WandbIteration(c.vars["project"], c.vars["run"])
		return err
	})
	return id, err
}

// inTrash reports whether the run that the path names is in the trash.
func (c *call) inTrash() bool {
	ctx := store.WithTrash(c.ctx)
	found := false
	_ = c.db.View(ctx, c.actor, func(v *store.View) (err error) { // then there is no such run
		found, err = v.WandbDeleted(c.vars["project"], c.vars["run"])
		return err
	})
	return found
}

// stamp matches what clients write before each line that a script prints.
var stamp = regexp.MustCompile(`^(ERROR )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)? `)

// printed returns a line without what clients add to it.
func printed(line string) string {
	line = line[len(stamp.FindString(line)):]
	return strings.ToValidUTF8(strings.ReplaceAll(line, "\n", " "), "\uFFFD")
}

// pieces cuts a part of a stream at its lines, so that little of it is held as points: a
// piece of several lines has up to most values. The last piece has everything that is
// not lines.
func (in stream) pieces(most int) []stream {
	var all []stream
	for name, f := range in.Files {
		if name == "wandb-summary.json" {
			continue
		}
		from, values := 0, 0
		for i, at := range f.Content {
			n := 1
			if name != "output.log" {
				n = json.Values([]byte(in.line(at)))
			}
			if values += n; values > most && i > from {
				all = append(all, stream{body: in.body, Files: map[string]chunk{name: f.cut(from, i)}})
				from, values = i, n
			}
		}
		in.Files[name] = f.cut(from, len(f.Content))
	}
	return append(all, in)
}

// line returns the text at a place, "" for the empty place, which a null has.
func (in stream) line(at place) (text string) {
	if at.to == 0 {
		return ""
	}
	if err := json.Unmarshal(in.body[at.from:at.to], &text); err != nil {
		return "" // a text that was read before can't fail
	}
	return text
}

// cut returns the lines of a chunk from one to before another.
func (f chunk) cut(from, to int) chunk {
	return chunk{Offset: f.Offset + int64(from), Content: f.Content[from:to]}
}

// row reads a line of the history or of the system metrics.
func row(line string) (format.Row, error) {
	if json.Values([]byte(line)) > maxLine {
		return format.Row{}, errLine
	}
	return format.ParseRow(line)
}

var errLine = errors.New("the line has too many values")

// read returns the content of a part of a stream for the store.
func (in stream) read() wandb.Stream {
	out := wandb.Stream{Preempting: in.Preempting, Complete: in.Complete}
	if in.ExitCode != nil {
		out.ExitCode = *in.ExitCode
	}
	lost := func(what string) {
		if len(out.Lost) < 10 {
			out.Lost = append(out.Lost, what)
		}
	}
	for name, f := range in.Files {
		switch name {
		case "wandb-history.jsonl":
			out.HistoryLines = f.end()
			for _, at := range f.Content {
				row, err := row(in.line(at))
				if err != nil {
					lost("A line of the history that is not a JSON object, or has too many values, was left out.")
					continue
				}
				out.Rows = append(out.Rows, row)
			}
		case "wandb-events.jsonl":
			out.EventLines = f.end()
			for _, at := range f.Content {
				line := in.line(at)
				row, err := row(line)
				if err != nil {
					lost("A line of the system metrics that is not a JSON object, or has too many values, was left out.")
					continue
				}
				for i := range row.Numbers {
					n := &row.Numbers[i]
					n.Key = wandb.SystemPrefix + strings.TrimPrefix(n.Key, "system.")
				}
				row.Rest = nil
				out.Events = append(out.Events, row)
				out.LastEvent = line
			}
		case "wandb-summary.json":
			if len(f.Content) > 0 {
				out.Summary = new(in.line(f.Content[len(f.Content)-1]))
			}
		case "output.log":
			out.LogLines = f.end()
			out.Output = make([]string, len(f.Content))
			for i, at := range f.Content {
				out.Output[i] = printed(in.line(at))
			}
		}
	}
	return out
}
