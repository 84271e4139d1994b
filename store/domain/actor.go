package domain

import (
	"database/sql"
	"errors"

	"tracker/store/scalar"
)

// Actor is the user on whose behalf a method acts.
type Actor struct {
	UserID string
	system bool
}

// System is the actor of the command line. It may do everything, because a person
// who can write the file can, too.
var System = Actor{system: true}

// IsSystem reports whether the actor is System.
func (a Actor) IsSystem() bool { return a.system }

// User is an account.
type User struct {
	ID          string      `json:"id" db:"id"`
	Username    string      `json:"username" db:"username"`
	FirstName   string      `json:"first_name" db:"first_name"`
	LastName    string      `json:"last_name" db:"last_name"`
	IsAdmin     bool        `json:"is_admin" db:"is_admin"`
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	// PasswordChanged is when the password was last changed, 0 for never.
	PasswordChanged scalar.Time `json:"-" db:"password_changed"`
}

// UserColumns are the columns of a User.
const UserColumns = `
	user.id,
	user.username,
	user.first_name,
	user.last_name,
	user.is_admin,
	user.created_date,
	user.password_changed`

// User returns the account of actor. That of System is an admin without an id.
func (tx *Tx) User(actor Actor) (u User, err error) {
	if actor.system {
		return User{IsAdmin: true}, nil
	}
	err = tx.Get(&u, `SELECT `+UserColumns+` FROM user WHERE id = ?`, actor.UserID)
	if errors.Is(err, sql.ErrNoRows) {
		err = errGone
	}
	return u, err
}

var errGone = Errorf(CodeActorGone, "This account does not exist any more.")

// Admin fails unless actor is an admin.
func (tx *Tx) Admin(actor Actor) error {
	u, err := tx.User(actor)
	if err == nil && !u.IsAdmin {
		err = Errorf(CodeAdminRequired, "Only an admin may do this.")
	}
	return err
}

// SameUser fails unless actor is the user with this id, or an admin.
func (tx *Tx) SameUser(actor Actor, id string) error {
	u, err := tx.User(actor)
	if err == nil && !u.IsAdmin && u.ID != id {
		err = Errorf(CodeSameUserRequired, "Only this user or an admin may do this.")
	}
	return err
}
