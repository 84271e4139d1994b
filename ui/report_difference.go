package ui

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/difference"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/ui/plain"
	"tracker/ui/report"
	"tracker/ui/table"
)

// maxReportDifferences is the maximum number of rows of one kind, such as packages, in a report.
const maxReportDifferences = 20

// reportDifference returns the difference between two groups of runs in the form that reports show.
// Deleted runs are left out. If all runs of a side were deleted, the error has the code NOT_FOUND.
func (s *site) reportDifference(ctx context.Context, actor domain.Actor, experimentID string, a, b []string) (out report.Difference, err error) {
	if len(a)+len(b) > report.MaxSides {
		return out, domain.Invalid("a", "A difference in a report can have at most %d runs.", report.MaxSides)
	}
	var v *differenceView
	err = s.DB.View(ctx, actor, func(db *store.View) error {
		e, err := db.Projects.Experiment(experimentID)
		if err != nil {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		var sides [2][]compared
		missing := 0
		for i, ids := range [][]string{runs.Unique(a), runs.Unique(b)} {
			found, err := db.Runs.IterationsByID(ids)
			if err != nil {
				return err
			}
			found = slices.DeleteFunc(found, func(one runs.Iteration) bool { return one.Deleted })
			if len(found) == 0 {
				return errNoSide
			}
			missing += len(ids) - len(found)
			for _, one := range found {
				if one.ExperimentID != e.ID {
					return domain.Invalid("a", "The runs belong to several experiments. A block of a report shows runs of one experiment.")
				}
			}
			if sides[i], err = s.comparedRuns(db, found); err != nil {
				return err
			}
		}
		if v, err = differenceBetween(db, e.ID, sides[0], sides[1], o); err != nil {
			return err
		}
		if missing > 0 {
			v.Details = append(v.Details, leftOutRuns(missing))
		}
		return nil
	})
	if err == nil {
		err = s.addSources(ctx, actor, v.Code)
	}
	if err != nil {
		return out, err
	}
	return s.shownDifference(experimentID, v), nil
}

var errNoSide = domain.Errorf(domain.CodeNotFound, "The runs on one side of the difference were deleted.")

// shownDifference converts a difference to the form that reports show.
func (s *site) shownDifference(experimentID string, v *differenceView) report.Difference {
	both := []run{v.A.First, v.B.First}
	distinctColors(both)
	out := report.Difference{Sentence: v.Sentence, Details: v.Details, Page: s.BasePath + comparePath(experimentID, slices.Concat(v.A.IDs, v.B.IDs))}
	t := table.Table{Labels: []string{"Differs"}, Heads: []table.Head{{Name: "Kind"}, {Name: "Difference"}}}
	for i, side := range []sideView{v.A, v.B} {
		one := report.Run{ID: both[i].ID, Name: both[i].Name, Class: colorClass(both[i])}
		out.Sides[i] = report.Side{First: one, More: len(side.IDs) - 1}
		name := one.Name
		if more := len(side.IDs) - 1; more > 0 {
			name += " and " + strconv.Itoa(more) + " more"
		}
		if i == 0 {
			name += " (baseline)"
		}
		t.Heads = append(t.Heads, table.Head{Name: name})
	}
	var notes []string
	add := func(kind string, rows []differRow) {
		if len(rows) > maxReportDifferences {
			notes = append(notes, strings.ToLower(kind)+": the first "+strconv.Itoa(maxReportDifferences)+" of "+humanize.Comma(int64(len(rows))))
			rows = rows[:maxReportDifferences]
		}
		for _, row := range rows {
			t.Rows = append(t.Rows, table.Row{Labels: []string{row.Key}, Cells: []table.Cell{{Text: kind}, {Text: row.Change}, {Text: row.A}, {Text: row.B}}})
		}
	}
	var rows []differRow
	for _, r := range v.Results {
		row := differRow{Key: r.Key, A: r.A, B: r.B, Change: r.Difference}
		if r.Interval != "" {
			row.Change += " (" + r.Interval + ")"
		}
		rows = append(rows, row)
	}
	add("Result", rows)
	for _, kind := range []string{"Parameters", "Packages", "Environment", "Data"} {
		for _, section := range v.Sections {
			if section.Title == kind {
				add(strings.TrimSuffix(kind, "s"), section.Rows)
			}
		}
	}
	rows = nil
	if a, b := v.Code.Commits[0], v.Code.Commits[1]; a != b && a != "" && b != "" {
		rows = append(rows, differRow{Key: "Commit", A: difference.Commit(a), B: difference.Commit(b)})
	}
	for _, file := range v.Code.Files {
		row := differRow{Key: file.Name, Change: "+" + strconv.Itoa(file.Added) + " −" + plain.Counted(file.Removed, "line", "lines")}
		if file.Added+file.Removed == 0 {
			row.Change = file.Note
		}
		rows = append(rows, row)
	}
	add("Code", rows)
	out.Table = t
	if len(notes) > 0 {
		out.Note = "Rows: " + strings.Join(notes, "; ") + "."
	}
	if v.Code.Note != "" {
		out.Note = strings.TrimSpace(v.Code.Note + " " + out.Note)
	}
	return out
}
