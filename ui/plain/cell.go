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

// Cells returns the run's parameters and metrics that columns selects.
func Cells(i runs.Iteration, columns []runs.Column) (cells []Cell) {
	for _, c := range columns {
		cell := Cell{Text: Line(i.Params[c.Name], 60)}
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
