// Package users stores user accounts with their passwords, API keys and permissions.
//
// SignIn and UserOfAPIKey return the account of a caller. Seed creates the default account.
// Permissions grant rights in projects. An admin has all rights in all projects.
package users

import (
	"context"

	"tracker/store/domain"
)

// DB reads and writes accounts. Its methods run their own transactions.
type DB struct {
	base *domain.DB
}

// New returns a DB for the accounts in base.
func New(base *domain.DB) *DB { return &DB{base} }

// View reads accounts in one transaction. It checks the rights of the actor tx.Actor.
type View struct{ tx *domain.Tx }

// In returns a View of the accounts that are visible in tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view calls fn with a View of a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
