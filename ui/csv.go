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
	"tracker/ui/plain"
	"tracker/ui/table"
)

// runsCSV responds with all runs that match the filter as CSV, or with groups of runs if the
// query has a group. The file has the order and columns of the table. Numbers have full precision,
// times are in RFC 3339 format, and durations are in seconds.
func (s *site) runsCSV(w http.ResponseWriter, r *http.Request, user domain.User) error {
	if r.URL.Query().Get("group") != "" {
		return s.runsTable(w, r, user, csvTable)
	}
	ctx, actor := r.Context(), user.Actor()
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
			head = append(head, table.Harmless(string(c.Kind)+"."+c.Name))
		}
		return out.Write(append(head, "created", "duration", "tags", "id", "created_by"))
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
		breakOff(r, err)
	}
	return nil
}

// breakOff aborts the connection after an error, because a part of the response was sent. Otherwise
// the client would mistake the response for a complete file. breakOff does not return.
func breakOff(r *http.Request, err error) {
	web.InfoOf(r).Err = err
	panic(http.ErrAbortHandler)
}

func (s *site) csvRow(i runs.Iteration, columns []runs.Column) []string {
	row := []string{table.Harmless(i.Name), s.status(i)}
	for _, c := range columns {
		var text string
		if c.Kind != search.MetricKey {
			text = table.Harmless(plain.Text(i, c))
		} else if v, ok := i.Metrics[c.Name]; ok {
			text = v.String()
		}
		row = append(row, text)
	}
	name := ""
	if i.CreatedBy != nil {
		name = *i.CreatedBy
	}
	return append(row, i.CreatedDate.String(), strconv.FormatFloat(lasted(i).Seconds(), 'f', -1, 64),
		table.Harmless(strings.Join(i.Tags, ", ")), i.ID, table.Harmless(name))
}
