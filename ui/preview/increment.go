package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

// maxIncrements is the maximum number of increments that are read for a table. The W&B client
// logs up to 100 increments.
const maxIncrements = 200

// increment is a part of a table that the W&B client logged with log_mode="INCREMENTAL".
type increment struct {
	key    string
	number int64
	name   string // artifact name
}

// increments returns the artifacts of all increments of a table up to r, oldest first, whose sizes
// are up to most bytes together. It returns nil if r is not an increment. missing is the number of
// increments that are not returned, because they were not uploaded yet, were deleted, or are too
// many.
func (l tableLoader) increments(r files.Artifact, most int64) (parts []files.Artifact, missing int, err error) {
	if r.IterationID == nil || !strings.HasPrefix(r.Name, "media/table/") {
		return nil, 0, nil
	}
	all, err := increments(l.ctx, l.db, l.actor, *r.IterationID, r.Name)
	if err != nil || len(all) < 2 {
		return nil, 0, err
	}
	made, _, err := l.made(*r.IterationID)
	if err != nil {
		return nil, 0, err
	}
	byName := map[string]files.Artifact{}
	for _, a := range made {
		byName[a.Name] = a
	}
	for i, part := range all {
		a, there := byName[part.name]
		if !there {
			missing++
			continue
		}
		if most -= a.SizeBytes; most < 0 || len(parts) == maxIncrements {
			return parts, missing + len(all) - i, nil
		}
		parts = append(parts, a)
	}
	return parts, missing, nil
}

// fillIncrements shows a table increment together with the rows of all previous increments.
func (v *Preview) fillIncrements(ctx context.Context, db *store.DB, actor domain.Actor, r files.Artifact) error {
	l := tableLoader{ctx: ctx, db: db, actor: actor}
	parts, missing, err := l.increments(r, tableBytes)
	if err != nil || len(parts) == 0 {
		return err
	}
	t, err := l.appended(parts)
	if err != nil || !v.showTable(t) {
		return err
	}
	if v.Note += fmt.Sprintf(" of %d increments", len(parts)); missing > 0 {
		v.Note += fmt.Sprintf("; %d more are not shown", missing)
	}
	return nil
}

// increments returns the increments of a table in order, up to the artifact with the given
// name. It returns nil if the artifact is not an increment.
func increments(ctx context.Context, db *store.DB, actor domain.Actor, run, name string) ([]increment, error) {
	all, err := allIncrements(ctx, db, actor, run)
	at := slices.IndexFunc(all, func(i increment) bool { return i.name == name })
	if err != nil || at < 0 {
		return nil, err
	}
	last := all[at]
	all = slices.DeleteFunc(all, func(i increment) bool { return i.key != last.key || i.number > last.number })
	slices.SortStableFunc(all, func(a, b increment) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}

// allIncrements returns the increments of all tables of a run.
func allIncrements(ctx context.Context, db *store.DB, actor domain.Actor, run string) (all []increment, err error) {
	err = db.View(ctx, actor, func(v *store.View) error {
		_, err := v.Wandb.EachValue([]string{run}, nil, []string{`"incremental-table-file"`}, func(_ string, _ scalar.Step, m format.Member) error {
			var of struct {
				Path   string `json:"path"`
				Number int64  `json:"increment_num"`
			}
			if json.Unmarshal([]byte(m.Value), &of, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) == nil && of.Path != "" {
				all = append(all, increment{m.Key, of.Number, transfer.FitPath(of.Path)})
			}
			return domain.Take(ctx, int64(len(m.Key)+len(of.Path)))
		})
		return err
	})
	return all, err
}
