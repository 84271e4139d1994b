package wandb

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/wandb"
)

// offsetOf parses a page cursor. A cursor is the number of records before the page.
func offsetOf(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(cursor)
	if err != nil || n < 0 {
		return 0, domain.Invalid("after", "The cursor is invalid; start again without one.")
	}
	return n, nil
}

// found returns the row numbers of a project's runs that match a filter. filters is the filter as
// JSON. order is the order of the result, such as "-created_at".
func (c *call) found(p projects.Project, filters, order string) ([]int64, error) {
	nums, err := c.db.Wandb.RunNums(c.ctx, c.actor, p.ID)
	if err != nil {
		return nil, err
	}
	pass := func(*subject) bool { return true }
	if filters = strings.TrimSpace(filters); filters == "{}" {
		filters = ""
	}
	if filters != "" {
		var f any
		if err := inner("filters", filters, &f, errFilters); err != nil {
			return nil, err
		}
		if pass, err = new(filterParser).filter(f, 0); err != nil {
			return nil, err
		}
	}
	// Clients sort by a single key. The default order is the order of creation.
	key := strings.TrimSpace(order)
	if i := strings.IndexByte(key, ','); i >= 0 {
		key = strings.TrimSpace(key[:i])
	}
	name, down := strings.CutPrefix(key, "-")
	name = strings.TrimPrefix(name, "+")
	if len(name) > maxField || strings.Count(name, ".") > maxNested {
		return nil, domain.Invalid("order", "The name of a field can have at most %d bytes and %d dots.", maxField, maxNested)
	}
	if created := name == "created_at" || name == "createdAt"; created || name == "" {
		if created && down {
			slices.Reverse(nums)
		}
		if name = ""; filters == "" {
			return nums, nil
		}
	}
	type row struct {
		num int64
		v   any
	}
	var rows []row
	now := c.s.auth.Now()
	err = c.db.Wandb.EachRecord(c.ctx, c.actor, p.ID, nums, func(r *wandb.Record) error {
		s := &subject{ctx: c.ctx, r: r, now: now}
		passed := pass(s)
		if err := c.ctx.Err(); err != nil || !passed {
			return err
		}
		one := row{num: r.Num}
		if name != "" {
			one.v = sortKey(s.value(name))
		}
		rows = append(rows, one)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if name != "" {
		if down {
			slices.Reverse(rows)
		}
		slices.SortStableFunc(rows, func(a, b row) int {
			if (a.v == nil) != (b.v == nil) { // runs without a value come last
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
	}
	nums = nums[:0]
	for _, r := range rows {
		nums = append(nums, r.num)
	}
	return nums, nil
}

var errFilters = domain.Invalid("filters", "The filters must be a JSON object.")

// maxSortKey is the maximum length of a string sort key in bytes.
const maxSortKey = 200

// sortKey returns a sort key for the field value v. The key shares no memory with the run, so the
// run can be freed.
func sortKey(v any) any {
	switch v := v.(type) {
	case nil, float64, bool:
		return v
	case string:
		return strings.Clone(v[:min(len(v), maxSortKey)])
	}
	return struct{}{} // all lists and objects are equal in the order
}

// compare compares two sort keys. It compares keys with the same type by value, and other keys
// by type.
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

func (c *call) runCount(p projects.Project, a args) (any, error) {
	all, err := c.found(p, a.str("filters"), "")
	return len(all), err
}

const (
	// maxPage is the maximum size of the runs in a page, in bytes. A page ends with the run that
	// exceeds it.
	maxPage = 32 << 20
	// runBytes is the size of a run without its strings, in bytes.
	runBytes = 4 << 10
)

var errPageFull = errors.New("the page is full")

// bytesOf returns a run's size in a page, in bytes.
func bytesOf(r *wandb.Record) int {
	return len(r.Config) + len(r.Summary) + len(r.Notes) + len(r.Events) + runBytes
}

// runs returns a page of runs in a project.
func (c *call) runs(entity string, p projects.Project, a args) (any, error) {
	all, err := c.found(p, a.str("filters"), a.str("order"))
	if err != nil {
		return nil, err
	}
	offset, err := offsetOf(a.str("after"))
	if err != nil {
		return nil, err
	}
	limit := int(max(1, min(a.number("first", 50), domain.MaxLimit)))
	offset = min(offset, len(all))
	edges := []object{}
	size := 0
	err = c.db.Wandb.EachRecord(c.ctx, c.actor, p.ID, all[offset:min(len(all), offset+limit)], func(r *wandb.Record) error {
		n := bytesOf(r)
		if size += n; size > maxPage && len(edges) > 0 {
			return errPageFull
		}
		edges = append(edges, object{"node": c.runObject(entity, p.Name, r), "cursor": itoa(int64(offset + len(edges) + 1))})
		return domain.Take(c.ctx, int64(n))
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, err
	}
	out := pageOf(edges, "", offset+len(edges) < len(all))
	out["totalCount"] = len(all)
	return out, nil
}
