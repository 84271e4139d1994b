package preview

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// fillIncrements shows a table increment together with the rows of all previous increments.
func (v *Preview) fillIncrements(ctx context.Context, db *store.DB, actor domain.Actor, r files.Artifact) error {
	if r.IterationID == nil || !strings.HasPrefix(r.Name, "media/table/") {
		return nil
	}
	all, err := increments(ctx, db, actor, *r.IterationID, r.Name)
	if err != nil || len(all) < 2 {
		return err
	}
	var joined tableFile
	missing, left := 0, int64(tableBytes)
	for i, part := range all {
		body, err := readFile(ctx, db, actor, *r.IterationID, part.name, left)
		if err != nil && domain.AsError(err).Code != domain.CodeNotFound {
			return err
		}
		if int64(len(body)) > left || i == maxIncrements {
			missing += len(all) - i
			break
		}
		t, ok := parseTable(body)
		if !ok {
			missing++ // not uploaded yet, or deleted
			continue
		}
		left -= int64(len(body))
		joined.Columns, joined.Data = t.Columns, append(joined.Data, t.Data...)
	}
	if joined.Columns == nil || !v.showTable(joined) {
		return nil
	}
	if v.Note += fmt.Sprintf(" of %d increments", len(all)-missing); missing > 0 {
		v.Note += fmt.Sprintf("; %d more are not shown", missing)
	}
	return nil
}

// increments returns the increments of a table in order, up to the artifact with the given
// name. It returns nil if the artifact is not an increment.
func increments(ctx context.Context, db *store.DB, actor domain.Actor, run, name string) (all []increment, err error) {
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
	at := slices.IndexFunc(all, func(i increment) bool { return i.name == name })
	if err != nil || at < 0 {
		return nil, err
	}
	last := all[at]
	all = slices.DeleteFunc(all, func(i increment) bool { return i.key != last.key || i.number > last.number })
	slices.SortStableFunc(all, func(a, b increment) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}

// readFile returns up to most+1 bytes of a run's file. If it returns more than most bytes, the file
// is larger than most bytes.
func readFile(ctx context.Context, db *store.DB, actor domain.Actor, run, name string, most int64) ([]byte, error) {
	_, data, err := db.Files.OpenFile(ctx, actor, files.Tree{IterationID: run}, name)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	return io.ReadAll(io.LimitReader(data, most+1))
}
