package store

import (
	"context"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/search"
)

// Reads that other code does in a view, each on a snapshot of its own.

// Groups is View.Groups.
func (db *DB) Groups(ctx context.Context, actor domain.Actor, experimentID string, q runs.GroupQuery) (domain.List[search.Group], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[search.Group], error) { return v.Runs.Groups(experimentID, q) })
}

// IterationsDeletion is View.IterationsDeletion.
func (db *DB) IterationsDeletion(ctx context.Context, actor domain.Actor, ids []string) (runs.Deletion, error) {
	return view(ctx, db, actor, func(v *View) (runs.Deletion, error) { return v.Runs.IterationsDeletion(ids) })
}

// VaryingParams is View.VaryingParams.
func (db *DB) VaryingParams(ctx context.Context, actor domain.Actor, experimentID string, newest int) ([]string, error) {
	return view(ctx, db, actor, func(v *View) ([]string, error) { return v.Runs.VaryingParams(experimentID, newest) })
}

// ArtifactVersions is View.ArtifactVersions.
func (db *DB) ArtifactVersions(ctx context.Context, actor domain.Actor, resourceID string) ([]registry.MadeVersion, error) {
	return view(ctx, db, actor, func(v *View) ([]registry.MadeVersion, error) { return v.Models.ArtifactVersions(resourceID) })
}

// IterationVersions is View.IterationVersions.
func (db *DB) IterationVersions(ctx context.Context, actor domain.Actor, iterationID string) ([]registry.MadeVersion, error) {
	return view(ctx, db, actor, func(v *View) ([]registry.MadeVersion, error) { return v.Models.IterationVersions(iterationID) })
}

// ModelStates is View.ModelStates.
func (db *DB) ModelStates(ctx context.Context, actor domain.Actor, projectID string) (map[string]registry.ModelState, error) {
	return view(ctx, db, actor, func(v *View) (map[string]registry.ModelState, error) { return v.Models.ModelStates(projectID) })
}

// Rights is View.Rights.
func (db *DB) Rights(ctx context.Context, actor domain.Actor, projectID string) (domain.Permission, error) {
	return view(ctx, db, actor, func(v *View) (domain.Permission, error) { return v.Users.Rights(projectID) })
}

// UnknownNames is View.UnknownNames.
func (db *DB) UnknownNames(ctx context.Context, actor domain.Actor, experimentID, where string) ([]search.Unknown, error) {
	return view(ctx, db, actor, func(v *View) ([]search.Unknown, error) { return v.Runs.UnknownNames(experimentID, where) })
}

// IterationIDs is View.IterationIDs.
func (db *DB) IterationIDs(ctx context.Context, actor domain.Actor, experimentID string, q runs.IterationQuery) ([]string, error) {
	return view(ctx, db, actor, func(v *View) ([]string, error) { return v.Runs.IterationIDs(experimentID, q) })
}
