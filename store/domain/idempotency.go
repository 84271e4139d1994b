package domain

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"tracker/store/json"
	"tracker/store/scalar"
)

// idempotencyAge is how long an answer is kept for a repeated request.
const idempotencyAge = 24 * time.Hour

// IdempotencyKey makes a create safe to repeat. The same key of the same user
// on the same path gets the first answer; with another body it is refused.
type IdempotencyKey struct {
	Path     string // of the request
	Key      string // 1 to 128 visible ASCII characters
	BodyHash []byte // SHA-256 of the request's body
}

type idempotencyContext struct{}

// WithIdempotencyKey returns a context in which the next create is carried out
// once for k, however often it is called within 24 hours.
func WithIdempotencyKey(ctx context.Context, k IdempotencyKey) context.Context {
	return context.WithValue(ctx, idempotencyContext{}, k)
}

// KeyFrom returns the key that a context has, or the zero value.
func KeyFrom(ctx context.Context) (k IdempotencyKey) {
	k, _ = ctx.Value(idempotencyContext{}).(IdempotencyKey)
	return k
}

// once runs fn unless its answer to key is stored. The answer is written
// in the transaction that fn writes in, so there is never one without the other.
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
			"This Idempotency-Key was used for a request with another body; take a new key for each new request.")
	case err == nil:
		return out, json.Unmarshal([]byte(answer), &out)
	case !errors.Is(err, sql.ErrNoRows):
		return out, err
	}
	if out, err = fn(tx); err != nil {
		return out, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return out, err
	}
	_, err = tx.Exec(`INSERT INTO idempotency (user_id, path, key, body_hash, answer, created_date)
		VALUES (?, ?, ?, ?, ?, ?)`, user.ID, k.Path, k.Key, k.BodyHash, string(text), tx.Now)
	return out, err
}

// Answered reports whether an answer to k is stored, for any body.
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
