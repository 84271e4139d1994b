package store

import "tracker/store/sqlite"

// openIterations is the writer's cache of the iterations that users may add points
// to, so that adding a point needs no query for the permission. Its entries can be
// dropped at any time.
type openIterations struct {
	sqlite.Passive
	allowed map[openIterationKey]iterationRef
	byNum   map[int64]iterationRef
}

type openIterationKey struct {
	actor Actor
	id    string
}

// maxOpenIterations bounds the number of cached iterations.
const maxOpenIterations = 20_000

// drop removes all entries.
func (o *openIterations) drop() {
	o.allowed, o.byNum = map[openIterationKey]iterationRef{}, map[int64]iterationRef{}
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

// allowPoints is allowOpenIteration for the right to create, cached.
func (tx *tx) allowPoints(iterationID string) (iterationRef, error) {
	o := &tx.db.openIterations
	k := openIterationKey{tx.actor, iterationID}
	if ref, ok := o.allowed[k]; ok {
		tx.seen = append(tx.seen, ref.num)
		return ref, nil
	}
	it, err := tx.allowOpenIteration(tx.actor, iterationID, rightCreate)
	if err != nil {
		return iterationRef{}, err
	}
	if len(o.allowed) >= maxOpenIterations {
		o.drop()
	}
	o.allowed[k], o.byNum[it.num] = it.iterationRef, it.iterationRef
	return it.iterationRef, nil
}
