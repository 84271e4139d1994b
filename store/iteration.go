package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// IterationStatus says how a run stands.
type IterationStatus string

// The states of an iteration. All but RUNNING are ends.
const (
	Running   IterationStatus = "RUNNING"
	Succeeded IterationStatus = "SUCCEEDED"
	Failed    IterationStatus = "FAILED"
	Killed    IterationStatus = "KILLED"
)

// LostAfter is how long an iteration that is RUNNING may be silent before it is
// held for lost.
const LostAfter = 5 * time.Minute

// lostStatus stands in a search for the iterations that are. No record has this status.
const lostStatus = "LOST"

// Iteration is one run: what parameters and metrics are recorded against.
type Iteration struct {
	Num               int64           `json:"-" db:"num"` // the key of what is logged in it
	ID                string          `json:"id" db:"id"`
	ExperimentID      string          `json:"experiment_id" db:"experiment_id"`
	ParentIterationID *string         `json:"parent_iteration_id" db:"parent_iteration_id"`
	Name              string          `json:"name" db:"name"`
	Notes             string          `json:"notes" db:"notes"`
	Status            IterationStatus `json:"status" db:"status"`
	ErrorMessage      string          `json:"error_message" db:"error_message"`
	CreatedDate       Time            `json:"created_date" db:"created_date"`
	EndDate           *Time           `json:"end_date" db:"end_date"`
	LastSeen          Time            `json:"last_seen" db:"last_seen"` // of the last write or heartbeat
	Tags              Strings         `json:"tags" db:"tags"`

	// Params and Metrics are what a listing was asked to embed, nil when it was
	// not. What the iteration does not have is not in them.
	Params  map[string]string `json:"params,omitzero" db:"-"`
	Metrics map[string]Value  `json:"metrics,omitzero" db:"-"`

	// Children is how many of the hits of a folded listing lie under this one.
	Children int `json:"-" db:"-"`
}

// Strings is a list of strings that SQL gives as a JSON array.
type Strings []string

// Scan implements sql.Scanner.
func (s *Strings) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return errors.New("a list of strings is not text")
	}
	return json.Unmarshal([]byte(text), (*[]string)(s))
}

// NewIteration is what CreateIteration takes.
type NewIteration struct {
	ID                *string `json:"id"`                  // a UUID; nil for one of the server's
	Name              *string `json:"name"`                // nil for a made-up one
	Notes             string  `json:"notes"`               //
	ParentIterationID *string `json:"parent_iteration_id"` // of the same experiment, or nil
}

// IterationPatch is what UpdateIteration changes; nil leaves a field as it is.
type IterationPatch struct {
	Name         *string          `json:"name"`
	Notes        *string          `json:"notes"`
	Status       *IterationStatus `json:"status"`
	ErrorMessage *string          `json:"error_message"`
	EndDate      *Time            `json:"end_date"`
	Before       Before           `json:"-"`
}

// IterationQuery narrows and orders a listing, in the language that
// docs/search.md describes.
type IterationQuery struct {
	Page
	Filter  string // which iterations; "" for all
	Sort    string // by what, then by age; "" for the oldest first
	Columns string // the parameters and metrics to embed in each; "" for none

	Group  *Grouped // only those of a group; nil for all
	Fold   bool     // children lie under their parents, if these pass the filter too
	Parent *string  // with Fold: those under this one; nil for those at the top
}

var iterationStatuses = []IterationStatus{Running, Succeeded, Failed, Killed}

const iterationColumns = `
	iteration.num,
	iteration.id,
	iteration.experiment_id,
	(SELECT parent.id FROM iteration AS parent WHERE parent.num = iteration.parent_num) AS parent_iteration_id,
	iteration.name,
	iteration.notes,
	iteration.status,
	iteration.error_message,
	iteration.created_date,
	iteration.end_date,
	iteration.last_seen,
	(SELECT json_group_array(value) FROM
		(SELECT value FROM tag WHERE tag.iteration_num = iteration.num ORDER BY value)) AS tags`

// Iterations lists the iterations of an experiment. INVALID_PAYLOAD when a part
// of the query can't be read; its message says at which character. Needs read.
func (db *DB) Iterations(ctx context.Context, actor Actor, experimentID string, q IterationQuery) (List[Iteration], error) {
	s, err := parseSearch(q)
	if err != nil {
		return List[Iteration]{}, err
	}
	if err := db.settleOrWarn(ctx, experimentID, s); err != nil {
		return List[Iteration]{}, err
	}
	return read(ctx, db, func(tx *tx) (List[Iteration], error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return List[Iteration]{}, err
		}
		return tx.iterations(experimentID, s, q.clamp())
	})
}

// IterationChildren lists the direct children of an iteration, the oldest
// first. Needs read.
func (db *DB) IterationChildren(ctx context.Context, actor Actor, id string, p Page) (List[Iteration], error) {
	return read(ctx, db, func(tx *tx) (List[Iteration], error) {
		it, err := tx.allowIteration(actor, id, rightRead)
		if err != nil {
			return List[Iteration]{}, err
		}
		l, err := list[Iteration](tx, p, iterationColumns,
			`FROM iteration WHERE iteration.parent_num = ?`, `iteration.num`, it.num)
		db.seen.freshen(l.Data)
		return l, err
	})
}

// Iteration returns one iteration. Needs read.
func (db *DB) Iteration(ctx context.Context, actor Actor, id string) (Iteration, error) {
	return read(ctx, db, func(tx *tx) (i Iteration, err error) {
		it, err := tx.allowIteration(actor, id, rightRead)
		if err != nil {
			return i, err
		}
		err = tx.get(&i, `SELECT `+iterationColumns+` FROM iteration WHERE num = ?`, it.num)
		i.LastSeen = db.seen.latest(it.num, i.LastSeen)
		return i, err
	})
}

// CreateIteration starts a run in an experiment that is in progress. Needs
// create. An ID that the experiment already has answers with that iteration,
// so that a client may resume; one of another experiment is a CONFLICT.
func (db *DB) CreateIteration(ctx context.Context, actor Actor, experimentID string, n NewIteration) (Created, error) {
	if n.ID != nil {
		id, err := uuid.Parse(*n.ID)
		if err != nil || len(*n.ID) != 36 {
			return Created{}, Invalid("id", "id must be a UUID like 0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6.")
		}
		n.ID = new(id.String())
	}
	if err := checkNameAndText(n.Name, "notes", &n.Notes); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		e, err := tx.allowExperiment(actor, experimentID, rightCreate)
		if err != nil {
			return Created{}, err
		}
		if n.ID != nil {
			var owner string
			err := tx.row(`SELECT experiment_id FROM iteration WHERE id = ?`, *n.ID).Scan(&owner)
			switch {
			case err == nil && owner == experimentID:
				return Created{ID: *n.ID, Existing: true}, nil
			case err == nil:
				return Created{}, &Error{Code: CodeConflict, Field: "id",
					Message: "An iteration of another experiment has this id; mint a new UUID."}
			case !errors.Is(err, sql.ErrNoRows):
				return Created{}, err
			}
		}
		if err := e.open(); err != nil {
			return Created{}, err
		}
		return tx.insertIteration(experimentID, n)
	})
}

func (tx *tx) insertIteration(experimentID string, n NewIteration) (Created, error) {
	var parent *int64
	if n.ParentIterationID != nil {
		err := tx.row(`SELECT num FROM iteration WHERE id = ? AND experiment_id = ?`,
			*n.ParentIterationID, experimentID).Scan(&parent)
		if errors.Is(err, sql.ErrNoRows) {
			return Created{}, Invalid("parent_iteration_id", "parent_iteration_id must name an iteration of the same experiment.")
		}
		if err != nil {
			return Created{}, err
		}
	}
	id, err := newID()
	if err != nil {
		return Created{}, err
	}
	if n.ID != nil {
		id = *n.ID
	}
	if n.Name == nil {
		name, err := tx.freeName(experimentID)
		if err != nil {
			return Created{}, err
		}
		n.Name = &name
	}
	ref := iterationRef{id: id, experimentID: experimentID}
	err = tx.row(`INSERT INTO iteration
		(id, experiment_id, parent_num, name, notes, status, created_date, last_seen)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING num`,
		id, experimentID, parent, *n.Name, n.Notes, Running, tx.now, tx.now).Scan(&ref.num)
	if err != nil {
		return Created{}, err
	}
	tx.noteIteration(ref)
	return Created{ID: id}, tx.noteNumbered(parent)
}

// UpdateIteration changes an iteration. Needs update. A status that is an end
// sets the end date when none is given; an end date alone ends it as
// SUCCEEDED; RUNNING opens it again. ITERATION_ENDED when it has ended and
// anything but its name and notes would change.
func (db *DB) UpdateIteration(ctx context.Context, actor Actor, id string, p IterationPatch) error {
	return db.UpdateIterations(ctx, actor, []string{id}, p)
}

// UpdateIterations is UpdateIteration for several: all are changed or, with an
// error, none.
func (db *DB) UpdateIterations(ctx context.Context, actor Actor, ids []string, p IterationPatch) error {
	if err := p.check(); err != nil {
		return err
	}
	return change(ctx, db, actor, func(tx *tx) error {
		for _, id := range ids {
			if err := tx.updateIteration(actor, id, p); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p IterationPatch) check() error {
	if err := checkNameAndText(p.Name, "notes", p.Notes); err != nil {
		return err
	}
	if p.ErrorMessage != nil {
		if err := checkText("error_message", *p.ErrorMessage); err != nil {
			return err
		}
	}
	if p.Status != nil {
		if err := oneOf("status", *p.Status, iterationStatuses...); err != nil {
			return err
		}
		if *p.Status == Running && p.EndDate != nil {
			return Invalid("end_date", "A RUNNING iteration has no end_date; leave it out.")
		}
	}
	return nil
}

func (tx *tx) updateIteration(actor Actor, id string, p IterationPatch) error {
	it, err := tx.allowIteration(actor, id, rightUpdate)
	if err != nil {
		return err
	}
	if err := tx.refuseIfOverwritten(p.Before, "iteration", id, map[string]*string{"name": p.Name, "notes": p.Notes}); err != nil {
		return err
	}
	next := it
	switch {
	case p.Status != nil && *p.Status == Running:
		next.status, next.endDate = Running, nil
	case p.Status != nil && *p.Status != it.status:
		next.status, next.endDate = *p.Status, &tx.now
	case p.EndDate != nil && it.status == Running:
		next.status = Succeeded
	}
	if p.EndDate != nil {
		next.endDate = p.EndDate
	}
	if p.ErrorMessage != nil {
		next.errorMessage = *p.ErrorMessage
	}
	if it.ended() && next.status != Running && !next.same(it) {
		return errEnded
	}
	_, err = tx.exec(`UPDATE iteration SET
			name          = coalesce(?, name),
			notes         = coalesce(?, notes),
			status        = ?,
			error_message = ?,
			end_date      = ?
		WHERE num = ?`, p.Name, p.Notes, next.status, next.errorMessage, next.endDate, it.num)
	if p.Status != nil || p.ErrorMessage != nil || p.EndDate != nil {
		tx.seen = append(tx.seen, it.num) // the run spoke, not somebody who takes notes
	}
	if err != nil {
		return err
	}
	tx.noteIteration(it.iterationRef)
	return tx.noteParent(it.num)
}

// Heartbeat says that a run is alive, without writing anything else. Needs
// update.
func (db *DB) Heartbeat(ctx context.Context, actor Actor, id string) error {
	return change(ctx, db, actor, func(tx *tx) error {
		_, err := tx.allowOpenIteration(actor, id, rightUpdate)
		return err
	})
}

var errEnded = Errorf(CodeIterationEnded, "The iteration has ended; set its status to RUNNING to write to it again.")

// iterationRef says which iteration is meant.
type iterationRef struct {
	num          int64
	id           string
	experimentID string
}

// iterationState is what the rules ask of an iteration.
type iterationState struct {
	iterationRef
	projectID    string
	status       IterationStatus
	errorMessage string
	endDate      *Time
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
	err = tx.row(`SELECT
			iteration.num,
			iteration.experiment_id,
			experiment.project_id,
			iteration.status,
			iteration.error_message,
			iteration.end_date
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id = ?`, id).
		Scan(&i.num, &i.experimentID, &i.projectID, &i.status, &i.errorMessage, &i.endDate)
	if err != nil {
		return i, orNotFound(err, "iteration")
	}
	return i, tx.allow(actor, i.projectID, want)
}

// allowOpenIteration is allowIteration for writes of what a run records: the
// iteration must not have ended, and is marked as seen.
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

// freeName makes up a name that no iteration of the experiment has.
func (tx *tx) freeName(experimentID string) (string, error) {
	for attempt := 0; ; attempt++ {
		name := randomName(attempt)
		var one int
		err := tx.row(`SELECT 1 FROM iteration WHERE experiment_id = ? AND name = ?`, experimentID, name).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}
