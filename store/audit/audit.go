// Package audit reads the audit trail, records events that have no transaction of their own, and
// deletes old entries.
//
// Methods that change records append entries with domain.Tx.Audit, in the transaction of the change.
// Sign-ins and exports change nothing. DB.Note records them, and counts repeated events instead of
// storing each of them.
package audit

import (
	"context"
	"strconv"
	"time"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// Entry is an entry of the audit trail.
type Entry struct {
	ID       int64            `json:"id" db:"num"`
	Date     scalar.Time      `json:"date" db:"at"`
	Source   string           `json:"source" db:"source"`   // see domain.SourceAccount
	Actor    string           `json:"actor" db:"actor"`     // user name; "" if the source is not an account
	Key      string           `json:"key" db:"key"`         // name of the API key; "" if none was used
	Address  string           `json:"address" db:"address"` // network address of the client; "" if unknown
	Action   domain.Action    `json:"action" db:"action"`
	Kind     domain.AuditKind `json:"kind" db:"kind"`
	RecordID string           `json:"record_id" db:"record_id"`
	Name     string           `json:"name" db:"name"` // name of the record at the time of the event
	Detail   string           `json:"detail" db:"detail"`
	Count    int              `json:"count" db:"count"` // number of equal events
}

// Query selects entries.
type Query struct {
	Limit  int           // maximum number of entries; more than domain.MaxLimit means domain.MaxLimit
	Cursor string        // Page.Next of the previous page; "" for the newest entries
	Actor  string        // user name; "" for all
	Action domain.Action // "" for all
	Kind   domain.AuditKind
	Record string       // id of the record; "" for all
	Since  *scalar.Time // first time; nil for no limit
	Until  *scalar.Time // time after the last entry; nil for no limit
}

// Page is a page of entries, newest first.
type Page struct {
	Data []Entry `json:"data"`
	Next *string `json:"next"` // cursor of the next page; nil on the last page
}

// DB records events and deletes old entries.
type DB struct {
	base    *domain.DB
	repeats repeats
}

// New returns a DB for the audit trail in base.
func New(base *domain.DB) *DB { return &DB{base: base, repeats: repeats{of: map[repeat]*repeated{}}} }

// View reads the audit trail in one transaction for the actor tx.Actor.
type View struct{ tx *domain.Tx }

// In returns a View of the audit trail that is visible in tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// Entries returns a page of entries, newest first. The actor must be an admin.
func (v *View) Entries(q Query) (p Page, err error) {
	p.Data = []Entry{}
	if err := v.tx.Admin(v.tx.Actor); err != nil {
		return p, err
	}
	q.Limit = max(0, min(q.Limit, domain.MaxLimit))
	where, args := `TRUE`, []any{}
	add := func(condition string, value any) {
		where += ` AND ` + condition
		args = append(args, value)
	}
	if q.Cursor != "" {
		before, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil {
			return p, domain.Invalid("cursor", "cursor must be the value of next in the previous page.")
		}
		add(`num < ?`, before)
	}
	if q.Action != "" {
		if err := domain.OneOf("action", q.Action, domain.Actions...); err != nil {
			return p, err
		}
		add(`action = ?`, q.Action)
	}
	if q.Kind != "" {
		if err := domain.OneOf("kind", q.Kind, domain.AuditKinds...); err != nil {
			return p, err
		}
		add(`kind = ?`, q.Kind)
	}
	if q.Actor != "" {
		add(`actor = ?`, q.Actor)
	}
	if q.Record != "" {
		add(`record_id = ?`, q.Record)
	}
	if q.Since != nil {
		add(`at >= ?`, *q.Since)
	}
	if q.Until != nil {
		add(`at < ?`, *q.Until)
	}
	err = v.tx.Select(&p.Data, `SELECT num, at, source, actor, key, address, action, kind, record_id, name, detail, count
		FROM audit WHERE `+where+` ORDER BY num DESC LIMIT ?`, append(args, q.Limit+1)...)
	if err == nil && len(p.Data) > q.Limit {
		if p.Data = p.Data[:q.Limit]; q.Limit == 0 {
			return p, nil
		}
		p.Next = new(strconv.FormatInt(p.Data[q.Limit-1].ID, 10))
	}
	return p, err
}

// Entries calls View.Entries on a new snapshot.
func (db *DB) Entries(ctx context.Context, actor domain.Actor, q Query) (Page, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (Page, error) { return In(tx).Entries(q) })
}

// Age returns how long entries are kept. It is 0 if they are kept forever.
func (db *DB) Age() time.Duration { return db.base.Options.AuditAge }

// sourceWords holds the text that stands for the actor if it is not an account.
var sourceWords = map[string]string{domain.SourceOpen: "anyone (sign-in is off)", domain.SourceVisitor: "not signed in",
	domain.SourceCommand: "command line", domain.SourceServer: "the server"}

// By returns the user name of the actor, or words for an actor that is not an account.
func (e Entry) By() string {
	if e.Source == domain.SourceAccount {
		return e.Actor
	}
	return sourceWords[e.Source]
}
