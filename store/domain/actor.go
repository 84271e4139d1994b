package domain

import (
	"database/sql"
	"errors"

	"tracker/store/scalar"
)

// Actor is the user who calls a method.
type Actor struct {
	UserID string
	Key    string // name of the API key that the user authenticated with, or ""
	Scope  Scope  // limits of the API key; the zero value without a key
	// Anonymous is set if sign-in is off. The actor then has the rights of UserID, but records do not
	// name UserID as their creator.
	Anonymous bool

	system bool
}

// System is the actor of the command line. System has all rights, because a command line user
// can write the database file anyway.
var System = Actor{system: true}

// Creator identifies the account that created a record. It holds names, so that it remains when
// the account or the API key is deleted. Both names are nil if the creator is unknown.
type Creator struct {
	CreatedBy  *string `json:"created_by" db:"created_by"`   // user name
	CreatedKey *string `json:"created_key" db:"created_key"` // name of the API key; nil if none was used
}

// CreatorValues is the SQL for the columns created_by and created_key of a new record. Its two
// parameters are CreatorID and Key of the actor.
const CreatorValues = `(SELECT username FROM user WHERE id = ?), nullif(?, '')`

// CreatorID returns the id of the account that new records name as their creator. It returns "" if
// they name no account.
func (a Actor) CreatorID() string {
	if a.Anonymous {
		return ""
	}
	return a.UserID
}

// IsSystem reports whether a is System.
func (a Actor) IsSystem() bool { return a.system }

// User is a user account.
type User struct {
	ID          string      `json:"id" db:"id"`
	Username    string      `json:"username" db:"username"`
	FirstName   string      `json:"first_name" db:"first_name"`
	LastName    string      `json:"last_name" db:"last_name"`
	IsAdmin     bool        `json:"is_admin" db:"is_admin"`
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	// PasswordChanged is the time of the last password change, or 0 if there was none.
	PasswordChanged scalar.Time `json:"-" db:"password_changed"`

	Key       string `json:"-" db:"key"`    // name of the API key that the user authenticated with, or ""
	KeyID     string `json:"-" db:"key_id"` // id of this API key
	Scope     Scope  `json:"-" db:"-"`      // limits of this API key
	Anonymous bool   `json:"-" db:"-"`      // set if sign-in is off
}

// Actor returns the user as an actor.
func (u User) Actor() Actor {
	return Actor{UserID: u.ID, Key: u.Key, Scope: u.Scope, Anonymous: u.Anonymous}
}

// UserColumns lists the columns that are scanned into a User.
const UserColumns = `
	user.id,
	user.username,
	user.first_name,
	user.last_name,
	user.is_admin,
	user.created_date,
	user.password_changed`

// User returns the account of actor. For System, User returns an admin without an id. The account is
// not an admin if the actor uses a limited API key. User returns ACTOR_GONE if the account no longer
// exists.
func (tx *Tx) User(actor Actor) (User, error) {
	u, err := tx.account(actor)
	u.IsAdmin = u.IsAdmin && !actor.Scope.Limited()
	return u, err
}

// account is User without regard to the API key.
func (tx *Tx) account(actor Actor) (u User, err error) {
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

// Admin returns ADMIN_REQUIRED if actor is not an admin.
func (tx *Tx) Admin(actor Actor) error {
	u, err := tx.account(actor)
	switch {
	case err != nil:
		return err
	case !u.IsAdmin:
		return Errorf(CodeAdminRequired, "Only an admin may do this.")
	case actor.Scope.Limited():
		return Errorf(CodeAdminRequired, "%s", actor.limit())
	}
	return nil
}

// SameUser returns SAME_USER_REQUIRED if actor is neither an admin nor the user with the given
// id. An actor with a limited API key can change no account. With a key that may only read, it can
// read its own account.
func (tx *Tx) SameUser(actor Actor, id string) error {
	u, err := tx.User(actor)
	switch {
	case err != nil || u.IsAdmin:
		return err
	case u.ID != id:
		return Errorf(CodeSameUserRequired, "Only this user or an admin may do this.")
	case actor.Scope.Limited() && (tx.Writer() || actor.Scope != Scope{Only: ScopeRead}):
		return Errorf(CodeSameUserRequired, "%s", actor.limit())
	}
	return nil
}
