package ui

import (
	"bufio"
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/search"
)

// runsCSV responds with all runs that match the filter as CSV. The file has the order and
// columns of the table. Numbers have full precision, times are in RFC 3339 format, and
// durations are in seconds.
func (s *site) runsCSV(w http.ResponseWriter, r *http.Request, user domain.User) error {
	ctx, actor := r.Context(), domain.Actor{UserID: user.ID}
	e, err := s.DB.Projects.Experiment(ctx, actor, idOf(r))
	if err != nil {
		return err
	}
	q := searchOf(r.URL.Query())
	q.Fold, q.Parent = false, nil
	columns, err := runs.Columns(q.Columns)
	if err != nil {
		return err
	}
	// Buffer the first rows, so that an invalid search can get an error response.
	buffer := bufio.NewWriterSize(w, 64<<10)
	out := csv.NewWriter(buffer)
	begun := false
	begin := func() error {
		begun = true
		w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		w.Header().Set("Content-Disposition", web.Attachment(e.Name+".csv"))
		head := []string{"name", "status"}
		for _, c := range columns {
			head = append(head, harmless(string(c.Kind)+"."+c.Name))
		}
		return out.Write(append(head, "created", "duration", "tags", "id"))
	}
	err = s.DB.Runs.WalkIterations(ctx, actor, e.ID, q, func(part []runs.Iteration) error {
		if !begun {
			if err := begin(); err != nil {
				return err
			}
		}
		for _, i := range part {
			if err := out.Write(s.csvRow(i, columns)); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
	if err == nil && !begun {
		err = begin()
	}
	if err != nil && !begun {
		return err
	}
	out.Flush()
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		// Part of the response was sent. Abort the connection: otherwise the client would mistake
		// the response for a complete file.
		web.InfoOf(r).Err = err
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (s *site) csvRow(i runs.Iteration, columns []runs.Column) []string {
	row := []string{harmless(i.Name), s.status(i)}
	for _, c := range columns {
		var text string
		if c.Kind == search.ParamKey {
			text = harmless(i.Params[c.Name])
		} else if v, ok := i.Metrics[c.Name]; ok {
			text = v.String()
		}
		row = append(row, text)
	}
	return append(row, i.CreatedDate.String(), strconv.FormatFloat(lasted(i).Seconds(), 'f', -1, 64),
		harmless(strings.Join(i.Tags, ", ")), i.ID)
}

// harmless returns text in a form that a spreadsheet does not evaluate as a formula. If text begins
// like a formula, harmless puts an apostrophe before it, as OWASP recommends against CSV injection.
// Numbers are unchanged.
func harmless(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}
