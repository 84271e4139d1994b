package transfertest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/transfer"
	"tracker/store/transfer/table"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfertest"
)

// changing is a sink that changes the source after its first write.
type changing struct {
	transfer.Sink
	change func()
}

func (c *changing) Write(ctx context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	out, err := c.Sink.Write(ctx, batches)
	if c.change != nil {
		c.change()
		c.change = nil
	}
	return out, err
}

// TestSourceChanges changes a source while it is imported. The import must terminate, and the next
// import must have the same result as a first import of the changed source.
func TestSourceChanges(t *testing.T) {
	const many = 40_000 // more points than are written at once
	long, short := events(t, t0, 0, many, 0.5), events(t, t0, 0, many/2, 0.5)
	longer, other := events(t, t0, 0, many+10, 0.5), events(t, t0+77, 0, 10, 3)
	lines := func(n int) []byte {
		var text strings.Builder
		text.WriteString("step,loss\n")
		for i := range n {
			fmt.Fprintf(&text, "%d,0.5\n", i)
		}
		return []byte(text.String())
	}
	for name, test := range map[string]struct {
		kind          transfer.Kind
		file          string
		before, after []byte // nil if the file does not exist
		want          string // last series at the end; "" to skip the check
	}{
		"grows":           {tensorboard.Kind(), "events.out.tfevents.1", long, longer, "40010|20004.5|40009|0|20004.5"},
		"shrinks":         {tensorboard.Kind(), "events.out.tfevents.1", long, short, "20000|9999.5|19999|0|9999.5"},
		"is removed":      {tensorboard.Kind(), "events.out.tfevents.1", long, nil, "40000|19999.5|39999|0|19999.5"},
		"is another one":  {tensorboard.Kind(), "events.out.tfevents.1", long, other, "10|27|9|0|27"},
		"table grows":     {table.Kind(), "metrics.csv", lines(many), lines(many + 10), "40010|0.5|40009|0.5|0.5"},
		"table shrinks":   {table.Kind(), "metrics.csv", lines(many), lines(10), "10|0.5|9|0.5|0.5"},
		"table is gone":   {table.Kind(), "metrics.csv", lines(many), nil, "40000|0.5|39999|0.5|0.5"},
		"table is binary": {table.Kind(), "metrics.csv", lines(many), []byte("\x00\xff\n\x01"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "run", test.file)
			write(t, path, test.before)
			db, file := transfertest.Open(t)
			sink := &changing{db.Imports.Sink(domain.System), func() {
				if test.after == nil {
					if err := os.Remove(path); err != nil {
						t.Error(err)
					}
					return
				}
				write(t, path, test.after)
			}}
			if _, err := transfertest.Run(t, sink, test.kind, filepath.Dir(path), transfer.Options{}); err != nil {
				t.Fatal(err)
			}
			if test.after != nil {
				transfertest.Import(t, db, test.kind, filepath.Dir(path), transfer.Options{})
			}
			if test.want != "" && !strings.HasSuffix(points(t, file), "|"+test.want) {
				t.Errorf("the series is %s, and should be %s", points(t, file), test.want)
			}
			before := transfertest.Dump(t, file)
			if test.after != nil {
				transfertest.Import(t, db, test.kind, filepath.Dir(path), transfer.Options{})
			}
			if transfertest.Dump(t, file) != before {
				t.Error("another import changes something")
			}
			checked(t, db)
		})
	}
}
