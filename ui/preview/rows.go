package preview

import (
	"context"
	"errors"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/scalar"
	"tracker/ui/datatable"
)

// apiTableBytes is the memory of the tables that the API keeps.
const apiTableBytes = 64 << 20

// RowReader returns a function that calls ReadRows for the API, with its own cache.
func RowReader(db *store.DB) func(ctx context.Context, actor domain.Actor, iterationID, key string, step *int64, p domain.Page) (any, error) {
	cache := datatable.NewCache(apiTableBytes)
	return func(ctx context.Context, actor domain.Actor, iterationID, key string, step *int64, p domain.Page) (any, error) {
		return ReadRows(ctx, db, cache, actor, iterationID, key, step, p)
	}
}

// ReadRows returns a page of the rows of the table that an iteration logged under key at a step, or
// at the last step if step is nil. If there is none, key is the name of an artifact of the
// iteration. It requires the right to read.
func ReadRows(ctx context.Context, db *store.DB, cache *datatable.Cache, actor domain.Actor, iterationID, key string, step *int64, p domain.Page) (datatable.Page, error) {
	if _, err := db.Runs.Iteration(ctx, actor, iterationID); err != nil {
		return datatable.Page{}, err
	}
	if err := domain.CheckName("key", key); err != nil {
		return datatable.Page{}, err
	}
	l := tableLoader{ctx: ctx, db: db, cache: cache, actor: actor}
	all, _, err := l.made(iterationID)
	if err != nil {
		return datatable.Page{}, err
	}
	a, ok := tableNamed(all, key, step)
	if !ok {
		return datatable.Page{}, domain.Errorf(domain.CodeNotFound, "The iteration has logged no table %s at this step.", scalar.Quote(key))
	}
	t, err := l.single(a)
	if errors.Is(err, datatable.ErrNotTable) {
		err = errNotTable
	}
	if err != nil {
		return datatable.Page{}, err
	}
	return t.Page(p), nil
}

// tableNamed returns the table with a key at a step, as for ReadRows. Of several tables at one
// step, it returns the last.
func tableNamed(all []files.Artifact, key string, step *int64) (found files.Artifact, ok bool) {
	byID := map[string]files.Artifact{}
	for _, a := range all {
		byID[a.ID] = a
	}
	at := int64(-1)
	for _, m := range mediaOf(all) {
		if m.Kind != Table || m.Key != key || step != nil && stepOf(m) != *step || stepOf(m) < at {
			continue
		}
		found, at, ok = byID[m.ID], stepOf(m), true
	}
	for _, a := range all {
		if !ok && step == nil && a.Name == key {
			found = a
		}
	}
	return found, ok || found.ID != ""
}
