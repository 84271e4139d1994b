package archive

import (
	"context"
	"io"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/record"
	"tracker/store/scalar"
)

// target implements record.Target for a database and an actor.
type target struct {
	base  *domain.DB
	files *files.DB // nil for the database of an archive, from which nothing is discarded
	actor domain.Actor
	// claim implements the method Claim.
	claim func(ctx context.Context, hash string, size int64) (use func(record.Tx) (int64, error), release func(), err error)
}

// Read calls fn with a read-only snapshot.
func (t target) Read(ctx context.Context, fn func(record.TargetTx) error) error {
	return t.base.Ask(ctx, func(tx *domain.Tx) error {
		tx.Actor = t.actor
		return fn(targetTx{tx})
	})
}

// Write calls fn with a write transaction.
func (t target) Write(ctx context.Context, fn func(record.TargetTx) error) error {
	return domain.Change(ctx, t.base, t.actor, func(tx *domain.Tx) error { return fn(targetTx{tx}) })
}

// Append calls fn with a write transaction. fn must only add points.
func (t target) Append(ctx context.Context, fn func(record.TargetTx) error) error {
	return domain.Append(ctx, t.base, t.actor, func(tx *domain.Tx) error { return fn(targetTx{tx}) })
}

// Claim stores the bytes of an artifact by calling t.claim.
func (t target) Claim(ctx context.Context, hash string, size int64) (func(record.Tx) (int64, error), func(), error) {
	return t.claim(ctx, hash, size)
}

// Discard moves an artifact to the trash. If a model version refers to the artifact, Discard does
// not move it and returns the reason as refused.
func (t target) Discard(ctx context.Context, id string) (refused string, err error) {
	err = t.files.DeleteArtifact(ctx, t.actor, id)
	if err != nil && domain.AsError(err).Code == domain.CodeConflict {
		return domain.AsError(err).Message, nil
	}
	return "", err
}

// targetTx is a transaction that receives copied records.
type targetTx struct{ *domain.Tx }

// Records returns the transaction as a record.Tx.
func (t targetTx) Records() record.Tx { return records(t.Tx) }

// Now returns the time of the transaction.
func (t targetTx) Now() scalar.Time { return t.Tx.Now }

// AllowCreate checks that the actor is allowed to add records to the given project. If projectID is
// "", AllowCreate checks only that the actor exists, because every user is allowed to create
// projects.
func (t targetTx) AllowCreate(projectID string) error {
	if projectID == "" {
		return t.AllowNewProject(t.Actor)
	}
	return t.Allow(t.Actor, projectID, domain.RightCreate)
}

// AllowUpdate checks that the actor is allowed to replace records of the given project.
func (t targetTx) AllowUpdate(projectID string) error {
	return t.Allow(t.Actor, projectID, domain.RightUpdate)
}

// Copied grants the actor all rights in the project that was copied.
func (t targetTx) Copied(ref record.Ref) error {
	if ref.Kind.Name != "project" || t.Actor.IsSystem() {
		return nil
	}
	there, err := t.Has(`SELECT 1 FROM user_permission WHERE user_id = ? AND project_id = ?`, t.Actor.UserID, ref.ID)
	if err != nil || there {
		return err
	}
	if admin, err := t.User(t.Actor); err != nil || admin.IsAdmin {
		return err
	}
	_, err = t.InsertPermission(domain.Permission{UserID: t.Actor.UserID, ProjectID: ref.ID, Create: true, Read: true, Update: true, Delete: true, Owner: true})
	return err
}

// received stores the bytes read from r. An import uses received as target.claim.
func (db *DB) received(ctx context.Context, r io.Reader, hash string) (use func(record.Tx) (int64, error), release func(), err error) {
	got, err := db.files.Receive(ctx, r, hash)
	if err != nil {
		return nil, nil, err
	}
	defer got.Discard()
	claim, err := got.Commit(ctx)
	if err != nil {
		return nil, nil, files.AsError(err)
	}
	use = func(tx record.Tx) (int64, error) {
		id, err := claim.Use(tx.Tx.Tx)
		return id, files.AsError(err)
	}
	return use, func() { claim.Release(ctx) }, nil
}
