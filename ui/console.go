package ui

import (
	"bufio"
	"net/http"
	"net/url"
	"strconv"

	"tracker/store/console"
	"tracker/store/domain"
	"tracker/ui/plain"
	"tracker/ui/terminal"
)

const (
	// consoleLines is the maximum number of console lines on a run's page.
	consoleLines = 400
	// consoleBefore is the number of lines that are shown before the line in the query.
	consoleBefore = 20
)

// consoleView holds the shown lines of a run's console.
type consoleView struct {
	Lines  []consoleLine
	First  int64  // number of the oldest stored line
	Next   int64  // number of the newest stored line plus one
	Search string // search text that all shown lines contain, "" for no search
	Line   *int64 // line number in the query, nil for none
}

type consoleLine struct {
	Number int64           `json:"number"`
	Spans  []terminal.Span `json:"spans"`
}

// earlier returns the line number for a link to earlier lines. It returns nil during a search
// or if the first shown line is the oldest.
func (v consoleView) earlier() *int64 {
	if v.Search != "" || len(v.Lines) == 0 || v.Lines[0].Number <= v.First {
		return nil
	}
	return new(max(v.First, v.Lines[0].Number-consoleLines+consoleBefore))
}

// end reports whether the shown lines reach the end of the console. It returns true for a
// search or an empty console.
func (v consoleView) end() bool {
	return v.Search != "" || len(v.Lines) == 0 || v.Lines[len(v.Lines)-1].Number+1 >= v.Next
}

// consoleQuery parses an address and returns the console query and the linked line number. The
// line number is nil if the address contains none or contains a search text.
func consoleQuery(query url.Values) (console.Query, *int64) {
	q := console.Query{Limit: consoleLines, Search: plain.Readable(query.Get("console"))}
	line, err := strconv.ParseInt(query.Get("line"), 10, 64)
	if err != nil || line < 0 || q.Search != "" {
		return q, nil
	}
	q.From = new(max(0, line-consoleBefore))
	return q, &line
}

func linesOf(lines []console.Line) []consoleLine {
	all := make([]consoleLine, len(lines))
	for i, l := range lines {
		all[i] = consoleLine{l.Number, terminal.Line(l.Text)}
	}
	return all
}

// consoleData returns lines of a run's console. It returns the last lines, or the lines from the
// number in the query on.
func (s *site) consoleData(r *http.Request, actor domain.Actor) (any, error) {
	query := r.URL.Query()
	q := console.Query{Limit: domain.MaxLimit, Search: plain.Readable(query.Get("q"))}
	if from, err := strconv.ParseInt(query.Get("from"), 10, 64); err == nil && from >= 0 {
		q.From = &from
	} else {
		q.Limit = consoleLines
	}
	c, err := s.DB.Runs.Console(r.Context(), actor, idOf(r), q)
	return struct {
		Lines []consoleLine `json:"lines"`
		First int64         `json:"first"`
		Next  int64         `json:"next"`
	}{linesOf(c.Lines), c.First, c.Next}, err
}

// consoleText responds with the whole console of a run as plain text.
func (s *site) consoleText(w http.ResponseWriter, r *http.Request, user domain.User) error {
	ctx, actor, from := r.Context(), user.Actor(), int64(0)
	out := bufio.NewWriterSize(w, 64<<10)
	for {
		c, err := s.DB.Runs.Console(ctx, actor, idOf(r), console.Query{From: &from, Limit: domain.MaxLimit})
		if err != nil && from == 0 {
			return err
		}
		if from == 0 {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		if err != nil || len(c.Lines) == 0 {
			break // end of the console, or an error after part of the response was sent
		}
		for _, l := range c.Lines {
			out.WriteString(terminal.Plain(l.Text))
			out.WriteByte('\n')
		}
		from = c.Lines[len(c.Lines)-1].Number + 1
		if out.Flush() != nil {
			return nil // the client has disconnected
		}
	}
	out.Flush()
	return nil
}
