package ui

import (
	"context"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

const (
	maxTablePlots = 12        // maximum number of charts on a run's page
	maxPlotTable  = 512 << 10 // maximum size in bytes of a table that is drawn as a chart
	maxPlotTitle  = 200       // maximum number of characters in a chart title
	maxPlotRows   = 10        // maximum number of rows shown of the table of a chart that is not drawn
	maxPlotCells  = 8         // maximum number of columns shown
)

// tablePlots holds the charts that the W&B client logged as tables.
type tablePlots struct {
	Drawn []tablePlot
	More  int // number of charts that are not drawn
}

// tablePlot is a chart that the W&B client logged as a table.
type tablePlot struct {
	Title string
	Plot  *chart.Plot // nil if the chart can't be drawn
	Why   string      // message about why the chart can't be drawn, "" if it can
	// Columns and Rows hold the beginning of the table of a chart that can't be drawn.
	Columns []string
	Rows    [][]string
	More    string // message about omitted rows and columns, "" for none
}

// tablePlots draws the charts of a run, up to maxTablePlots charts.
func (s *site) tablePlots(ctx context.Context, actor domain.Actor, id string, specs []format.Plot) (v tablePlots, err error) {
	v.More = max(0, len(specs)-maxTablePlots)
	for _, p := range specs[:len(specs)-v.More] {
		title := p.Key
		if p.Title != "" {
			title += ": " + p.Title
		}
		one := tablePlot{Title: plain.Line(plain.Readable(title), maxPlotTitle)}
		table, why, err := s.plotTable(ctx, actor, id, p)
		if err != nil {
			return v, err
		}
		if one.Why = why; why == "" {
			if one.Plot = chart.FromTable(p, table); one.Plot == nil {
				one.showTable(p, table)
			} else {
				one.Plot.Title = one.Title
			}
		}
		v.Drawn = append(v.Drawn, one)
	}
	return v, nil
}

// showTable shows the beginning of the table of a chart of an unknown kind.
func (v *tablePlot) showTable(p format.Plot, t format.Table) {
	v.Why = "This kind of chart is not supported, so its table is shown."
	if p.Kind == "" {
		v.Why = "The definition of this chart, " + plain.Line(plain.Readable(p.Panel), maxPlotTitle) + ", is on W&B's servers, so the chart's table is shown."
	}
	for _, c := range t.Columns[:min(len(t.Columns), maxPlotCells)] {
		v.Columns = append(v.Columns, plain.Line(plain.Readable(c), maxPlotTitle))
	}
	for _, row := range t.Rows[:min(len(t.Rows), maxPlotRows)] {
		cells := make([]string, len(v.Columns))
		for i := range cells {
			if i < len(row) {
				cells[i] = chart.Cell(row[i])
			}
		}
		v.Rows = append(v.Rows, cells)
	}
	switch rows, columns := len(t.Rows) > maxPlotRows, len(t.Columns) > maxPlotCells; {
	case rows && columns:
		v.More = fmt.Sprintf("The first %d of %s rows and %d of %d columns.", maxPlotRows, humanize.Comma(int64(len(t.Rows))), maxPlotCells, len(t.Columns))
	case rows:
		v.More = fmt.Sprintf("The first %d of %s rows.", maxPlotRows, humanize.Comma(int64(len(t.Rows))))
	case columns:
		v.More = fmt.Sprintf("The first %d of %d columns.", maxPlotCells, len(t.Columns))
	}
}

// plotTable reads the table of a chart. If the table can't be shown, the result why is the reason.
func (s *site) plotTable(ctx context.Context, actor domain.Actor, id string, p format.Plot) (t format.Table, why string, err error) {
	if p.File == "" {
		return t, "Its table has not been sent yet.", nil
	}
	_, data, err := s.DB.Files.OpenFile(ctx, actor, files.Tree{IterationID: id}, transfer.FitPath(p.File))
	if err != nil {
		if domain.AsError(err).Code == domain.CodeNotFound {
			return t, "Its table has not been sent yet.", nil
		}
		return t, "", err
	}
	defer data.Close()
	text, err := io.ReadAll(io.LimitReader(data, maxPlotTable+1))
	if err != nil {
		return t, "", err
	}
	if len(text) > maxPlotTable {
		return t, "Its table is larger than " + humanize.IBytes(maxPlotTable) + ", so it is not drawn. It is in the artifacts.", nil
	}
	if t, err = format.ParseTable(string(text)); err != nil {
		return t, "Its table can't be read. It is in the artifacts.", nil
	}
	return t, "", nil
}

// plotsOf returns the specifications of the charts that the W&B client logged in a run.
func plotsOf(db *store.View, id string) ([]format.Plot, error) {
	w, err := db.Wandb.RunOf(id)
	return format.Plots(w.Config, w.Summary), err
}
