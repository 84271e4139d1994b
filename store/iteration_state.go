package store

import (
	"errors"

	"tracker/store/json"
)

var errEnded = Errorf(CodeIterationEnded, "The iteration has ended; set its status to RUNNING to write to it again.")

// iterationRef identifies an iteration.
type iterationRef struct {
	num          int64
	id           string
	experimentID string
}

// iterationState holds the fields of an iteration that rules depend on.
type iterationState struct {
	iterationRef
	projectID    string
	status       IterationStatus
	errorMessage string
	endDate      *Time
	deleted      bool // it, its experiment or its project is in the trash
}

const iterationStateColumns = `
	iteration.num,
	iteration.experiment_id,
	experiment.project_id,
	iteration.status,
	iteration.error_message,
	iteration.end_date,
	coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL`

// into returns the pointers to scan iterationStateColumns into.
func (i *iterationState) into() []any {
	return []any{&i.num, &i.experimentID, &i.projectID, &i.status, &i.errorMessage, &i.endDate, &i.deleted}
}

func (i iterationState) ended() bool { return i.status != Running }

func (i iterationState) same(o iterationState) bool {
	sameEnd := i.endDate == nil && o.endDate == nil ||
		i.endDate != nil && o.endDate != nil && *i.endDate == *o.endDate
	return i.status == o.status && i.errorMessage == o.errorMessage && sameEnd
}

// allowIteration fails unless the iteration exists and actor has the right in
// its project.
func (tx *tx) allowIteration(actor Actor, id string, want right) (i iterationState, err error) {
	i.id = id
	err = tx.Row(`SELECT `+iterationStateColumns+`
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE iteration.id = ? AND `+tx.found("iteration", "experiment", "project"), id).Scan(i.into()...)
	if err != nil {
		return i, orNotFound(err, "iteration")
	}
	return i, tx.allow(actor, i.projectID, want)
}

// allowIterations is allowIteration for up to MaxLimit iterations, in the order of
// ids. An id that is given twice is returned twice.
func (tx *tx) allowIterations(actor Actor, ids []string, want right) ([]iterationState, error) {
	all, err := tx.allowExisting(actor, ids, want)
	if err == nil && len(all) < len(ids) {
		err = notFound("iteration")
	}
	return all, err
}

// allowExisting is allowIterations without iterations that do not exist.
func (tx *tx) allowExisting(actor Actor, ids []string, want right) ([]iterationState, error) {
	if len(ids) > MaxLimit {
		return nil, Invalid("ids", "Ask for up to %d iterations at once.", MaxLimit)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Rows(`SELECT list.value, `+iterationStateColumns+`
		FROM json_each(?) AS list
		JOIN iteration ON iteration.id = list.value
		JOIN experiment ON experiment.id = iteration.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE `+tx.found("iteration", "experiment", "project")+`
		ORDER BY list.key`, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []iterationState
	for rows.Next() {
		var i iterationState
		if err := rows.Scan(append([]any{&i.id}, i.into()...)...); err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, i := range all {
		if err := tx.allow(actor, i.projectID, want); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func numsOf(states []iterationState) []int64 {
	nums := make([]int64, len(states))
	for at, s := range states {
		nums[at] = s.num
	}
	return nums
}

// allowOpenIteration is allowIteration for data that a run records: the iteration
// must not have ended, and is marked as seen.
func (tx *tx) allowOpenIteration(actor Actor, id string, want right) (iterationState, error) {
	it, err := tx.allowIteration(actor, id, want)
	if err != nil {
		return it, err
	}
	if it.ended() {
		return it, errEnded
	}
	tx.seen = append(tx.seen, it.num)
	return it, nil
}
