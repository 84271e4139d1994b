package plain

import (
	"tracker/store/runs"
	"tracker/store/search"
)

// Cell is a cell in a table of runs. Number reports whether Text is a number.
type Cell struct {
	Text   string
	Number bool
}

// Cells returns the run's parameters, metrics and texts that columns selects.
func Cells(i runs.Iteration, columns []runs.Column) (cells []Cell) {
	for _, c := range columns {
		cell := Cell{Text: Line(Text(i, c), 60)}
		if c.Kind == search.MetricKey {
			cell = Cell{Number: true}
			if value, ok := i.Metrics[c.Name]; ok {
				cell.Text = Number(value)
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// Text returns the run's parameter or text of the summary that a column selects.
func Text(i runs.Iteration, c runs.Column) string {
	if c.Kind == search.SummaryKey {
		return string(i.Texts[c.Name])
	}
	return i.Params[c.Name]
}
