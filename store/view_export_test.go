package store

import "context"

// The reads that programs make with others in a view, on a snapshot of their own.

// Groups is View.Groups.
func (db *DB) Groups(ctx context.Context, actor Actor, experimentID string, q GroupQuery) (List[Group], error) {
	return view(ctx, db, actor, func(v *View) (List[Group], error) { return v.Groups(experimentID, q) })
}

// IterationsDeletion is View.IterationsDeletion.
func (db *DB) IterationsDeletion(ctx context.Context, actor Actor, ids []string) (Deletion, error) {
	return view(ctx, db, actor, func(v *View) (Deletion, error) { return v.IterationsDeletion(ids) })
}

// VaryingParams is View.VaryingParams.
func (db *DB) VaryingParams(ctx context.Context, actor Actor, experimentID string, newest int) ([]string, error) {
	return view(ctx, db, actor, func(v *View) ([]string, error) { return v.VaryingParams(experimentID, newest) })
}

// ArtifactVersions is View.ArtifactVersions.
func (db *DB) ArtifactVersions(ctx context.Context, actor Actor, resourceID string) ([]MadeVersion, error) {
	return view(ctx, db, actor, func(v *View) ([]MadeVersion, error) { return v.ArtifactVersions(resourceID) })
}

// IterationVersions is View.IterationVersions.
func (db *DB) IterationVersions(ctx context.Context, actor Actor, iterationID string) ([]MadeVersion, error) {
	return view(ctx, db, actor, func(v *View) ([]MadeVersion, error) { return v.IterationVersions(iterationID) })
}

// ModelStates is View.ModelStates.
func (db *DB) ModelStates(ctx context.Context, actor Actor, projectID string) (map[string]ModelState, error) {
	return view(ctx, db, actor, func(v *View) (map[string]ModelState, error) { return v.ModelStates(projectID) })
}

// Rights is View.Rights.
func (db *DB) Rights(ctx context.Context, actor Actor, projectID string) (Permission, error) {
	return view(ctx, db, actor, func(v *View) (Permission, error) { return v.Rights(projectID) })
}

// UnknownNames is View.UnknownNames.
func (db *DB) UnknownNames(ctx context.Context, actor Actor, experimentID, where string) ([]Unknown, error) {
	return view(ctx, db, actor, func(v *View) ([]Unknown, error) { return v.UnknownNames(experimentID, where) })
}

// IterationIDs is View.IterationIDs.
func (db *DB) IterationIDs(ctx context.Context, actor Actor, experimentID string, q IterationQuery) ([]string, error) {
	return view(ctx, db, actor, func(v *View) ([]string, error) { return v.IterationIDs(experimentID, q) })
}
