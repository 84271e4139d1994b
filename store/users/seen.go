package users

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// Seen returns the time up to which the actor has seen the ended runs, or 0 if the actor never
// called MarkSeen.
func (v *View) Seen() (at scalar.Time, err error) {
	if _, err := v.tx.User(v.tx.Actor); err != nil || v.tx.Actor.IsSystem() {
		return 0, err
	}
	err = v.tx.Row(`SELECT seen_date FROM user WHERE id = ?`, v.tx.Actor.UserID).Scan(&at)
	return at, err
}

// MarkSeen records that the actor has seen the ended runs up to a time, which is usually the time
// of the page that showed them. A time in the future counts as now. The recorded time never
// decreases.
func (db *DB) MarkSeen(ctx context.Context, actor domain.Actor, until scalar.Time) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if _, err := tx.User(actor); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE user SET seen_date = max(seen_date, ?) WHERE id = ?`, min(until, tx.Now), actor.UserID)
		return err
	})
}
