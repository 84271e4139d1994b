package users

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strings"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// APIKey describes an API key of an account. The key has the account's rights, within its limits,
// until it expires or is revoked.
type APIKey struct {
	ID          string       `json:"id" db:"id"`
	Name        string       `json:"name" db:"name"`
	Scope       KeyScope     `json:"scope" db:"scope"`
	ProjectID   *string      `json:"project_id" db:"project_id"` // the only project of the key; nil for all projects
	Project     *string      `json:"project_name" db:"project_name"`
	CreatedDate scalar.Time  `json:"created_date" db:"created_date"`
	ExpiresDate *scalar.Time `json:"expires_date" db:"expires"` // nil if the key does not expire
	// UsedDate is the time of the last use, nil if the key was never used. It is at most usedEvery
	// late.
	UsedDate *scalar.Time `json:"used_date" db:"used_date"`
}

// KeyScope is the kind of use of an API key, as callers name it.
type KeyScope string

// These are the kinds of use.
const (
	KeyAll  KeyScope = "all"
	KeyRead KeyScope = "read" // only reading
	KeyLog  KeyScope = "log"  // only logging, see domain.ScopeLog
)

// NewAPIKey holds the arguments of CreateAPIKey.
type NewAPIKey struct {
	Name        string       `json:"name"`
	Scope       *KeyScope    `json:"scope"`        // nil means KeyAll
	ProjectID   *string      `json:"project_id"`   // the only project of the key; nil for all projects
	ExpiresDate *scalar.Time `json:"expires_date"` // nil if the key does not expire
}

// CreatedKey is a new API key.
type CreatedKey struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

const (
	apiKeyLength  = 40 // in characters; all W&B client releases accept this length
	apiKeyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// MaxAPIKeys is the maximum number of API keys of an account.
	MaxAPIKeys = 1000
)

// IsAPIKey reports whether s has the form of an API key. The key can have a prefix and a dash.
// Tokens contain dots, so they never have this form.
func IsAPIKey(s string) bool {
	key := withoutPrefix(s)
	return len(key) == apiKeyLength && strings.Trim(key, apiKeyLetters+"_") == "" && !strings.Contains(s, ".")
}

func withoutPrefix(s string) string { return s[strings.LastIndexByte(s, '-')+1:] }

func hashAPIKey(key string) []byte {
	// The key is random and has about as many bits as the hash, so a slow password hash would add
	// no security.
	sum := sha256.Sum256([]byte(withoutPrefix(key)))
	return sum[:]
}

// CreateAPIKey creates an API key for an account and returns the key. It stores only a hash, so
// the key can't be read again. It returns CONFLICT if the account has MaxAPIKeys keys. The
// actor must be the user or an admin. The account must be able to find the project of the key.
func (db *DB) CreateAPIKey(ctx context.Context, actor domain.Actor, userID string, n NewAPIKey) (CreatedKey, error) {
	if err := domain.CheckName("name", n.Name); err != nil {
		return CreatedKey{}, err
	}
	scope := domain.ScopeAll
	if n.Scope != nil && *n.Scope != KeyAll {
		if err := domain.OneOf("scope", *n.Scope, KeyAll, KeyRead, KeyLog); err != nil {
			return CreatedKey{}, err
		}
		scope = domain.ScopeKind(*n.Scope)
	}
	key, err := randomKey()
	if err != nil {
		return CreatedKey{}, err
	}
	id := domain.NewID()
	err = domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := tx.SameUser(actor, userID); err != nil {
			return err
		}
		if err := tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return err
		}
		var there int
		if err := tx.Row(`SELECT count(*) FROM api_key WHERE user_id = ?`, userID).Scan(&there); err != nil {
			return err
		}
		if there >= MaxAPIKeys {
			return domain.Errorf(domain.CodeConflict, "The account already has %d keys; revoke some of them first.", there)
		}
		if n.ExpiresDate != nil && *n.ExpiresDate <= tx.Now {
			return domain.Invalid("expires_date", "The key must expire in the future.")
		}
		if n.ProjectID != nil {
			if err := keyProject(tx, userID, *n.ProjectID); err != nil {
				return err
			}
		}
		_, err = tx.Exec(`INSERT INTO api_key (id, user_id, name, hash, created_date, only_use, project_id, expires)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, id, userID, n.Name, hashAPIKey(key), tx.Now, scope, n.ProjectID, n.ExpiresDate)
		if err != nil {
			return err
		}
		return auditKey(tx, domain.ActionCreate, id)
	})
	if err != nil {
		return CreatedKey{}, err
	}
	return CreatedKey{id, key}, nil
}

// keyProject returns INVALID_PAYLOAD if an account can't find the project of its new key.
func keyProject(tx *domain.Tx, userID, projectID string) error {
	err := tx.AllowProject(domain.Actor{UserID: userID}, projectID, domain.RightFind)
	if err != nil && domain.AsError(err).Code != domain.CodeNotFound && domain.AsError(err).Code != domain.CodeProjectPermissionRequired {
		return err
	}
	if err != nil {
		return domain.Invalid("project_id", "The account can't read a project with this id.")
	}
	return nil
}

// randomKey returns apiKeyLength random letters and digits, which are about 238 random bits.
func randomKey() (string, error) {
	var key []byte
	b := make([]byte, 2*apiKeyLength)
	for len(key) < apiKeyLength {
		if _, err := rand.Read(b); err != nil {
			return "", err
		}
		for _, x := range b {
			// Skip values from 248 on, which would favor the first letters. 248 is a multiple of
			// len(apiKeyLetters).
			if x < 248 && len(key) < apiKeyLength {
				key = append(key, apiKeyLetters[int(x)%len(apiKeyLetters)])
			}
		}
	}
	return string(key), nil
}

// APIKeys returns the API keys of an account, oldest first. The actor must be the user or an
// admin.
func (v *View) APIKeys(userID string) ([]APIKey, error) {
	if err := v.tx.SameUser(v.tx.Actor, userID); err != nil {
		return nil, err
	}
	all := []APIKey{}
	return all, v.tx.Select(&all, `SELECT
			api_key.id,
			api_key.name,
			iif(api_key.only_use = '', 'all', api_key.only_use) AS scope,
			api_key.project_id,
			project.name AS project_name,
			api_key.created_date,
			api_key.expires,
			api_key.used_date
		FROM api_key
		LEFT JOIN project ON project.id = api_key.project_id
		WHERE api_key.user_id = ?
		ORDER BY api_key.created_date, api_key.id LIMIT ?`, userID, MaxAPIKeys)
}

// KeyList is the list of the API keys of an account.
type KeyList struct {
	Data []APIKey `json:"data"`
}

// APIKeys calls View.APIKeys on a new snapshot. It returns NOT_FOUND if the account does not exist.
func (db *DB) APIKeys(ctx context.Context, actor domain.Actor, userID string) (KeyList, error) {
	return view(ctx, db, actor, func(v *View) (l KeyList, err error) {
		if l.Data, err = v.APIKeys(userID); err == nil {
			err = v.tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user")
		}
		return l, err
	})
}

// DeleteAPIKey revokes an API key of an account. The actor must be the user or an admin.
func (db *DB) DeleteAPIKey(ctx context.Context, actor domain.Actor, userID, id string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := tx.SameUser(actor, userID); err != nil {
			return err
		}
		if err := auditKey(tx, domain.ActionDelete, id); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM api_key WHERE id = ? AND user_id = ?`, id, userID)
		return domain.ChangedOne(n, err, "key")
	})
}

// auditKey appends an event about an API key to the audit trail. The detail is the name of the account.
func auditKey(tx *domain.Tx, action domain.Action, id string) error {
	e := domain.Event{Action: action, Kind: domain.AuditKey, ID: id}
	err := tx.Row(`SELECT api_key.name, user.username FROM api_key JOIN user ON user.id = api_key.user_id WHERE api_key.id = ?`, id).
		Scan(&e.Name, &e.Detail)
	if err != nil {
		return domain.OrNotFound(err, "key")
	}
	e.Detail = "of " + e.Detail
	return tx.Audit(e)
}

// ErrKeyExpired is returned for an API key that has expired.
var ErrKeyExpired = domain.Errorf(domain.CodeInvalidCredentials, "The API key has expired; create another one.")

// keyOwner is an account with one of its API keys.
type keyOwner struct {
	domain.User
	OnlyUse   domain.ScopeKind `db:"only_use"`
	ProjectID *string          `db:"project_id"`
	Expires   *scalar.Time     `db:"expires"`
	UsedDate  *scalar.Time     `db:"used_date"`
}

// UserOfAPIKey returns the account of an API key, with the limits of the key. It returns
// INVALID_CREDENTIALS if the key does not exist, and ErrKeyExpired if the key has expired. It records
// the time of the use.
func (db *DB) UserOfAPIKey(ctx context.Context, key string) (domain.User, error) {
	return db.userOfKey(ctx, `api_key.hash = ?`, hashAPIKey(key))
}

// UserOfKeyID is UserOfAPIKey for the id of a key. The caller must have checked that the request was
// authorized with this key.
func (db *DB) UserOfKeyID(ctx context.Context, id string) (domain.User, error) {
	return db.userOfKey(ctx, `api_key.id = ?`, id)
}

func (db *DB) userOfKey(ctx context.Context, condition string, arg any) (domain.User, error) {
	var now scalar.Time
	k, err := domain.ReadShort(ctx, db.base, func(tx *domain.Tx) (k keyOwner, err error) {
		now = tx.Now
		err = tx.Get(&k, `SELECT `+domain.UserColumns+`,
				api_key.name AS key,
				api_key.id AS key_id,
				api_key.only_use,
				api_key.project_id,
				api_key.expires,
				api_key.used_date
			FROM api_key JOIN user ON user.id = api_key.user_id WHERE `+condition, arg)
		return k, err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return domain.User{}, domain.Errorf(domain.CodeInvalidCredentials, "The API key is unknown or was revoked; create another one.")
	case err != nil:
		return domain.User{}, err
	case k.Expires != nil && *k.Expires <= now:
		return domain.User{}, ErrKeyExpired
	}
	u := k.User
	u.Scope.Only = k.OnlyUse
	if k.ProjectID != nil {
		u.Scope.ProjectID = *k.ProjectID
	}
	u.IsAdmin = u.IsAdmin && !u.Scope.Limited()
	if k.UsedDate == nil || now-*k.UsedDate >= usedEvery {
		db.markUsed(domain.WithIdempotencyKey(ctx, domain.IdempotencyKey{}), u.KeyID, now)
	}
	return u, nil
}

// usedEvery is the minimum time between two writes of the time of a key's last use.
const usedEvery = scalar.Time(60_000)

// markUsed stores the time of the last use of a key. A request does not fail because of it.
func (db *DB) markUsed(ctx context.Context, id string, at scalar.Time) {
	_, err := domain.WriteKind(ctx, db.base, sqlite.Upkeep, domain.System, func(tx *domain.Tx) (struct{}, error) {
		_, err := tx.Exec(`UPDATE api_key SET used_date = ? WHERE id = ?`, at, id)
		return struct{}{}, err
	})
	if err != nil && ctx.Err() == nil {
		db.base.Log.Warn("the time of the last use of an API key was not stored", "error", err)
	}
}
