package plain

import (
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/search"
)

// Cell is a cell in a table of runs. Number reports whether Text is a number.
type Cell struct {
	Text   string
	Number bool
}

// Cells returns the parameters, metrics and texts of all runs that columns selects. The decimal
// points of a column are aligned.
func Cells(all []runs.Iteration, columns []runs.Column) [][]Cell {
	table := make([][]Cell, len(all))
	for _, c := range columns {
		places := MetricDecimals(all, c.Name)
		for n, i := range all {
			cell := Cell{Text: Line(Text(i, c), 60)}
			if c.Kind == search.MetricKey {
				cell = Cell{Number: true}
				if value, ok := i.Metrics[c.Name]; ok {
					cell.Text = Fixed(value, places)
				}
			}
			table[n] = append(table[n], cell)
		}
	}
	return table
}

// MetricDecimals returns the number of decimals for a metric of runs.
func MetricDecimals(all []runs.Iteration, metric string) int {
	var values []scalar.Value
	for _, i := range all {
		if v, ok := i.Metrics[metric]; ok {
			values = append(values, v)
		}
	}
	return Decimals(values)
}

// Text returns the run's parameter or text of the summary that a column selects.
func Text(i runs.Iteration, c runs.Column) string {
	if c.Kind == search.SummaryKey {
		return string(i.Texts[c.Name])
	}
	return i.Params[c.Name]
}
