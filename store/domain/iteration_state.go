package domain

import (
	"time"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// ErrEnded reports an attempt to add data to an iteration that has ended.
var ErrEnded = Errorf(CodeIterationEnded, "Already ended; set the status to RUNNING to make changes.")

// IterationRef identifies an iteration.
type IterationRef struct {
	Num          int64
	ID           string
	ExperimentID string
}

// IterationState holds the fields of an iteration that permission checks and other rules use.
type IterationState struct {
	IterationRef
	ProjectID    string
	Status       IterationStatus
	ErrorMessage string
	EndDate      *scalar.Time
	Deleted      bool // the iteration, its experiment or its project is in the trash
}

// IterationStateColumns lists the columns that are scanned into IterationState.Into. The query
// must join the tables iteration, experiment and project.
const IterationStateColumns = `
	iteration.num,
	iteration.experiment_id,
	experiment.project_id,
	iteration.status,
	iteration.error_message,
	iteration.end_date,
	coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL`

// Into returns the scan destinations for IterationStateColumns.
func (i *IterationState) Into() []any {
	return []any{&i.Num, &i.ExperimentID, &i.ProjectID, &i.Status, &i.ErrorMessage, &i.EndDate, &i.Deleted}
}

// Ended reports whether the iteration has ended.
func (i IterationState) Ended() bool { return i.Status != Running }

// Same reports whether i and o have equal status, error message and end date.
func (i IterationState) Same(o IterationState) bool {
	sameEnd := i.EndDate == nil && o.EndDate == nil ||
		i.EndDate != nil && o.EndDate != nil && *i.EndDate == *o.EndDate
	return i.Status == o.Status && i.ErrorMessage == o.ErrorMessage && sameEnd
}

// AllowIteration checks that actor has the wanted right in the iteration's project. It returns
// NOT_FOUND if the iteration does not exist.
func (tx *Tx) AllowIteration(actor Actor, id string, want Right) (i IterationState, err error) {
	i.ID = id
	err = tx.Row(`SELECT `+IterationStateColumns+`
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE iteration.id = ? AND `+tx.Found("iteration", "experiment", "project"), id).Scan(i.Into()...)
	if err != nil {
		return i, OrNotFound(err, Run)
	}
	return i, tx.AllowRun(actor, i.ProjectID, i.Num, want)
}

// AllowIterations is AllowIteration for up to MaxLimit iterations. The result has the order of
// ids. A repeated id is returned repeatedly.
func (tx *Tx) AllowIterations(actor Actor, ids []string, want Right) ([]IterationState, error) {
	all, err := tx.AllowExisting(actor, ids, want)
	if err == nil && len(all) < len(ids) {
		err = NotFound(Run)
	}
	return all, err
}

// AllowExisting is AllowIterations without the NOT_FOUND error. It omits iterations that do not
// exist.
func (tx *Tx) AllowExisting(actor Actor, ids []string, want Right) ([]IterationState, error) {
	if len(ids) > MaxLimit {
		return nil, Invalid("ids", "At most %d ids can be given at once.", MaxLimit)
	}
	var all []IterationState
	rows, err := tx.Rows(`SELECT list.value, `+IterationStateColumns+`
		FROM json_each(?) AS list
		JOIN iteration ON iteration.id = list.value
		JOIN experiment ON experiment.id = iteration.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE `+tx.Found("iteration", "experiment", "project")+`
		ORDER BY list.key`, sqlite.JSON(ids))
	err = sqlite.Each(rows, err, func() error {
		var i IterationState
		if err := rows.Scan(append([]any{&i.ID}, i.Into()...)...); err != nil {
			return err
		}
		all = append(all, i)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if err := tx.AllowRun(actor, i.ProjectID, i.Num, want); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// NumsOf returns the number of each iteration in states.
func NumsOf(states []IterationState) []int64 {
	nums := make([]int64, len(states))
	for at, s := range states {
		nums[at] = s.Num
	}
	return nums
}

// AllowOpenIteration is AllowIteration for data that a run records. It returns ErrEnded if the
// iteration has ended. If the iteration is RUNNING, AllowOpenIteration marks it as seen.
func (tx *Tx) AllowOpenIteration(actor Actor, id string, want Right) (IterationState, error) {
	it, err := tx.AllowIteration(actor, id, want)
	if err != nil {
		return it, err
	}
	if it.Ended() {
		return it, ErrEnded
	}
	tx.Seen = append(tx.Seen, it.Num)
	return it, nil
}

// IterationStatus is the status of an iteration.
type IterationStatus string

// Statuses of an iteration. An iteration has ended if its status is not RUNNING.
const (
	Running   IterationStatus = "RUNNING"
	Succeeded IterationStatus = "SUCCEEDED"
	Failed    IterationStatus = "FAILED"
	Killed    IterationStatus = "KILLED"
)

// LostAfter is the maximum time between two writes or heartbeats. A RUNNING iteration that is
// silent for longer is considered lost.
const LostAfter = 5 * time.Minute

// LostBefore returns now minus LostAfter. A RUNNING iteration is lost if it was last seen
// before the returned time.
func LostBefore(now scalar.Time) scalar.Time { return now - scalar.Time(LostAfter.Milliseconds()) }

// Silent reports whether more than LostAfter passed between the times seen and now. seen is the
// last time that the server saw an iteration.
func Silent(seen, now scalar.Time) bool { return seen < LostBefore(now) }

// Lost reports whether an iteration with status s is lost at the time now. seen is the last
// time that the server saw the iteration.
func (s IterationStatus) Lost(seen, now scalar.Time) bool { return s == Running && Silent(seen, now) }
