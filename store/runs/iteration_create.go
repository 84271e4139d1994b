package runs

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// NewIteration holds the arguments of CreateIteration.
type NewIteration struct {
	ID                *string      `json:"id"`                  // UUID of the iteration; nil for a generated UUID
	Name              *string      `json:"name"`                // nil for a random name
	Notes             string       `json:"notes"`               //
	ParentIterationID *string      `json:"parent_iteration_id"` // id of an iteration in the same experiment, or nil
	CreatedDate       *scalar.Time `json:"created_date"`        // start of the run; nil for the current time

	// Properties and Snapshot are additional records of the new iteration.
	Properties []domain.Property `json:"-"`
	Snapshot   *SnapshotPatch    `json:"-"`
}

// maxAhead is the maximum time by which a client's clock can be ahead of the server's clock.
const maxAhead = 5 * time.Minute

// CreateIteration creates a running iteration. The experiment must be in progress. The actor
// needs the right to create.
//
// If the experiment has an iteration with the given ID, CreateIteration returns the existing
// iteration. A client resumes a run by creating it with the same ID. CreateIteration returns
// CONFLICT if the ID exists in another experiment or in the trash.
func (db *DB) CreateIteration(ctx context.Context, actor domain.Actor, experimentID string, n NewIteration) (domain.Created, error) {
	if n.ID != nil {
		id, err := uuid.Parse(*n.ID)
		if err != nil || len(*n.ID) != 36 {
			return domain.Created{}, domain.Invalid("id", "id must be a UUID like 0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6.")
		}
		n.ID = new(id.String())
	}
	err := domain.FirstError(domain.CheckNameAndText(n.Name, "notes", &n.Notes), domain.CheckProperties(n.Properties), n.Snapshot.check())
	if err != nil {
		return domain.Created{}, err
	}
	if at := n.CreatedDate; at != nil && (*at < 0 || *at > scalar.TimeOf(db.base.Now().Add(maxAhead))) {
		return domain.Created{}, domain.Invalid("created_date", "created_date must be between 1970 and now; leave it out for a run that begins now.")
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		e, err := tx.AllowExperiment(actor, experimentID, domain.RightCreate)
		if err != nil {
			return domain.Created{}, err
		}
		if n.ID != nil {
			var owner string
			var deleted bool
			err := tx.Row(`SELECT experiment_id, deleted_date IS NOT NULL FROM iteration WHERE id = ?`, *n.ID).Scan(&owner, &deleted)
			switch {
			case err == nil && owner == experimentID && deleted:
				return domain.Created{}, &domain.Error{Code: domain.CodeConflict, Field: "id",
					Message: "This id is in the trash; restore it, or create a new UUID."}
			case err == nil && owner == experimentID:
				return domain.Created{ID: *n.ID, Existing: true}, nil
			case err == nil:
				return domain.Created{}, &domain.Error{Code: domain.CodeConflict, Field: "id",
					Message: "This id is used in another experiment; create a new UUID."}
			case !errors.Is(err, sql.ErrNoRows):
				return domain.Created{}, err
			}
		}
		if err := e.Open(); err != nil {
			return domain.Created{}, err
		}
		return InsertIteration(tx, experimentID, n)
	})
}

// InsertIteration inserts an iteration into an experiment. The caller must have checked the
// iteration and the rights of the actor.
func InsertIteration(tx *domain.Tx, experimentID string, n NewIteration) (domain.Created, error) {
	var parent *int64
	if n.ParentIterationID != nil {
		var err error
		if parent, err = parentOf(tx, experimentID, *n.ParentIterationID); err != nil {
			return domain.Created{}, err
		}
	}
	began := tx.Now
	if n.CreatedDate != nil {
		began = *n.CreatedDate
	}
	id := domain.NewID()
	if n.ID != nil {
		id = *n.ID
	}
	if n.Name == nil {
		name, err := freeName(tx, experimentID)
		if err != nil {
			return domain.Created{}, err
		}
		n.Name = &name
	}
	ref := domain.IterationRef{ID: id, ExperimentID: experimentID}
	err := tx.Row(`INSERT INTO iteration
		(id, experiment_id, parent_num, name, notes, status, created_date, last_seen, created_by, created_key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, `+domain.CreatorValues+`) RETURNING num`,
		id, experimentID, parent, *n.Name, n.Notes, domain.Running, began, tx.Now, tx.Actor.CreatorID(), tx.Actor.Key).Scan(&ref.Num)
	if err != nil {
		return domain.Created{}, err
	}
	it := domain.IterationState{IterationRef: ref}
	if err := domain.FirstError(tx.SetProperties(tx.Actor, it.Properties(), n.Properties), PatchSnapshot(tx, it, n.Snapshot)); err != nil {
		return domain.Created{}, err
	}
	return domain.Created{ID: id}, nil
}

// parentOf returns the row number of the iteration with the given id. It returns an error if
// the iteration does not belong to the experiment.
func parentOf(tx *domain.Tx, experimentID, id string) (num *int64, err error) {
	err = tx.Row(`SELECT num FROM iteration WHERE id = ? AND experiment_id = ? AND deleted_date IS NULL`, id, experimentID).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, domain.Invalid("parent_iteration_id", "parent_iteration_id must belong to the same experiment.")
	}
	return num, err
}

// freeName returns a random name that is not used in the experiment.
func freeName(tx *domain.Tx, experimentID string) (string, error) {
	for attempt := 0; ; attempt++ {
		name := randomName(attempt)
		taken, err := tx.Has(`SELECT 1 FROM iteration WHERE experiment_id = ? AND name = ?`, experimentID, name)
		if err != nil || !taken {
			return name, err
		}
	}
}
