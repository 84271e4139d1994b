package report

import (
	"context"
	"strings"

	"tracker/store/domain"
	"tracker/ui/table"
)

// MaxSides is the maximum number of runs on both sides of a difference.
const MaxSides = 200

var errSides = domain.Invalid("a", "The difference in a report needs runs on both sides, at most %d: a: and b: with the IDs of runs, separated by commas.", MaxSides)

// Difference describes how two sides of a comparison differ. A side is a run, or a group of runs.
type Difference struct {
	Sentence string
	Details  []string // sentences about the test and about omitted runs
	Sides    [2]Side
	Table    table.Table // values that differ
	Note     string      // note about omitted rows, "" for none
	Page     string      // URL of the page that compares the runs
}

// Side is a side of a difference. It is named after its first run.
type Side struct {
	First Run
	More  int // number of further runs
}

// Markdown returns the difference as text of a report.
func (d Difference) Markdown() string {
	text := "**" + table.EscapeMarkdown(d.Sentence) + "**\n\n"
	if len(d.Details) > 0 {
		text += table.EscapeMarkdown(strings.Join(d.Details, " ")) + "\n\n"
	}
	if len(d.Table.Rows) > 0 {
		text += d.Table.Markdown()
	}
	if d.Note != "" {
		text += "\n" + table.EscapeMarkdown(d.Note) + "\n"
	}
	return text
}

// difference fills part with the difference between two sides.
func (r *Builder) difference(ctx context.Context, b block, part *Part) error {
	id, err := r.experimentID(ctx, b)
	if err != nil {
		return err
	}
	first, second := b.listed("a"), b.listed("b")
	if len(first) == 0 || len(second) == 0 || len(first)+len(second) > MaxSides {
		return errSides
	}
	d, err := r.Difference(ctx, id, first, second)
	if err != nil {
		return err
	}
	part.Lead, part.Sides, part.Page = d.Sentence, d.Sides[:], d.Page
	part.Note = strings.TrimSpace(strings.Join(append(d.Details, d.Note), " "))
	if len(d.Table.Rows) > 0 {
		part.Table = &d.Table
	}
	for _, row := range d.Table.Rows {
		part.Links = append(part.Links, Run{Name: row.Labels[0]})
	}
	return nil
}
