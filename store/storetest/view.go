package storetest

import (
	"context"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/search"
)

// view calls fn with a View of a new snapshot and returns its result.
func view[T any](ctx context.Context, db *store.DB, actor domain.Actor, fn func(*store.View) (T, error)) (out T, err error) {
	err = db.View(ctx, actor, func(v *store.View) error {
		out, err = fn(v)
		return err
	})
	return out, err
}

// Groups calls View.Runs.Groups on a new snapshot.
func Groups(ctx context.Context, db *store.DB, actor domain.Actor, experimentID string, q runs.GroupQuery) (domain.List[search.Group], error) {
	return view(ctx, db, actor, func(v *store.View) (domain.List[search.Group], error) { return v.Runs.Groups(experimentID, q) })
}

// IterationsDeletion calls View.Runs.IterationsDeletion on a new snapshot.
func IterationsDeletion(ctx context.Context, db *store.DB, actor domain.Actor, ids []string) (runs.Deletion, error) {
	return view(ctx, db, actor, func(v *store.View) (runs.Deletion, error) { return v.Runs.IterationsDeletion(ids) })
}

// VaryingParams calls View.Runs.VaryingParams on a new snapshot.
func VaryingParams(ctx context.Context, db *store.DB, actor domain.Actor, experimentID string, newest int) ([]string, error) {
	return view(ctx, db, actor, func(v *store.View) ([]string, error) { return v.Runs.VaryingParams(experimentID, newest) })
}

// ArtifactVersions calls View.Models.ArtifactVersions on a new snapshot.
func ArtifactVersions(ctx context.Context, db *store.DB, actor domain.Actor, resourceID string) ([]registry.MadeVersion, error) {
	return view(ctx, db, actor, func(v *store.View) ([]registry.MadeVersion, error) { return v.Models.ArtifactVersions(resourceID) })
}

// IterationVersions calls View.Models.IterationVersions on a new snapshot.
func IterationVersions(ctx context.Context, db *store.DB, actor domain.Actor, iterationID string) ([]registry.MadeVersion, error) {
	return view(ctx, db, actor, func(v *store.View) ([]registry.MadeVersion, error) { return v.Models.IterationVersions(iterationID) })
}

// ModelStates calls View.Models.ModelStates on a new snapshot.
func ModelStates(ctx context.Context, db *store.DB, actor domain.Actor, projectID string) (map[string]registry.ModelState, error) {
	return view(ctx, db, actor, func(v *store.View) (map[string]registry.ModelState, error) { return v.Models.ModelStates(projectID) })
}

// Rights calls View.Users.Rights on a new snapshot.
func Rights(ctx context.Context, db *store.DB, actor domain.Actor, projectID string) (domain.Permission, error) {
	return view(ctx, db, actor, func(v *store.View) (domain.Permission, error) { return v.Users.Rights(projectID) })
}

// UnknownNames calls View.Runs.UnknownNames on a new snapshot.
func UnknownNames(ctx context.Context, db *store.DB, actor domain.Actor, experimentID, where string) ([]search.Unknown, error) {
	return view(ctx, db, actor, func(v *store.View) ([]search.Unknown, error) { return v.Runs.UnknownNames(experimentID, where) })
}

// IterationIDs calls View.Runs.IterationIDs on a new snapshot.
func IterationIDs(ctx context.Context, db *store.DB, actor domain.Actor, experimentID string, q runs.IterationQuery) ([]string, error) {
	return view(ctx, db, actor, func(v *store.View) ([]string, error) { return v.Runs.IterationIDs(experimentID, q) })
}
