package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Iteration is one run in an experiment. Parameters and metrics are recorded for an iteration.
type Iteration struct {
	Num               int64                  `json:"-" db:"num"` // primary key
	ID                string                 `json:"id" db:"id"`
	ExperimentID      string                 `json:"experiment_id" db:"experiment_id"`
	ParentIterationID *string                `json:"parent_iteration_id" db:"parent_iteration_id"`
	Name              string                 `json:"name" db:"name"`
	Notes             string                 `json:"notes" db:"notes"`
	Status            domain.IterationStatus `json:"status" db:"status"`
	ErrorMessage      string                 `json:"error_message" db:"error_message"`
	domain.Creator
	CreatedDate     scalar.Time    `json:"created_date" db:"created_date"`
	EndDate         *scalar.Time   `json:"end_date" db:"end_date"`
	LastSeen        scalar.Time    `json:"last_seen" db:"last_seen"`                 // time of the last write or heartbeat
	StopRequested   *scalar.Time   `json:"stop_requested" db:"stop_requested"`       // nil if there is no stop request
	StopRequestedBy *string        `json:"stop_requested_by" db:"stop_requested_by"` // user name; nil for the command line, the default user or a deleted account
	Tags            domain.Strings `json:"tags" db:"tags"`

	// Params, Metrics and Texts hold the requested columns of a listing. They are nil if no
	// columns were requested. They omit columns without a value in the iteration.
	Params  map[string]string             `json:"params,omitzero" db:"-"`
	Metrics map[string]scalar.Value       `json:"metrics,omitzero" db:"-"`
	Texts   map[string]scalar.SummaryText `json:"summary,omitempty" db:"-"` // texts of the summary

	// Deleted reports whether the iteration or its container is in the trash.
	Deleted bool `json:"-" db:"deleted"`

	// Children is the number of matching iterations below this iteration in a folded listing.
	Children int `json:"-" db:"-"`
}

func (i Iteration) TextBytes() int { return len(i.Notes) }

// IterationPatch holds the new values for UpdateIteration. UpdateIteration does not change a
// field whose value is nil.
type IterationPatch struct {
	Name         *string                 `json:"name"`
	Notes        *string                 `json:"notes"`
	Status       *domain.IterationStatus `json:"status"`
	ErrorMessage *string                 `json:"error_message"`
	EndDate      *scalar.Time            `json:"end_date"`
	Before       domain.Before           `json:"-"`

	// Reopen permits changes to an iteration that has ended. The iteration remains ended.
	Reopen bool `json:"-"`
}

// IterationQuery selects and sorts iterations. docs/search.md describes the language of the
// fields.
type IterationQuery struct {
	domain.Page
	Filter  string // "" selects all iterations
	Sort    string // sort keys; iterations with equal keys are sorted by age, oldest first
	Columns string // parameters and metrics to include in each iteration; "" if none
	Trash   domain.TrashFilter
	Cut     bool // shorten the page if it would exceed MaxPageBytes

	Group  *Grouped // group to which the iterations belong; nil selects all iterations
	Fold   bool     // list the children of a matching iteration only under that iteration
	Parent *string  // list only the children of this iteration if Fold is set; nil lists the top level
}

// IterationStatuses lists all statuses of iterations.
var IterationStatuses = []domain.IterationStatus{domain.Running, domain.Succeeded, domain.Failed, domain.Killed}

const (
	iterationColumns = `
	(SELECT parent.id FROM iteration AS parent
		WHERE parent.num = iteration.parent_num AND parent.deleted_date IS NULL) AS parent_iteration_id,` + ownColumns

	// recordColumns selects the columns of an IterationRecord. It includes a parent in the
	// trash.
	recordColumns = `
	(SELECT parent.id FROM iteration AS parent WHERE parent.num = iteration.parent_num) AS parent_iteration_id,` + ownColumns

	ownColumns = `
	iteration.num,
	iteration.id,
	iteration.experiment_id,
	iteration.name,
	iteration.notes,
	iteration.status,
	iteration.error_message,
	iteration.created_date,
	iteration.created_by,
	iteration.created_key,
	iteration.end_date,
	iteration.last_seen,` + stopColumns + `,
	(SELECT json_group_array(value) FROM
		(SELECT value FROM tag WHERE tag.iteration_num = iteration.num ORDER BY value)) AS tags,
	iteration.deleted_date IS NOT NULL AS deleted`
)

// Iterations returns a page of the iterations of an experiment. It returns INVALID_PAYLOAD if the
// query can't be parsed; the error message gives the position. The actor needs the right to read.
func (v *View) Iterations(experimentID string, q IterationQuery) (domain.List[Iteration], error) {
	parsed, err := parseSearch(q)
	if err != nil {
		return domain.List[Iteration]{}, err
	}
	e, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead)
	if err != nil {
		return domain.List[Iteration]{}, err
	}
	s, err := parsed.resolve(v.tx, experimentID)
	if err != nil {
		return domain.List[Iteration]{}, err
	}
	s.within(e)
	l, err := iterations(v.tx, experimentID, s, q.Clamp())
	for i := range l.Data {
		l.Data[i].Deleted = l.Data[i].Deleted || e.Deleted
	}
	return l, err
}

// Iterations calls View.Iterations in a new read transaction.
func (db *DB) Iterations(ctx context.Context, actor domain.Actor, experimentID string, q IterationQuery) (domain.List[Iteration], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Iteration], error) { return v.Iterations(experimentID, q) })
}

// IterationChildren returns a page of the direct children of an iteration, oldest first. The
// actor needs the right to read.
func (v *View) IterationChildren(id string, p domain.Page) (domain.List[Iteration], error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return domain.List[Iteration]{}, err
	}
	l, err := domain.PageOf[Iteration](v.tx, p, iterationColumns,
		`FROM iteration WHERE iteration.parent_num = ? AND iteration.deleted_date IS NULL`, `iteration.num`, it.Num)
	freshen(v.tx, l.Data)
	return l, err
}

// IterationChildren calls View.IterationChildren in a new read transaction.
func (db *DB) IterationChildren(ctx context.Context, actor domain.Actor, id string, p domain.Page) (domain.List[Iteration], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Iteration], error) { return v.IterationChildren(id, p) })
}

// Iteration returns the iteration with the given id. The actor needs the right to read.
func (v *View) Iteration(id string) (i Iteration, err error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return i, err
	}
	err = v.tx.Get(&i, `SELECT `+iterationColumns+` FROM iteration WHERE num = ?`, it.Num)
	i.LastSeen = v.tx.DB.LastSeen.Latest(it.Num, i.LastSeen)
	i.Deleted = it.Deleted
	return i, err
}

// IterationsByID returns the iterations with the given ids, in the order of ids. It omits ids
// that do not exist. At most MaxLimit ids are allowed. The actor needs the right to read every
// iteration.
func (v *View) IterationsByID(ids []string) ([]Iteration, error) {
	states, err := v.tx.AllowExisting(v.tx.Actor, ids, domain.RightRead)
	if err != nil {
		return nil, err
	}
	rows, err := iterationsOf(v.tx, domain.NumsOf(states), nil)
	if err != nil {
		return nil, err
	}
	byNum := map[int64]Iteration{}
	for _, i := range rows {
		byNum[i.Num] = i
	}
	all := make([]Iteration, len(states))
	for at, s := range states {
		all[at] = byNum[s.Num]
		all[at].Deleted = s.Deleted
	}
	return all, nil
}

// EndingLength is the number of characters that IterationsEndingIn compares. The last 12
// characters of a UUID are 48 random bits.
const EndingLength = 12

// IterationsEndingIn finds iterations of an experiment by the last EndingLength characters of
// their ids. It returns the full ids, in the order of endings. It omits endings without an
// iteration. The actor needs the right to read.
func (v *View) IterationsEndingIn(experimentID string, endings []string) ([]string, error) {
	if len(endings) > domain.MaxLimit {
		return nil, domain.Invalid("ids", "At most %d ids can be given at once.", domain.MaxLimit)
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return nil, err
	}
	ids := []string{}
	err := v.tx.Select(&ids, `SELECT iteration.id
		FROM iteration JOIN json_each(?) AS list ON list.value = substr(iteration.id, -?)
		WHERE iteration.experiment_id = ? AND `+v.tx.Found("iteration")+`
		ORDER BY list.key LIMIT ?`, sqlite.JSON(endings), EndingLength, experimentID, domain.MaxLimit)
	return ids, err
}

// Iteration calls View.Iteration in a new read transaction.
func (db *DB) Iteration(ctx context.Context, actor domain.Actor, id string) (Iteration, error) {
	return view(ctx, db, actor, func(v *View) (Iteration, error) { return v.Iteration(id) })
}

// UpdateIteration changes an iteration. The actor needs the right to update.
//
// A status other than RUNNING ends the iteration. If the patch has no end date, the iteration
// ends now. An end date without a status ends a running iteration with the status SUCCEEDED.
// The status RUNNING reopens the iteration, and removes a stop request. UpdateIteration returns
// ITERATION_ENDED if the iteration has ended and the patch changes fields other than the name
// and the notes.
func (db *DB) UpdateIteration(ctx context.Context, actor domain.Actor, id string, p IterationPatch) error {
	return db.UpdateIterations(ctx, actor, []string{id}, p)
}

// UpdateIterations changes several iterations as UpdateIteration does. If it returns an error,
// it has changed none of the iterations.
func (db *DB) UpdateIterations(ctx context.Context, actor domain.Actor, ids []string, p IterationPatch) error {
	if err := p.check(); err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		for _, id := range ids {
			if err := UpdateIteration(tx, actor, id, p); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p IterationPatch) check() error {
	if err := domain.CheckNameAndText(p.Name, "notes", p.Notes); err != nil {
		return err
	}
	if err := domain.CheckOptional("error_message", p.ErrorMessage); err != nil {
		return err
	}
	if p.Status != nil {
		if err := domain.OneOf("status", *p.Status, IterationStatuses...); err != nil {
			return err
		}
		if *p.Status == domain.Running && p.EndDate != nil {
			return domain.Invalid("end_date", "end_date can't be set with the status RUNNING; leave it out.")
		}
	}
	return nil
}

// UpdateIteration changes an iteration in the transaction tx as DB.UpdateIteration does. The
// caller must have checked the patch.
func UpdateIteration(tx *domain.Tx, actor domain.Actor, id string, p IterationPatch) error {
	it, err := tx.AllowIteration(actor, id, domain.RightUpdate)
	if err != nil {
		return err
	}
	if err := tx.RefuseIfOverwritten(p.Before, "iteration", id, map[string]*string{"name": p.Name, "notes": p.Notes}); err != nil {
		return err
	}
	next := it
	switch {
	case p.Status != nil && *p.Status == domain.Running:
		next.Status, next.EndDate = domain.Running, nil
	case p.Status != nil && *p.Status != it.Status:
		next.Status, next.EndDate = *p.Status, &tx.Now
	case p.EndDate != nil && it.Status == domain.Running:
		next.Status = domain.Succeeded
	}
	if p.EndDate != nil {
		next.EndDate = p.EndDate
	}
	if p.ErrorMessage != nil {
		next.ErrorMessage = *p.ErrorMessage
	}
	if it.Ended() && next.Status != domain.Running && !next.Same(it) && !p.Reopen {
		return domain.ErrEnded
	}
	if p.Name != nil || p.Notes != nil {
		_, err := tx.Exec(`UPDATE iteration SET
				name  = coalesce(?, name),
				notes = coalesce(?, notes)
			WHERE num = ?`, p.Name, p.Notes, it.Num)
		if err != nil {
			return err
		}
	}
	if p.Status != nil || p.ErrorMessage != nil || p.EndDate != nil {
		tx.Seen = append(tx.Seen, it.Num) // the run itself sets these fields and is therefore alive
	}
	given := p.EndDate != nil || next.Status == it.Status // an existing end date is stored unchanged
	keep := p.Status == nil && next.Status == domain.Running
	return SetEnd(tx, it.IterationRef, End{next.Status, next.ErrorMessage, next.EndDate, given, keep})
}

// Heartbeat sets the time when an iteration was last seen to the current time. The actor needs
// the right to update.
func (db *DB) Heartbeat(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		_, err := tx.AllowOpenIteration(actor, id, domain.RightUpdate)
		return err
	})
}
