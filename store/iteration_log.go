package store

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/scalar"
)

// IterationLog holds the arguments of LogIteration.
type IterationLog struct {
	Metrics    []NewMetric
	Params     []Property
	Properties []Property
	Datasets   []DatasetUse
	Models     []LoggedModelUse
	// ModelMetrics are points that measure logged models. They are in Metrics, too.
	ModelMetrics []LoggedModelMetric
	Name         *string // nil leaves it as it is, like the next three
	Notes        *string
	Parent       *string // id of an iteration of the same experiment; "" for none
	Snapshot     *SnapshotPatch
}

// SnapshotPatch holds the fields of a snapshot that are set; nil leaves a field as it
// is.
type SnapshotPatch struct {
	GitSHA     *string
	GitRemote  *string
	Entrypoint *string
}

// onlyMetrics reports whether l has nothing but points.
func (l *IterationLog) onlyMetrics() bool {
	return len(l.Params)+len(l.Properties)+len(l.Datasets)+len(l.Models)+len(l.ModelMetrics) == 0 &&
		l.Name == nil && l.Notes == nil && l.Parent == nil && l.Snapshot == nil
}

func (l *IterationLog) check() error {
	for i := range l.Metrics {
		if err := checkKey(l.Metrics[i].Key); err != nil {
			return err
		}
	}
	for _, p := range l.Params {
		if err := firstError(checkKey(p.Key), checkText("value", p.Value)); err != nil {
			return err
		}
	}
	if len(l.Models) > MaxUses {
		return Invalid("models", "Add up to %d models at once.", MaxUses)
	}
	return firstError(
		checkProperties(l.Properties),
		checkDatasets(l.Datasets),
		checkModelMetrics(l.ModelMetrics),
		checkNameAndText(l.Name, "notes", l.Notes),
		l.Snapshot.check())
}

func (p *SnapshotPatch) check() error {
	if p == nil {
		return nil
	}
	return firstError(checkOptional("git_sha", p.GitSHA), checkOptional("git_remote", p.GitRemote), checkOptional("entrypoint", p.Entrypoint))
}

// LogIteration writes all of l or, with an error, nothing. A point that the
// iteration has already, with the same step, time and value, is not written again. A
// parameter that it has already with another value is a CONFLICT. Needs create, and
// update for the name, notes, parent and snapshot, and where a property is replaced.
//
// Unlike other writes, this one may go to an iteration that has ended, by an actor
// with update: it is as if it were opened, written to, and ended again as it was.
func (db *DB) LogIteration(ctx context.Context, actor Actor, id string, l IterationLog) error {
	if err := l.check(); err != nil {
		return err
	}
	if l.onlyMetrics() {
		_, err := appendPoints(ctx, db, actor, func(tx *tx) (struct{}, error) {
			return struct{}{}, tx.logPoints(id, l.Metrics)
		})
		return err
	}
	return change(ctx, db, actor, func(tx *tx) error { return tx.logIteration(id, l) })
}

// logPoints writes points to an iteration that may have ended.
func (tx *tx) logPoints(id string, metrics []NewMetric) error {
	ref, err := tx.allowPoints(id)
	if errors.Is(err, errEnded) {
		var it iterationState
		it, err = tx.allowReopened(id)
		ref = it.iterationRef
	}
	if err != nil {
		return err
	}
	return tx.points().AppendNew(ref.num, metrics, tx.now)
}

// allowReopened is allowIteration for the right to create, for writing to an iteration
// that may have ended: then the right to update is needed as well. One that has not
// is marked as seen.
func (tx *tx) allowReopened(id string) (iterationState, error) {
	it, err := tx.allowIteration(tx.actor, id, rightCreate)
	if err != nil {
		return it, err
	}
	if it.ended() {
		return it, tx.allow(tx.actor, it.projectID, rightUpdate)
	}
	tx.seen = append(tx.seen, it.num)
	return it, nil
}

func (tx *tx) logIteration(id string, l IterationLog) error {
	it, err := tx.allowReopened(id)
	if err != nil {
		return err
	}
	tx.within()
	tx.touch(it.iterationRef)
	if l.Name != nil || l.Notes != nil || l.Parent != nil || l.Snapshot != nil {
		if err := tx.allow(tx.actor, it.projectID, rightUpdate); err != nil {
			return err
		}
	}
	if len(l.Metrics) > 0 {
		if err := tx.points().AppendNew(it.num, l.Metrics, tx.now); err != nil {
			return err
		}
	}
	for _, p := range l.Params {
		if err := tx.addParameter(it, p); err != nil {
			return err
		}
	}
	if err := tx.setProperties(tx.actor, it.properties(), l.Properties); err != nil {
		return err
	}
	if err := tx.addDatasets(it.iterationRef, l.Datasets); err != nil {
		return err
	}
	if err := firstError(tx.addModelUses(it, l.Models), tx.addModelMetrics(it, l.ModelMetrics)); err != nil {
		return err
	}
	if l.Name != nil || l.Notes != nil {
		_, err := tx.Exec(`UPDATE iteration SET name = coalesce(?, name), notes = coalesce(?, notes) WHERE num = ?`,
			l.Name, l.Notes, it.num)
		if err != nil {
			return err
		}
	}
	if l.Parent != nil {
		if err := tx.setParent(it, *l.Parent); err != nil {
			return err
		}
	}
	if err := tx.patchSnapshot(it, l.Snapshot); err != nil {
		return err
	}
	tx.noteIteration(it.iterationRef)
	return tx.noteParent(it.num)
}

// addParameter records a parameter. The same value again is fine.
func (tx *tx) addParameter(it iterationState, p Property) error {
	var old string
	err := tx.Row(`SELECT value FROM parameter WHERE iteration_num = ? AND key = ?`, it.num, p.Key).Scan(&old)
	switch {
	case err == nil && old == p.Value:
		return nil
	case err == nil:
		return &Error{Code: CodeConflict, Field: "key", Message: "The parameter " + scalar.Quote(p.Key) + " has the value " + scalar.Quote(old) +
			" already and can't become " + scalar.Quote(p.Value) + "; start another run for it."}
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	id, err := newID()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)`, it.num, p.Key, id, p.Value)
	return err
}

var errOwnParent = Invalid("parent_iteration_id", "A run can't be its own parent; choose another run, or none.")

// setParent sets the parent of an iteration, one of its experiment; "" for none.
func (tx *tx) setParent(it iterationState, parentID string) error {
	if err := tx.noteParent(it.num); err != nil { // the former one
		return err
	}
	if parentID == "" {
		_, err := tx.Exec(`UPDATE iteration SET parent_num = NULL WHERE num = ?`, it.num)
		return err
	}
	parent, err := tx.parentOf(it.experimentID, parentID)
	if err != nil {
		return err
	}
	var above int
	err = tx.Row(`WITH RECURSIVE above(num) AS (
			SELECT ? UNION SELECT parent_num FROM iteration JOIN above ON iteration.num = above.num WHERE parent_num IS NOT NULL)
		SELECT count(*) FROM above WHERE num = ?`, *parent, it.num).Scan(&above)
	if err != nil {
		return err
	}
	if above > 0 {
		return errOwnParent
	}
	_, err = tx.Exec(`UPDATE iteration SET parent_num = ? WHERE num = ?`, *parent, it.num)
	return err
}

// patchSnapshot sets fields of the snapshot of an iteration.
func (tx *tx) patchSnapshot(it iterationState, p *SnapshotPatch) error {
	if p == nil {
		return nil
	}
	id, err := newID()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO snapshot (iteration_num, id, git_sha, git_remote, entrypoint, created_date)
		VALUES (?, ?, coalesce(?, ''), coalesce(?, ''), coalesce(?, ''), ?)
		ON CONFLICT (iteration_num) DO UPDATE SET
			git_sha    = coalesce(?, git_sha),
			git_remote = coalesce(?, git_remote),
			entrypoint = coalesce(?, entrypoint)`,
		it.num, id, p.GitSHA, p.GitRemote, p.Entrypoint, tx.now, p.GitSHA, p.GitRemote, p.Entrypoint)
	return err
}
