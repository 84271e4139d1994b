package archive

import (
	"database/sql"
	"errors"
	"fmt"

	"tracker/store/domain"
)

// exported returns the event for the audit trail about an export of the records selected by q. Several
// runs are one event about their experiment, or about no particular record if q names only the runs.
func exported(tx *domain.Tx, q Query) (e domain.Event, err error) {
	e.Action = domain.ActionExport
	named := func(kind domain.TrashKind, id string) error {
		e.Kind, e.ID = domain.AuditKind(kind), id
		err := tx.Row(`SELECT name FROM `+string(kind)+` WHERE id = ?`, id).Scan(&e.Name)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	switch {
	case q.ProjectID != "":
		return e, named(domain.TrashedProject, q.ProjectID)
	case q.ExperimentID != "":
		return e, named(domain.TrashedExperiment, q.ExperimentID)
	case len(q.IterationIDs) == 1:
		return e, named(domain.TrashedIteration, q.IterationIDs[0])
	}
	e.Kind, e.Name = domain.AuditKind(domain.TrashedIteration), fmt.Sprintf("%d runs", len(q.IterationIDs))
	return e, nil
}
