package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Sizes of a narrow table, a wide table and a wide event file.
const (
	narrowColumns = 5
	wideColumns   = 5000
	wideTags      = 200_000
)

// measureWide measures imports of the same number of points in a few long series and in many short
// series, and the import of an event file with very many tags.
func (b *benchmark) measureWide(ctx context.Context, dir string, points int) error {
	var costs []cost
	for _, columns := range []int{narrowColumns, wideColumns} {
		path := filepath.Join(dir, fmt.Sprintf("wide-%d.csv", columns))
		rows := max(points/columns, 1)
		if err := writeTable(ctx, path, columns, rows); err != nil {
			return err
		}
		took, err := b.importOf(ctx, fmt.Sprintf("%s points of a table with %s columns", comma(columns*rows), comma(columns)), path)
		if err != nil {
			return err
		}
		b.addValue("processor time of a point", "µs", took.processor.Seconds()*1e6/float64(columns*rows))
		costs = append(costs, took)
	}
	b.addValue(fmt.Sprintf("ratio of %s columns to %d, processor time", comma(wideColumns), narrowColumns), "", costs[1].processor.Seconds()/costs[0].processor.Seconds())
	logs := filepath.Join(dir, "tags")
	if err := b.eventFiles(ctx, logs, 1, wideTags, 1); err != nil {
		return err
	}
	took, err := b.importOf(ctx, comma(wideTags)+" tags of one event file", logs)
	if err == nil {
		b.addValue("processor time of it", "s", took.processor.Seconds())
	}
	return err
}

// writeTable writes a table with a step column and the given number of other columns.
func writeTable(ctx context.Context, path string, columns, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	out.WriteString("step")
	for c := range columns {
		fmt.Fprintf(out, ",layer/%d/norm", c)
	}
	for r := 0; r < rows && ctx.Err() == nil; r++ {
		out.WriteString("\n" + strconv.Itoa(r))
		for c := range columns {
			out.WriteString("," + strconv.FormatFloat(1/float64(1+r+7*c), 'g', 6, 64))
		}
	}
	out.WriteString("\n")
	return errors.Join(out.Flush(), f.Close(), ctx.Err())
}
