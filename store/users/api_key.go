package users

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strings"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// APIKey describes an API key of an account. The key has the account's rights until it is
// revoked.
type APIKey struct {
	ID          string      `json:"id" db:"id"`
	Name        string      `json:"name" db:"name"`
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
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
// actor must be the user or an admin.
func (db *DB) CreateAPIKey(ctx context.Context, actor domain.Actor, userID, name string) (string, error) {
	if err := domain.CheckName("name", name); err != nil {
		return "", err
	}
	key, err := randomKey()
	if err != nil {
		return "", err
	}
	return key, domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := tx.SameUser(actor, userID); err != nil {
			return err
		}
		if err := tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return err
		}
		var n int
		if err := tx.Row(`SELECT count(*) FROM api_key WHERE user_id = ?`, userID).Scan(&n); err != nil {
			return err
		}
		if n >= MaxAPIKeys {
			return domain.Errorf(domain.CodeConflict, "The account already has %d keys; revoke some of them first.", n)
		}
		id := domain.NewID()
		_, err = tx.Exec(`INSERT INTO api_key (id, user_id, name, hash, created_date) VALUES (?, ?, ?, ?, ?)`,
			id, userID, name, hashAPIKey(key), tx.Now)
		if err != nil {
			return err
		}
		return auditKey(tx, domain.ActionCreate, id)
	})
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
	return all, v.tx.Select(&all, `SELECT id, name, created_date FROM api_key WHERE user_id = ?
		ORDER BY created_date, id LIMIT ?`, userID, MaxAPIKeys)
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

// UserOfAPIKey returns the account of an API key. It returns INVALID_CREDENTIALS if the key
// does not exist.
func (db *DB) UserOfAPIKey(ctx context.Context, key string) (domain.User, error) {
	return domain.ReadShort(ctx, db.base, func(tx *domain.Tx) (u domain.User, err error) {
		err = tx.Get(&u, `SELECT `+domain.UserColumns+`, api_key.name AS key FROM api_key JOIN user ON user.id = api_key.user_id WHERE api_key.hash = ?`, hashAPIKey(key))
		if err := domain.OrNotFound(err, "key"); err != nil && domain.AsError(err).Code == domain.CodeNotFound {
			return u, domain.Errorf(domain.CodeInvalidCredentials, "The API key is unknown or was revoked; create another one.")
		}
		return u, err
	})
}
