package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tracker/store/transfer"
)

// checkColumns returns an error if a table lacks the step column or the time column that the
// options name.
func (s source) checkColumns(ctx context.Context, im *transfer.Import) error {
	for _, chosen := range []struct{ name, what string }{{im.Options.Step, "steps"}, {im.Options.Time, "times"}} {
		if chosen.name == "" {
			continue
		}
		for _, f := range s.files {
			if !im.Wanted(f.name, s.experiment()) {
				continue
			}
			there, names, err := f.hasColumn(ctx, im, chosen.name)
			if err != nil {
				return err
			}
			if !there {
				return fmt.Errorf("%s has no column %q for the %s; its columns are %s", f.path, chosen.name, chosen.what, listed(names))
			}
		}
	}
	return nil
}

// hasColumn reports whether a table has the named column, and returns the names of the table's
// columns. It returns true for an unreadable table, because the import reports the error later.
func (f file) hasColumn(ctx context.Context, im *transfer.Import, name string) (there bool, names []string, err error) {
	in, err := os.Open(f.path)
	if err != nil {
		return true, nil, nil
	}
	defer in.Close()
	scratch := transfer.New(transfer.Nowhere{}, im.Options) // discards losses, because the import of the table reports them
	scratch.Progress = nil
	rows := f.rows(&reader{file: f, im: scratch, in: io.LimitReader(in, f.info.Size()), opened: in})
	if names = rows.columns(); names != nil {
		return slices.Contains(names, name), names, nil
	}
	seen := map[string]bool{}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return false, nil, ctx.Err()
		}
		cells, err := rows.next()
		var own *rowError
		if err != nil && !errors.As(err, &own) {
			return len(names) == 0 || !errors.Is(err, io.EOF), names, nil
		}
		for _, c := range cells {
			if c.key == name {
				return true, names, nil
			}
			if !seen[c.key] && len(seen) < maxColumns {
				seen[c.key] = true
				names = append(names, strings.Clone(c.key))
			}
		}
	}
}

// maxListed is the maximum number of column names in a message.
const maxListed = 30

func listed(names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	more := ""
	if n := len(names) - maxListed; n > 0 {
		names, more = names[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}
