package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/crypto/bcrypt"

	"tracker/store/sqlite"
)

// DefaultUsername names the admin that every database has. It can be neither
// demoted nor deleted, and is the actor when authentication is off.
const DefaultUsername = "default"

// Actor is the user on whose behalf a method acts.
type Actor struct {
	UserID string
	system bool
}

// System is the actor of the command line. It may do everything, because a person
// who can write the file can, too.
var System = Actor{system: true}

// User is an account.
type User struct {
	ID          string `json:"id" db:"id"`
	Username    string `json:"username" db:"username"`
	FirstName   string `json:"first_name" db:"first_name"`
	LastName    string `json:"last_name" db:"last_name"`
	IsAdmin     bool   `json:"is_admin" db:"is_admin"`
	CreatedDate Time   `json:"created_date" db:"created_date"`
	// PasswordChanged is when the password was last changed, 0 for never.
	PasswordChanged Time `json:"-" db:"password_changed"`
}

// NewUser holds the arguments of CreateUser.
type NewUser struct {
	Username  string `json:"username"`
	Password  string `json:"password"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	IsAdmin   bool   `json:"is_admin"`
}

// UserPatch holds the fields that UpdateUser sets; nil leaves a field as it is.
type UserPatch struct {
	FirstName *string `json:"first_name"`
	LastName  *string `json:"last_name"`
	Password  *string `json:"password"`
	IsAdmin   *bool   `json:"is_admin"`
	Before    Before  `json:"-"`
}

const userColumns = `
	user.id,
	user.username,
	user.first_name,
	user.last_name,
	user.is_admin,
	user.created_date,
	user.password_changed`

// SignIn returns the user with this name and password, or
// INVALID_CREDENTIALS. It takes the same time for an unknown name.
func (db *DB) SignIn(ctx context.Context, username, password string) (User, error) {
	type account struct {
		User
		PasswordHash string `db:"password_hash"`
	}
	a, err := readShort(ctx, db, func(tx *tx) (a account, err error) {
		err = tx.Get(&a, `SELECT `+userColumns+`, user.password_hash FROM user WHERE username = ?`, username)
		return a, err
	})
	known := err == nil
	if errors.Is(err, sql.ErrNoRows) {
		a.PasswordHash = dummyHash(db.opts.BcryptCost)
	} else if err != nil {
		return User{}, err
	}
	// bcrypt reads MaxPassword bytes only; a longer password is never right.
	matches := bcrypt.CompareHashAndPassword([]byte(a.PasswordHash), []byte(password)) == nil
	if !known || !matches || len(password) > MaxPassword {
		return User{}, Errorf(CodeInvalidCredentials, "The user name or the password is wrong.")
	}
	return a.User, nil
}

// dummyHash returns a bcrypt hash of this cost that no password is known for. The
// password of an unknown user is compared with it, so that the answer takes as
// long as for a known user.
func dummyHash(cost int) string {
	return fmt.Sprintf("$2a$%02d$LB1dwzP/A8Ni80WifSbTpeSngtp25MsGVynFYOrc56LnGQxOcqrae", cost)
}

// Authenticate returns the user that an actor stands for, or ACTOR_GONE when
// there is none any more.
func (db *DB) Authenticate(ctx context.Context, actor Actor) (User, error) {
	return readShort(ctx, db, func(tx *tx) (User, error) { return tx.user(actor) })
}

// DefaultUser returns the seeded admin; NOT_FOUND before Seed.
func (db *DB) DefaultUser(ctx context.Context) (User, error) {
	return db.UserByName(ctx, System, DefaultUsername)
}

// Seed creates the default admin unless there is one, with the password or, when
// that is "", with a random one that it returns.
func (db *DB) Seed(ctx context.Context, password string) (generated string, err error) {
	if _, err := db.DefaultUser(ctx); err == nil || AsError(err).Code != CodeNotFound {
		return "", err
	}
	if password == "" {
		if generated, err = randomPassword(); err != nil {
			return "", err
		}
		password = generated
	}
	_, err = db.CreateUser(ctx, System, NewUser{Username: DefaultUsername, Password: password, IsAdmin: true})
	if err != nil && AsError(err).Code == CodeConflict {
		return "", nil // another process has made it meanwhile
	}
	return generated, err
}

// Users lists the accounts by name. For admins.
func (v *View) Users(p Page) (List[User], error) {
	if err := v.tx.admin(v.actor); err != nil {
		return List[User]{}, err
	}
	return list[User](v.tx, p, userColumns, `FROM user`, `username`)
}

// Users is View.Users.
func (db *DB) Users(ctx context.Context, actor Actor, p Page) (List[User], error) {
	return view(ctx, db, actor, func(v *View) (List[User], error) { return v.Users(p) })
}

// User returns one account. For that user and admins.
func (v *View) User(id string) (u User, err error) {
	if err := v.tx.sameUser(v.actor, id); err != nil {
		return u, err
	}
	err = v.tx.Get(&u, `SELECT `+userColumns+` FROM user WHERE id = ?`, id)
	return u, orNotFound(err, "user")
}

// User is View.User.
func (db *DB) User(ctx context.Context, actor Actor, id string) (User, error) {
	return view(ctx, db, actor, func(v *View) (User, error) { return v.User(id) })
}

// UserByName returns one account. For admins.
func (db *DB) UserByName(ctx context.Context, actor Actor, username string) (User, error) {
	return readShort(ctx, db, func(tx *tx) (u User, err error) {
		if err := tx.admin(actor); err != nil {
			return u, err
		}
		err = tx.Get(&u, `SELECT `+userColumns+` FROM user WHERE username = ?`, username)
		return u, orNotFound(err, "user")
	})
}

// CreateUser makes an account; CONFLICT when the name is taken. For admins.
func (db *DB) CreateUser(ctx context.Context, actor Actor, n NewUser) (Created, error) {
	err := firstError(
		checkName("username", n.Username),
		checkPassword(n.Password),
		checkShort("first_name", n.FirstName),
		checkShort("last_name", n.LastName))
	if err != nil {
		return Created{}, err
	}
	// Hashing is expensive, so the right is checked first. The writer checks it again.
	if err := db.ask(ctx, func(tx *tx) error { return tx.admin(actor) }); err != nil {
		return Created{}, err
	}
	hash, err := db.hashPassword(ctx, n.Password)
	if err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		if err := tx.admin(actor); err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.Exec(`INSERT INTO user
			(id, username, password_hash, first_name, last_name, is_admin, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			id, n.Username, hash, n.FirstName, n.LastName, n.IsAdmin, tx.now)
		if sqlite.IsDuplicate(err) {
			return Created{}, &Error{Code: CodeConflict, Field: "username",
				Message: "This user name is taken; choose another one."}
		}
		return Created{ID: id}, err
	})
}

// hashing bounds how many passwords are hashed at once, so that half of the
// processors are left for other work.
var hashing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// hashPassword is done outside of the writer: it takes tens of milliseconds.
func (db *DB) hashPassword(ctx context.Context, password string) (string, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	h, err := bcrypt.GenerateFromPassword([]byte(password), db.opts.BcryptCost)
	return string(h), err
}

// UpdateUser changes an account. For that user and admins; is_admin only for
// admins, and never to false on the default user.
func (db *DB) UpdateUser(ctx context.Context, actor Actor, id string, p UserPatch) error {
	if err := db.ask(ctx, func(tx *tx) error { return tx.sameUser(actor, id) }); err != nil {
		return err
	}
	var hash *string
	if p.Password != nil {
		if err := checkPassword(*p.Password); err != nil {
			return err
		}
		h, err := db.hashPassword(ctx, *p.Password)
		if err != nil {
			return err
		}
		hash = &h
	}
	if p.FirstName != nil {
		if err := checkShort("first_name", *p.FirstName); err != nil {
			return err
		}
	}
	if p.LastName != nil {
		if err := checkShort("last_name", *p.LastName); err != nil {
			return err
		}
	}
	return change(ctx, db, actor, func(tx *tx) error {
		if p.IsAdmin != nil {
			if err := tx.admin(actor); err != nil {
				return err
			}
		}
		if err := tx.sameUser(actor, id); err != nil {
			return err
		}
		if p.IsAdmin != nil && !*p.IsAdmin {
			if err := tx.notDefault(id, "demoted"); err != nil {
				return err
			}
		}
		if err := tx.refuseIfOverwritten(p.Before, "user", id, map[string]*string{"first_name": p.FirstName, "last_name": p.LastName}); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE user SET
				first_name    = coalesce(?, first_name),
				last_name     = coalesce(?, last_name),
				password_hash = coalesce(?, password_hash),
				password_changed = iif(? IS NULL, password_changed, ?),
				is_admin      = coalesce(?, is_admin)
			WHERE id = ?`, p.FirstName, p.LastName, hash, hash, tx.now, p.IsAdmin, id)
		return changedOne(n, err, "user")
	})
}

// DeleteUser removes an account and its permissions; what the user has logged
// stays. For that user and admins; never the default user.
func (db *DB) DeleteUser(ctx context.Context, actor Actor, id string) error {
	return remove(ctx, db, actor, func(tx *tx) error {
		if err := tx.sameUser(actor, id); err != nil {
			return err
		}
		if err := tx.notDefault(id, "deleted"); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM user WHERE id = ?`, id)
		return changedOne(n, err, "user")
	})
}

// changedOne turns a statement that found no row into NOT_FOUND.
func changedOne(n int64, err error, what string) error {
	if err == nil && n == 0 {
		return notFound(what)
	}
	return err
}

// user returns the account of actor. That of System is an admin without an id.
func (tx *tx) user(actor Actor) (u User, err error) {
	if actor.system {
		return User{IsAdmin: true}, nil
	}
	err = tx.Get(&u, `SELECT `+userColumns+` FROM user WHERE id = ?`, actor.UserID)
	if errors.Is(err, sql.ErrNoRows) {
		err = errGone
	}
	return u, err
}

var errGone = Errorf(CodeActorGone, "This account does not exist any more.")

func (tx *tx) admin(actor Actor) error {
	u, err := tx.user(actor)
	if err == nil && !u.IsAdmin {
		err = Errorf(CodeAdminRequired, "Only an admin may do this.")
	}
	return err
}

func (tx *tx) sameUser(actor Actor, id string) error {
	u, err := tx.user(actor)
	if err == nil && !u.IsAdmin && u.ID != id {
		err = Errorf(CodeSameUserRequired, "Only this user or an admin may do this.")
	}
	return err
}

func (tx *tx) notDefault(id, what string) error {
	var name string
	err := tx.Row(`SELECT username FROM user WHERE id = ?`, id).Scan(&name)
	if err == nil && name == DefaultUsername {
		return Errorf(CodeDefaultUserProtected, "The default user can't be %s.", what)
	}
	return orNotFound(err, "user")
}
