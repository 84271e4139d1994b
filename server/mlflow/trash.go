package mlflow

import (
	"tracker/store/domain"
)

// Records that are deleted in terms of the protocol are in the trash. Clients can read them but
// can't change them.

// reading returns a copy of c whose reads include records in the trash.
func (c *call) reading() *call {
	r := *c
	r.ctx = domain.WithTrash(c.ctx)
	return &r
}

// If err means that the run is in the trash, activeRun returns the protocol's error for a deleted
// run. It returns other errors unchanged.
func (c *call) activeRun(id string, err error) error {
	if !isNotFound(err) {
		return err
	}
	if r, e := c.db.Runs.Iteration(domain.WithTrash(c.ctx), c.actor, id); e == nil && r.Deleted {
		return domain.Invalid("run_id", "The run %s must be in the 'active' state. Current state is deleted; restore it first.", compact(id))
	}
	return err
}

// activeExperiment is like activeRun, but for an experiment.
func (c *call) activeExperiment(id string, err error) error {
	if !isNotFound(err) {
		return err
	}
	if e, failed := c.db.Projects.Experiment(domain.WithTrash(c.ctx), c.actor, id); failed == nil && e.Deleted {
		return domain.Invalid("experiment_id", "The experiment %s must be in the 'active' state. Current state is deleted; restore it first.", id)
	}
	return err
}

// deleteRun moves a run to the trash. It does nothing if the run is in the trash.
func (c *call) deleteRun(in runRef) error {
	id, err := in.id()
	if err != nil {
		return err
	}
	err = c.db.Runs.DeleteIteration(c.ctx, c.actor, id)
	if c.activeRun(id, err) != err {
		return nil
	}
	return err
}

// restoreRun restores a run from the trash. It does nothing if the run is not in the trash.
func (c *call) restoreRun(in runRef) error {
	id, err := in.id()
	if err != nil {
		return err
	}
	err = c.db.Trash.Restore(c.ctx, c.actor, id)
	if !isNotFound(err) && !isConflict(err) {
		return err
	}
	r, failed := c.db.Runs.Iteration(domain.WithTrash(c.ctx), c.actor, id)
	if failed != nil || !r.Deleted {
		return failed
	}
	return domain.Invalid("run_id", "The experiment %s of the run must be in the 'active' state. Current state is deleted; restore it first.", r.ExperimentID)
}

func (c *call) deleteExperiment(in experimentID) error {
	if err := need("experiment_id", string(in.ID)); err != nil {
		return err
	}
	id, err := c.experimentByID(string(in.ID), true)
	if err != nil {
		return err
	}
	return c.db.Projects.DeleteExperiment(c.ctx, c.actor, id)
}

func (c *call) restoreExperiment(in experimentID) error {
	if err := need("experiment_id", string(in.ID)); err != nil {
		return err
	}
	id, err := c.experimentByID(string(in.ID), false)
	if err != nil {
		return err
	}
	return c.db.Trash.Restore(c.ctx, c.actor, id)
}
