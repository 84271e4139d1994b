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
	// ModelMetrics lists the points that belong to logged models. Metrics also contains these
	// points.
	ModelMetrics []registry.LoggedModelMetric
	Name         *string // Name, Notes, Parent and Snapshot are unchanged if nil
	Notes        *string
	Parent       *string // id of an iteration in the same experiment; "" removes the parent
	Snapshot     *SnapshotPatch
}

// SnapshotPatch holds the new values for PatchSnapshot. PatchSnapshot does not change a field
// whose value is nil.
type SnapshotPatch struct {
	GitSHA     *string
	GitRemote  *string
	Entrypoint *string
}

// onlyMetrics reports whether l contains nothing except points.
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
		checkDefinitions(l.Properties),
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

// LogIteration writes all data in l to an iteration. If it returns an error, it has written
// nothing. It skips points that already exist with the same step, time and value. It returns
// CONFLICT if a parameter already exists with a different value. The actor needs the right to
// create. Setting the name, the notes, the parent or the snapshot, or changing a property, also
// requires the right to update.
//
// Unlike most other methods, LogIteration accepts an iteration that has ended, if the actor has
// the right to update. The status and the end of the iteration do not change.
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

// logPoints writes points to an iteration. The iteration can be running or ended.
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

// AllowReopened returns the iteration if the actor may write to it. The actor needs the right
// to create. If the iteration has ended, the actor also needs the right to update. If the
// iteration is running, AllowReopened marks it as seen.
func AllowReopened(tx *domain.Tx, id string) (domain.IterationState, error) {
	it, err := tx.AllowIteration(tx.Actor, id, domain.RightCreate)
	if err != nil {
		return it, err
	}
	if it.Ended() {
		return it, tx.AllowRun(tx.Actor, it.ProjectID, it.Num, domain.RightUpdate)
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
		if err := tx.AllowRun(tx.Actor, it.ProjectID, it.Num, domain.RightUpdate); err != nil {
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

// addParameter records a parameter. It does nothing if the parameter exists with the same
// value. It returns CONFLICT if the parameter exists with a different value.
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
	id := domain.NewID()
	_, err = tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)`, it.Num, p.Key, id, p.Value)
	return err
}

var errOwnParent = domain.Invalid("parent_iteration_id", "The parent must not be the run itself or one of its descendants; choose another run, or none.")

// setParent sets the parent of an iteration. The parent must belong to the same experiment. If
// parentID is "", setParent removes the parent.
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

// PatchSnapshot changes the snapshot of an iteration, or creates it if it does not exist.
func PatchSnapshot(tx *domain.Tx, it domain.IterationState, p *SnapshotPatch) error {
	if p == nil {
		return nil
	}
	id := domain.NewID()
	_, err := tx.Exec(`INSERT INTO snapshot (iteration_num, id, git_sha, git_remote, entrypoint, created_date)
		VALUES (?, ?, coalesce(?, ''), coalesce(?, ''), coalesce(?, ''), ?)
		ON CONFLICT (iteration_num) DO UPDATE SET
			git_sha    = coalesce(?, git_sha),
			git_remote = coalesce(?, git_remote),
			entrypoint = coalesce(?, entrypoint)`,
		it.Num, id, p.GitSHA, p.GitRemote, p.Entrypoint, tx.Now, p.GitSHA, p.GitRemote, p.Entrypoint)
	return err
}
