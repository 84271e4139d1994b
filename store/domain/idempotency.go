package domain

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// idempotencyAge is how long the result of a request with an idempotency key is stored.
const idempotencyAge = 24 * time.Hour

// IdempotencyKey makes it safe to repeat a create request. A repeated request with the same key,
// user and path returns the result of the first request. If its body differs from the first body,
// it is rejected with INVALID_PAYLOAD.
type IdempotencyKey struct {
	Path     string // URL path of the request
	Key      string // 1 to 128 visible ASCII characters
	BodyHash []byte // SHA-256 of the request body
}

type idempotencyContext struct{}

// WithIdempotencyKey returns a context that makes a create idempotent for 24 hours. A repeated
// create with the same k writes nothing and returns the first result.
func WithIdempotencyKey(ctx context.Context, k IdempotencyKey) context.Context {
	return context.WithValue(ctx, idempotencyContext{}, k)
}

// KeyFrom returns the idempotency key of ctx, or the zero value.
func KeyFrom(ctx context.Context) (k IdempotencyKey) {
	k, _ = ctx.Value(idempotencyContext{}).(IdempotencyKey)
	return k
}

// once returns the stored result for k. If there is none, once runs fn and stores its result in
// the same transaction.
func once[T any](tx *Tx, k IdempotencyKey, fn func(*Tx) (T, error)) (T, error) {
	if k.Key == "" {
		return fn(tx)
	}
	var out T
	oldest := tx.Now - scalar.Time(idempotencyAge.Milliseconds())
	if _, err := tx.Exec(`DELETE FROM idempotency WHERE created_date <= ?`, oldest); err != nil {
		return out, err
	}
	user, err := tx.User(tx.Actor)
	if err != nil {
		return out, err
	}
	var hash []byte
	var answer string
	err = tx.Row(`SELECT body_hash, answer FROM idempotency WHERE user_id = ? AND path = ? AND key = ?`,
		user.ID, k.Path, k.Key).Scan(&hash, &answer)
	switch {
	case err == nil && !bytes.Equal(hash, k.BodyHash):
		return out, Invalid("Idempotency-Key",
			"This Idempotency-Key was used with a different request body; use a new key for each request.")
	case err == nil:
		return out, json.Unmarshal([]byte(answer), &out)
	case !errors.Is(err, sql.ErrNoRows):
		return out, err
	}
	if out, err = fn(tx); err != nil {
		return out, err
	}
	_, err = tx.Exec(`INSERT INTO idempotency (user_id, path, key, body_hash, answer, created_date)
		VALUES (?, ?, ?, ?, ?, ?)`, user.ID, k.Path, k.Key, k.BodyHash, sqlite.JSON(out), tx.Now)
	return out, err
}

// Answered reports whether a result for k is stored. It does not compare the request body.
func (tx *Tx) Answered(actor Actor, k IdempotencyKey) (found bool, err error) {
	if k.Key == "" {
		return false, nil
	}
	user, err := tx.User(actor)
	if err != nil {
		return false, err
	}
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM idempotency WHERE user_id = ? AND path = ? AND key = ?)`,
		user.ID, k.Path, k.Key).Scan(&found)
	return found, err
}
