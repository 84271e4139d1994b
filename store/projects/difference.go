package projects

import (
	"context"

	"tracker/store/difference"
	"tracker/store/domain"
	"tracker/store/runs"
)

// Difference returns the differences between two iterations. The first one is the baseline. The
// objective of its experiment is compared, and the finished runs of that experiment that differ
// from one of the two only in their seeds are included. The actor needs the right to read both
// iterations.
func (v *View) Difference(iterationID, otherID string) (difference.Difference, error) {
	in := runs.In(v.tx)
	i, err := in.Iteration(iterationID)
	if err != nil {
		return difference.Difference{}, err
	}
	if _, err := in.Iteration(otherID); err != nil {
		return difference.Difference{}, err
	}
	e, err := v.Experiment(i.ExperimentID)
	if err != nil {
		return difference.Difference{}, err
	}
	o, err := v.Objective(e)
	if err != nil {
		return difference.Difference{}, err
	}
	ids := []string{iterationID, otherID}
	snapshots, err := in.Snapshots(ids)
	if err != nil {
		return difference.Difference{}, err
	}
	var sides [2][]difference.Run
	for side, id := range ids {
		s, err := in.Summary(id)
		if err != nil {
			return difference.Difference{}, err
		}
		sides[side] = []difference.Run{runs.DifferenceRun(s, snapshots[id], o)}
	}
	return in.Difference(e.ID, sides[0], sides[1], o)
}

// Difference calls View.Difference in a new read transaction.
func (db *DB) Difference(ctx context.Context, actor domain.Actor, iterationID, otherID string) (difference.Difference, error) {
	return view(ctx, db, actor, func(v *View) (difference.Difference, error) { return v.Difference(iterationID, otherID) })
}
