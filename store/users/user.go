package users

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"tracker/store/domain"
	"tracker/store/sqlite"
)

// DefaultUsername is the name of the default user, an admin in every database. The default user
// can't be demoted or deleted. It is the actor if authentication is off.
const DefaultUsername = "default"

// NewUser holds the arguments of CreateUser.
type NewUser struct {
	Username  string `json:"username"`
	Password  string `json:"password"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	IsAdmin   bool   `json:"is_admin"`
}

// UserPatch holds the fields that UpdateUser sets. A nil field is not changed.
type UserPatch struct {
	FirstName *string       `json:"first_name"`
	LastName  *string       `json:"last_name"`
	Password  *string       `json:"password"`
	IsAdmin   *bool         `json:"is_admin"`
	Before    domain.Before `json:"-"`
}

// SignIn returns the user with the given name and password. It returns INVALID_CREDENTIALS if
// the name or the password is wrong. A wrong name takes the same time as a wrong password.
func (db *DB) SignIn(ctx context.Context, username, password string) (domain.User, error) {
	type account struct {
		domain.User
		PasswordHash string `db:"password_hash"`
	}
	a, err := domain.ReadShort(ctx, db.base, func(tx *domain.Tx) (a account, err error) {
		err = tx.Get(&a, `SELECT `+domain.UserColumns+`, user.password_hash FROM user WHERE username = ?`, username)
		return a, err
	})
	known := err == nil
	if !known && !errors.Is(err, sql.ErrNoRows) {
		return domain.User{}, err
	}
	if a.PasswordHash == "" { // unknown name, or account without a password
		a.PasswordHash = dummyHash(db.base.Options.BcryptCost)
	}
	// bcrypt reads only MaxPassword bytes. A longer password is always wrong.
	matches := bcrypt.CompareHashAndPassword([]byte(a.PasswordHash), []byte(password)) == nil
	if !known || !matches || len(password) > domain.MaxPassword {
		return domain.User{}, domain.Errorf(domain.CodeInvalidCredentials, "The user name or the password is wrong.")
	}
	return a.User, nil
}

// dummyHash returns a bcrypt hash with the given cost that matches no known password. SignIn uses
// it for unknown users, so that it takes as long as for a known user.
func dummyHash(cost int) string {
	return fmt.Sprintf("$2a$%02d$LB1dwzP/A8Ni80WifSbTpeSngtp25MsGVynFYOrc56LnGQxOcqrae", cost)
}

// Authenticate returns the user of actor. It returns ACTOR_GONE if the account was deleted.
func (db *DB) Authenticate(ctx context.Context, actor domain.Actor) (domain.User, error) {
	return domain.ReadShort(ctx, db.base, func(tx *domain.Tx) (domain.User, error) { return tx.User(actor) })
}

// DefaultUser returns the default user. It returns NOT_FOUND before Seed has run.
func (db *DB) DefaultUser(ctx context.Context) (domain.User, error) {
	return db.UserByName(ctx, domain.System, DefaultUsername)
}

// Seed creates the default user if it does not exist. If the user has no password, Seed sets
// the given password. If the given password is "", Seed sets a random password and returns it.
func (db *DB) Seed(ctx context.Context, password string) (generated string, err error) {
	if err := db.SeedWithoutPassword(ctx); err != nil {
		return "", err
	}
	missing, err := domain.ReadShort(ctx, db.base, func(tx *domain.Tx) (missing bool, err error) {
		err = tx.Get(&missing, `SELECT password_hash = '' FROM user WHERE username = ?`, DefaultUsername)
		return missing, err
	})
	if err != nil || !missing {
		return "", err
	}
	if password == "" {
		if generated, err = randomPassword(); err != nil {
			return "", err
		}
		password = generated
	}
	if err := checkPassword(password); err != nil {
		return "", err
	}
	hash, err := db.hashPassword(ctx, password)
	if err != nil {
		return "", err
	}
	err = domain.Change(ctx, db.base, domain.System, func(tx *domain.Tx) error {
		// Tokens issued before this can still be refreshed, because password_changed is not set
		// for the first password.
		n, err := tx.Exec(`UPDATE user SET password_hash = ? WHERE username = ? AND password_hash = ''`, hash, DefaultUsername)
		if n == 0 {
			generated = "" // another process has set a password
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return generated, nil
}

// SeedWithoutPassword creates the default user if it does not exist. The user can't sign in
// before Seed or UpdateUser sets a password.
func (db *DB) SeedWithoutPassword(ctx context.Context) error {
	if _, err := db.DefaultUser(ctx); err == nil || domain.AsError(err).Code != domain.CodeNotFound {
		return err
	}
	_, err := db.insertUser(ctx, domain.System, NewUser{Username: DefaultUsername, IsAdmin: true}, "")
	if err != nil && domain.AsError(err).Code == domain.CodeConflict {
		return nil // another process has created the default user
	}
	return err
}

// Users returns all accounts, sorted by user name. The actor must be an admin.
func (v *View) Users(p domain.Page) (domain.List[domain.User], error) {
	if err := v.tx.Admin(v.tx.Actor); err != nil {
		return domain.List[domain.User]{}, err
	}
	return domain.PageOf[domain.User](v.tx, p, domain.UserColumns, `FROM user`, `username`)
}

// Users calls View.Users on a new snapshot.
func (db *DB) Users(ctx context.Context, actor domain.Actor, p domain.Page) (domain.List[domain.User], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[domain.User], error) { return v.Users(p) })
}

// User returns the account with the given id. The actor must be the user or an admin.
func (v *View) User(id string) (u domain.User, err error) {
	if err := v.tx.SameUser(v.tx.Actor, id); err != nil {
		return u, err
	}
	err = v.tx.Get(&u, `SELECT `+domain.UserColumns+` FROM user WHERE id = ?`, id)
	return u, domain.OrNotFound(err, "user")
}

// User calls View.User on a new snapshot.
func (db *DB) User(ctx context.Context, actor domain.Actor, id string) (domain.User, error) {
	return view(ctx, db, actor, func(v *View) (domain.User, error) { return v.User(id) })
}

// UserByName returns the account with the given user name. The actor must be an admin.
func (db *DB) UserByName(ctx context.Context, actor domain.Actor, username string) (domain.User, error) {
	return domain.ReadShort(ctx, db.base, func(tx *domain.Tx) (u domain.User, err error) {
		if err := tx.Admin(actor); err != nil {
			return u, err
		}
		err = tx.Get(&u, `SELECT `+domain.UserColumns+` FROM user WHERE username = ?`, username)
		return u, domain.OrNotFound(err, "user")
	})
}

// CreateUser creates an account. It returns CONFLICT if the user name is taken. The actor must
// be an admin.
func (db *DB) CreateUser(ctx context.Context, actor domain.Actor, n NewUser) (domain.Created, error) {
	err := domain.FirstError(
		domain.CheckName("username", n.Username),
		checkPassword(n.Password),
		domain.CheckShort("first_name", n.FirstName),
		domain.CheckShort("last_name", n.LastName))
	if err != nil {
		return domain.Created{}, err
	}
	// Check the right first, because hashing is expensive. The writer checks the right again.
	if err := db.base.Ask(ctx, func(tx *domain.Tx) error { return tx.Admin(actor) }); err != nil {
		return domain.Created{}, err
	}
	hash, err := db.hashPassword(ctx, n.Password)
	if err != nil {
		return domain.Created{}, err
	}
	return db.insertUser(ctx, actor, n, hash)
}

func (db *DB) insertUser(ctx context.Context, actor domain.Actor, n NewUser, hash string) (domain.Created, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		if err := tx.Admin(actor); err != nil {
			return domain.Created{}, err
		}
		id := domain.NewID()
		_, err := tx.Exec(`INSERT INTO user
			(id, username, password_hash, first_name, last_name, is_admin, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			id, n.Username, hash, n.FirstName, n.LastName, n.IsAdmin, tx.Now)
		if sqlite.IsDuplicate(err) {
			return domain.Created{}, &domain.Error{Code: domain.CodeConflict, Field: "username",
				Message: "This user name is taken; choose another one."}
		}
		if err == nil {
			err = tx.Audit(domain.Event{Action: domain.ActionCreate, Kind: domain.AuditUser, ID: id, Name: n.Username, Detail: adminDetail(n.IsAdmin)})
		}
		return domain.Created{ID: id}, err
	})
}

// adminDetail returns the text in the audit trail about the rights of an account.
func adminDetail(isAdmin bool) string {
	if isAdmin {
		return "admin"
	}
	return ""
}

// hashing limits the number of concurrent password hashes, so that half of the processors stay
// free.
var hashing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// hashPassword returns the bcrypt hash of password. It takes tens of milliseconds, so callers
// must not call it in the writer.
func (db *DB) hashPassword(ctx context.Context, password string) (string, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	h, err := bcrypt.GenerateFromPassword([]byte(password), db.base.Options.BcryptCost)
	return string(h), err
}

// UpdateUser changes an account. The actor must be the user or an admin. Only an admin may change
// IsAdmin. The default user always remains an admin.
func (db *DB) UpdateUser(ctx context.Context, actor domain.Actor, id string, p UserPatch) error {
	if err := db.base.Ask(ctx, func(tx *domain.Tx) error { return tx.SameUser(actor, id) }); err != nil {
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
		if err := domain.CheckShort("first_name", *p.FirstName); err != nil {
			return err
		}
	}
	if p.LastName != nil {
		if err := domain.CheckShort("last_name", *p.LastName); err != nil {
			return err
		}
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if p.IsAdmin != nil {
			if err := tx.Admin(actor); err != nil {
				return err
			}
		}
		if err := tx.SameUser(actor, id); err != nil {
			return err
		}
		if p.IsAdmin != nil && !*p.IsAdmin {
			if err := notDefault(tx, id, "demoted"); err != nil {
				return err
			}
		}
		if err := tx.RefuseIfOverwritten(p.Before, "user", id, map[string]*string{"first_name": p.FirstName, "last_name": p.LastName}); err != nil {
			return err
		}
		var before domain.User
		if err := tx.Get(&before, `SELECT `+domain.UserColumns+` FROM user WHERE id = ?`, id); err != nil {
			return domain.OrNotFound(err, "user")
		}
		_, err := tx.Exec(`UPDATE user SET
				first_name    = coalesce(?, first_name),
				last_name     = coalesce(?, last_name),
				password_hash = coalesce(?, password_hash),
				password_changed = iif(? IS NULL, password_changed, ?),
				is_admin      = coalesce(?, is_admin)
			WHERE id = ?`, p.FirstName, p.LastName, hash, hash, tx.Now, p.IsAdmin, id)
		changes := p.changes(before)
		if err != nil || changes == "" {
			return err
		}
		return tx.Audit(domain.Event{Action: domain.ActionUpdate, Kind: domain.AuditUser, ID: id, Name: before.Username, Detail: changes})
	})
}

// changes returns the names of the fields that the patch changes, for the audit trail.
func (p UserPatch) changes(before domain.User) string {
	var all []string
	if p.Password != nil {
		all = append(all, "password")
	}
	if p.FirstName != nil && *p.FirstName != before.FirstName || p.LastName != nil && *p.LastName != before.LastName {
		all = append(all, "name")
	}
	if p.IsAdmin != nil && *p.IsAdmin != before.IsAdmin {
		all = append(all, map[bool]string{true: "admin", false: "not admin"}[*p.IsAdmin])
	}
	return strings.Join(all, ", ")
}

// DeleteUser deletes an account and its permissions, but not the records that the user created.
// The default user can't be deleted. The actor must be the user or an admin.
func (db *DB) DeleteUser(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := tx.SameUser(actor, id); err != nil {
			return err
		}
		if err := notDefault(tx, id, "deleted"); err != nil {
			return err
		}
		e := domain.Event{Action: domain.ActionDelete, Kind: domain.AuditUser, ID: id}
		if err := tx.Row(`SELECT username FROM user WHERE id = ?`, id).Scan(&e.Name); err != nil {
			return domain.OrNotFound(err, "user")
		}
		if err := tx.Audit(e); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM user WHERE id = ?`, id)
		return domain.ChangedOne(n, err, "user")
	})
}

func notDefault(tx *domain.Tx, id, what string) error {
	var name string
	err := tx.Row(`SELECT username FROM user WHERE id = ?`, id).Scan(&name)
	if err == nil && name == DefaultUsername {
		return domain.Errorf(domain.CodeDefaultUserProtected, "The default user can't be %s.", what)
	}
	return domain.OrNotFound(err, "user")
}

func checkPassword(s string) error {
	if len(s) < domain.MinPassword || len(s) > domain.MaxPassword {
		return domain.Invalid("password", "password must have %d to %d bytes, not %d.", domain.MinPassword, domain.MaxPassword, len(s))
	}
	return nil
}

// randomPassword returns 20 random characters that are easy to read aloud, about 99 bits.
func randomPassword() (string, error) {
	const letters = "abcdefghjkmnpqrstuvwxyz23456789"
	b := make([]byte, 20)
	for i := range b {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return "", err
		}
		b[i] = letters[n.Int64()]
	}
	return string(b), nil
}
