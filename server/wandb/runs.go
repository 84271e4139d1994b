package wandb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/json"
)

// offsetOf reads a cursor, which is the number of the records before.
func offsetOf(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(cursor)
	if err != nil || n < 0 {
		return 0, store.Invalid("after", "The cursor can't be read; begin again without one.")
	}
	return n, nil
}

// found returns the runs of a project that pass a filter, a JSON text, in an order such as
// "-created_at".
func (c *call) found(p store.Project, filters, order string) ([]store.WandbRecord, error) {
	all, err := c.db.WandbRecords(c.ctx, c.actor, p.ID)
	if err != nil {
		return nil, err
	}
	now := c.s.auth.Now()
	if strings.TrimSpace(filters) != "" {
		var f any
		if err := json.Unmarshal([]byte(filters), &f, json.AllowDuplicateNames(true)); err != nil {
			return nil, store.Invalid("filters", "The filters must be a JSON object.")
		}
		test, err := parseFilter(f, 0)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(r store.WandbRecord) bool { return !test(&subject{r: &r, now: now}) })
	}
	for key := range strings.SplitSeq(order, ",") {
		key = strings.TrimSpace(key)
		if key == "" {
			continue
		}
		name, down := strings.CutPrefix(key, "-")
		name = strings.TrimPrefix(name, "+")
		type keyed struct {
			r store.WandbRecord
			v any
		}
		rows := make([]keyed, len(all))
		for i := range all {
			s := subject{r: &all[i], now: now}
			rows[i] = keyed{all[i], s.value(name)}
		}
		if down {
			slices.Reverse(rows)
		}
		slices.SortStableFunc(rows, func(a, b keyed) int {
			if (a.v == nil) != (b.v == nil) { // those without a value last
				if a.v == nil {
					return 1
				}
				return -1
			}
			if down {
				a, b = b, a
			}
			return compare(a.v, b.v)
		})
		for i := range rows {
			all[i] = rows[i].r
		}
		break // clients sort by one
	}
	return all, nil
}

// compare orders two values of one type, and those of different ones by their type.
func compare(a, b any) int {
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(rank(a), rank(b))
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case float64:
		return 1
	case string:
		return 2
	case bool:
		return 3
	}
	return 4
}

func (c *call) runCount(p store.Project, a args) (any, error) {
	all, err := c.found(p, a.str("filters"), "")
	return len(all), err
}

// runs returns a page of the runs of a project.
func (c *call) runs(entity string, p store.Project, a args) (any, error) {
	all, err := c.found(p, a.str("filters"), a.str("order"))
	if err != nil {
		return nil, err
	}
	offset, err := offsetOf(a.str("after"))
	if err != nil {
		return nil, err
	}
	limit := int(max(1, min(a.number("first", 50), store.MaxLimit)))
	offset = min(offset, len(all))
	page := all[offset:min(len(all), offset+limit)]
	edges := make([]object, len(page))
	for i := range page {
		edges[i] = object{"node": c.runObject(entity, p.Name, &page[i]), "cursor": itoa(int64(offset + i + 1))}
	}
	out := pageOf(edges, "", offset+len(page) < len(all))
	out["totalCount"] = len(all)
	return out, nil
}
