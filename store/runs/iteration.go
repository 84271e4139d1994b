package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/scalar"
)

// Iteration is one run. Parameters and metrics are recorded in it.
type Iteration struct {
	Num               int64                  `json:"-" db:"num"` // primary key
	ID                string                 `json:"id" db:"id"`
	ExperimentID      string                 `json:"experiment_id" db:"experiment_id"`
	ParentIterationID *string                `json:"parent_iteration_id" db:"parent_iteration_id"`
	Name              string                 `json:"name" db:"name"`
	Notes             string                 `json:"notes" db:"notes"`
	Status            domain.IterationStatus `json:"status" db:"status"`
	ErrorMessage      string                 `json:"error_message" db:"error_message"`
	CreatedDate       scalar.Time            `json:"created_date" db:"created_date"`
	EndDate           *scalar.Time           `json:"end_date" db:"end_date"`
	LastSeen          scalar.Time            `json:"last_seen" db:"last_seen"` // time of the last write or heartbeat
	Tags              domain.Strings         `json:"tags" db:"tags"`

	// Params and Metrics hold the columns of a listing; nil without columns. They
	// omit columns that the iteration does not have.
	Params  map[string]string       `json:"params,omitzero" db:"-"`
	Metrics map[string]scalar.Value `json:"metrics,omitzero" db:"-"`

	// Deleted reports whether the iteration or its container is in the trash.
	Deleted bool `json:"-" db:"deleted"`

	// Children is the number of hits under this iteration in a folded listing.
	Children int `json:"-" db:"-"`
}

func (i Iteration) TextBytes() int { return len(i.Notes) }

// IterationPatch holds the fields that UpdateIteration sets; nil leaves a field as it is.
type IterationPatch struct {
	Name         *string                 `json:"name"`
	Notes        *string                 `json:"notes"`
	Status       *domain.IterationStatus `json:"status"`
	ErrorMessage *string                 `json:"error_message"`
	EndDate      *scalar.Time            `json:"end_date"`
	Before       domain.Before           `json:"-"`

	// Reopen changes an iteration that has ended as if it were opened before the change
	// and ended after it.
	Reopen bool `json:"-"`
}

// IterationQuery selects and sorts iterations, in the language that docs/search.md
// describes.
type IterationQuery struct {
	domain.Page
	Filter  string // "" for all
	Sort    string // sort keys, then by age; "" for oldest first
	Columns string // the parameters and metrics to embed in each iteration; "" for none
	Trash   domain.TrashFilter
	Cut     bool // end the page early if it would exceed MaxPageBytes

	Group  *Grouped // only the iterations of a group; nil for all
	Fold   bool     // list children under their parents, if these pass the filter too
	Parent *string  // with Fold: only the children of this iteration; nil for the top level
}

// IterationStatuses holds all statuses of an iteration.
var IterationStatuses = []domain.IterationStatus{domain.Running, domain.Succeeded, domain.Failed, domain.Killed}

const (
	iterationColumns = `
	(SELECT parent.id FROM iteration AS parent
		WHERE parent.num = iteration.parent_num AND parent.deleted_date IS NULL) AS parent_iteration_id,` + ownColumns

	// recordColumns are the columns of a record, whose parent may be in the trash.
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
	iteration.end_date,
	iteration.last_seen,
	(SELECT json_group_array(value) FROM
		(SELECT value FROM tag WHERE tag.iteration_num = iteration.num ORDER BY value)) AS tags,
	iteration.deleted_date IS NOT NULL AS deleted`
)

// Iterations lists the iterations of an experiment. INVALID_PAYLOAD if a part of the
// query can't be parsed; the message has the position. Needs read.
func (v *View) Iterations(experimentID string, q IterationQuery) (domain.List[Iteration], error) {
	s, err := parseSearch(q)
	if err != nil {
		return domain.List[Iteration]{}, err
	}
	e, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead)
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

// Iterations is View.Iterations.
func (db *DB) Iterations(ctx context.Context, actor domain.Actor, experimentID string, q IterationQuery) (domain.List[Iteration], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Iteration], error) { return v.Iterations(experimentID, q) })
}

// IterationChildren lists the direct children of an iteration, oldest first. Needs
// read.
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

// IterationChildren is View.IterationChildren.
func (db *DB) IterationChildren(ctx context.Context, actor domain.Actor, id string, p domain.Page) (domain.List[Iteration], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Iteration], error) { return v.IterationChildren(id, p) })
}

// Iteration returns one iteration. Needs read.
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

// IterationsByID returns up to MaxLimit iterations in the order of ids. It omits ids
// that do not exist. Needs read for all of them.
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

// EndingLength is the length of the endings of ids in IterationsEndingIn:
// 48 random bits of a UUID.
const EndingLength = 12

// IterationsEndingIn returns the ids of the iterations of an experiment that end in the given
// endings, in the order of endings. It omits endings without an iteration. Needs read.
func (v *View) IterationsEndingIn(experimentID string, endings []string) ([]string, error) {
	if len(endings) > domain.MaxLimit {
		return nil, domain.Invalid("ids", "At most %d ids can be given at once.", domain.MaxLimit)
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return nil, err
	}
	list, err := json.Marshal(endings)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	err = v.tx.Select(&ids, `SELECT iteration.id
		FROM iteration JOIN json_each(?) AS list ON list.value = substr(iteration.id, -?)
		WHERE iteration.experiment_id = ? AND `+v.tx.Found("iteration")+`
		ORDER BY list.key LIMIT ?`, string(list), EndingLength, experimentID, domain.MaxLimit)
	return ids, err
}

// Iteration is View.Iteration.
func (db *DB) Iteration(ctx context.Context, actor domain.Actor, id string) (Iteration, error) {
	return view(ctx, db, actor, func(v *View) (Iteration, error) { return v.Iteration(id) })
}

// UpdateIteration changes an iteration. Needs update. A status that ends the iteration
// also sets the end date if none is given. An end date alone ends it as SUCCEEDED.
// RUNNING reopens it. ITERATION_ENDED if it has ended and fields other than its name
// and notes would change.
func (db *DB) UpdateIteration(ctx context.Context, actor domain.Actor, id string, p IterationPatch) error {
	return db.UpdateIterations(ctx, actor, []string{id}, p)
}

// UpdateIterations is UpdateIteration for several iterations. It changes all of them or,
// with an error, none.
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

// UpdateIteration is DB.UpdateIteration in a transaction. The patch must have been checked.
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
		tx.Seen = append(tx.Seen, it.Num) // the run sets these fields, not a person
	}
	given := p.EndDate != nil || next.Status == it.Status // the end that it had is kept, too
	return SetEnd(tx, it.IterationRef, End{next.Status, next.ErrorMessage, next.EndDate, given})
}

// Heartbeat sets the time when a run was last seen to now. Needs update.
func (db *DB) Heartbeat(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		_, err := tx.AllowOpenIteration(actor, id, domain.RightUpdate)
		return err
	})
}
