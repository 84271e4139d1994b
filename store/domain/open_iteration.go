package domain

import "tracker/store/sqlite"

// openIterations caches the iterations that users may add points to. Without the cache, every
// request that adds points would need a permission query. Only the writer uses the cache. Entries
// can be dropped at any time.
type openIterations struct {
	sqlite.Passive
	allowed map[openIterationKey]IterationRef
	byNum   map[int64]IterationRef
}

type openIterationKey struct {
	actor Actor
	ID    string
}

// maxOpenIterations is the maximum number of cached iterations.
const maxOpenIterations = 20_000

// drop empties the cache.
func (o *openIterations) drop() {
	o.allowed, o.byNum = map[openIterationKey]IterationRef{}, map[int64]IterationRef{}
}

// Load drops the cache.
func (o *openIterations) Load(*sqlite.Tx, bool) error {
	o.drop()
	return nil
}

// Changed drops the cache.
func (o *openIterations) Changed() { o.drop() }

// RolledBack drops the cache.
func (o *openIterations) RolledBack(int64) { o.drop() }

// AllowPoints is AllowOpenIteration for the right to create, with a cache.
func (tx *Tx) AllowPoints(iterationID string) (IterationRef, error) {
	o := &tx.DB.openIterations
	k := openIterationKey{tx.Actor, iterationID}
	if ref, ok := o.allowed[k]; ok {
		tx.Seen = append(tx.Seen, ref.Num)
		return ref, nil
	}
	it, err := tx.AllowOpenIteration(tx.Actor, iterationID, RightCreate)
	if err != nil {
		return IterationRef{}, err
	}
	if len(o.allowed) >= maxOpenIterations {
		o.drop()
	}
	o.allowed[k], o.byNum[it.Num] = it.IterationRef, it.IterationRef
	return it.IterationRef, nil
}
