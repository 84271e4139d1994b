package runs

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/registry"
	"tracker/store/scalar"
)

// IterationLog holds the arguments of LogIteration.
type IterationLog struct {
	Metrics    []points.Sample
	Params     []domain.Property
	Properties []domain.Property
	Datasets   []DatasetUse
	Models     []registry.LoggedModelUse
	// ModelMetrics are points that measure logged models. Metrics contains them too.
	ModelMetrics []registry.LoggedModelMetric
	Name         *string // nil leaves it as it is, like the next three
	Notes        *string
	Parent       *string // id of an iteration of the same experiment; "" for none
	Snapshot     *SnapshotPatch
}

// SnapshotPatch holds the fields of a snapshot to set; nil leaves a field as it
// is.
type SnapshotPatch struct {
	GitSHA     *string
	GitRemote  *string
	Entrypoint *string
}

// onlyMetrics reports whether l has only points.
func (l *IterationLog) onlyMetrics() bool {
	return len(l.Params)+len(l.Properties)+len(l.Datasets)+len(l.Models)+len(l.ModelMetrics) == 0 &&
		l.Name == nil && l.Notes == nil && l.Parent == nil && l.Snapshot == nil
}

func (l *IterationLog) check() error {
	for i := range l.Metrics {
		if err := domain.CheckKey(l.Metrics[i].Key); err != nil {
			return err
		}
	}
	for _, p := range l.Params {
		if err := domain.FirstError(domain.CheckKey(p.Key), domain.CheckText("value", p.Value)); err != nil {
			return err
		}
	}
	if len(l.Models) > registry.MaxUses {
		return domain.Invalid("models", "At most %d models can be added at once.", registry.MaxUses)
	}
	return domain.FirstError(
		domain.CheckProperties(l.Properties),
		CheckDatasets(l.Datasets),
		registry.CheckModelMetrics(l.ModelMetrics),
		domain.CheckNameAndText(l.Name, "notes", l.Notes),
		l.Snapshot.check())
}

func (p *SnapshotPatch) check() error {
	if p == nil {
		return nil
	}
	return domain.FirstError(domain.CheckOptional("git_sha", p.GitSHA), domain.CheckOptional("git_remote", p.GitRemote), domain.CheckOptional("entrypoint", p.Entrypoint))
}

// LogIteration writes all of l or, with an error, nothing. It skips points that the
// iteration already has with the same step, time and value. CONFLICT if the iteration
// has a parameter of l with another value. Needs create, and update for the name, notes,
// parent and snapshot, and for replacing a property.
//
// Unlike other writes, LogIteration accepts an iteration that has ended if the actor has
// update. The status and end of the iteration do not change.
func (db *DB) LogIteration(ctx context.Context, actor domain.Actor, id string, l IterationLog) error {
	if err := l.check(); err != nil {
		return err
	}
	if l.onlyMetrics() {
		_, err := domain.AppendPoints(ctx, db.base, actor, func(tx *domain.Tx) (struct{}, error) {
			return struct{}{}, logPoints(tx, id, l.Metrics)
		})
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error { return logIteration(tx, id, l) })
}

// logPoints writes points to an iteration that may have ended.
func logPoints(tx *domain.Tx, id string, metrics []points.Sample) error {
	ref, err := tx.AllowPoints(id)
	if errors.Is(err, domain.ErrEnded) {
		var it domain.IterationState
		it, err = AllowReopened(tx, id)
		ref = it.IterationRef
	}
	if err != nil {
		return err
	}
	return tx.Points().AppendNew(ref.Num, metrics, tx.Now)
}

// AllowReopened is AllowIteration with the right to create, for writes to an iteration
// that may have ended. If it has ended, the right to update is needed as well. If it has
// not, it is marked as seen.
func AllowReopened(tx *domain.Tx, id string) (domain.IterationState, error) {
	it, err := tx.AllowIteration(tx.Actor, id, domain.RightCreate)
	if err != nil {
		return it, err
	}
	if it.Ended() {
		return it, tx.Allow(tx.Actor, it.ProjectID, domain.RightUpdate)
	}
	tx.Seen = append(tx.Seen, it.Num)
	return it, nil
}

func logIteration(tx *domain.Tx, id string, l IterationLog) error {
	it, err := AllowReopened(tx, id)
	if err != nil {
		return err
	}
	if l.Name != nil || l.Notes != nil || l.Parent != nil || l.Snapshot != nil {
		if err := tx.Allow(tx.Actor, it.ProjectID, domain.RightUpdate); err != nil {
			return err
		}
	}
	if len(l.Metrics) > 0 {
		if err := tx.Points().AppendNew(it.Num, l.Metrics, tx.Now); err != nil {
			return err
		}
	}
	for _, p := range l.Params {
		if err := addParameter(tx, it, p); err != nil {
			return err
		}
	}
	if err := tx.SetProperties(tx.Actor, it.Properties(), l.Properties); err != nil {
		return err
	}
	if err := AddDatasets(tx, it.IterationRef, l.Datasets); err != nil {
		return err
	}
	if err := domain.FirstError(registry.AddModelUses(tx, it, l.Models), registry.AddModelMetrics(tx, it, l.ModelMetrics)); err != nil {
		return err
	}
	if l.Name != nil || l.Notes != nil {
		_, err := tx.Exec(`UPDATE iteration SET name = coalesce(?, name), notes = coalesce(?, notes) WHERE num = ?`,
			l.Name, l.Notes, it.Num)
		if err != nil {
			return err
		}
	}
	if l.Parent != nil {
		if err := setParent(tx, it, *l.Parent); err != nil {
			return err
		}
	}
	return PatchSnapshot(tx, it, l.Snapshot)
}

// addParameter records a parameter. Recording the same value again is not an error.
func addParameter(tx *domain.Tx, it domain.IterationState, p domain.Property) error {
	var old string
	err := tx.Row(`SELECT value FROM parameter WHERE iteration_num = ? AND key = ?`, it.Num, p.Key).Scan(&old)
	switch {
	case err == nil && old == p.Value:
		return nil
	case err == nil:
		return &domain.Error{Code: domain.CodeConflict, Field: "key", Message: "The parameter " + scalar.Quote(p.Key) + " has the value " + scalar.Quote(old) +
			", which can't be changed to " + scalar.Quote(p.Value) + "; start another run for the new value."}
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	id, err := domain.NewID()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)`, it.Num, p.Key, id, p.Value)
	return err
}

var errOwnParent = domain.Invalid("parent_iteration_id", "The parent must not be the run itself or one of its descendants; choose another run, or none.")

// setParent sets the parent of an iteration to an iteration of its experiment; "" for none.
func setParent(tx *domain.Tx, it domain.IterationState, parentID string) error {
	if parentID == "" {
		_, err := tx.Exec(`UPDATE iteration SET parent_num = NULL WHERE num = ?`, it.Num)
		return err
	}
	parent, err := parentOf(tx, it.ExperimentID, parentID)
	if err != nil {
		return err
	}
	var above int
	err = tx.Row(`WITH RECURSIVE above(num) AS (
			SELECT ? UNION SELECT parent_num FROM iteration JOIN above ON iteration.num = above.num WHERE parent_num IS NOT NULL)
		SELECT count(*) FROM above WHERE num = ?`, *parent, it.Num).Scan(&above)
	if err != nil {
		return err
	}
	if above > 0 {
		return errOwnParent
	}
	_, err = tx.Exec(`UPDATE iteration SET parent_num = ? WHERE num = ?`, *parent, it.Num)
	return err
}

// PatchSnapshot sets fields of the snapshot of an iteration.
func PatchSnapshot(tx *domain.Tx, it domain.IterationState, p *SnapshotPatch) error {
	if p == nil {
		return nil
	}
	id, err := domain.NewID()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO snapshot (iteration_num, id, git_sha, git_remote, entrypoint, created_date)
		VALUES (?, ?, coalesce(?, ''), coalesce(?, ''), coalesce(?, ''), ?)
		ON CONFLICT (iteration_num) DO UPDATE SET
			git_sha    = coalesce(?, git_sha),
			git_remote = coalesce(?, git_remote),
			entrypoint = coalesce(?, entrypoint)`,
		it.Num, id, p.GitSHA, p.GitRemote, p.Entrypoint, tx.Now, p.GitSHA, p.GitRemote, p.Entrypoint)
	return err
}
