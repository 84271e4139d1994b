package domain

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
)

// Action is an action in the audit trail.
type Action string

// The actions in the audit trail.
const (
	ActionSignIn       Action = "sign_in"
	ActionSignInFailed Action = "sign_in_failed"
	ActionSignOut      Action = "sign_out"
	ActionCreate       Action = "create" // only for accounts, API keys and tokens
	ActionUpdate       Action = "update" // only for accounts
	ActionGrant        Action = "grant"  // rights in a project
	ActionRevoke       Action = "revoke" // rights in a project
	ActionDelete       Action = "delete"
	ActionRestore      Action = "restore"
	ActionPurge        Action = "purge"
	ActionExport       Action = "export"
	ActionImport       Action = "import"
	ActionExpire       Action = "expire" // old entries of the audit trail
)

// Actions lists all actions in the audit trail.
var Actions = []Action{ActionSignIn, ActionSignInFailed, ActionSignOut, ActionCreate, ActionUpdate, ActionGrant, ActionRevoke,
	ActionDelete, ActionRestore, ActionPurge, ActionExport, ActionImport, ActionExpire}

// AuditKind is a kind of record in the audit trail. The kinds of records that can be in the trash are
// the values of TrashKind.
type AuditKind string

// The kinds of records that can't be in the trash.
const (
	AuditUser            AuditKind = "user"
	AuditKey             AuditKind = "api_key"
	AuditToken           AuditKind = "token"
	AuditSavedView       AuditKind = "saved_view"
	AuditArtifactVersion AuditKind = "artifact_version"
	AuditLoggedModel     AuditKind = "logged_model"
	AuditTrail           AuditKind = "audit"
)

// AuditKinds lists all kinds of records in the audit trail.
var AuditKinds = []AuditKind{AuditUser, AuditKey, AuditToken, AuditKind(TrashedProject), AuditKind(TrashedExperiment),
	AuditKind(TrashedIteration), AuditKind(TrashedArtifact), AuditKind(TrashedModel), AuditKind(TrashedVersion),
	AuditKind(TrashedReport), AuditArtifactVersion, AuditLoggedModel, AuditSavedView, AuditTrail}

// Event is an event for the audit trail. It must not contain a password, key or token.
type Event struct {
	Action Action
	Kind   AuditKind
	ID     string // id of the record
	Name   string // name of the record
	Detail string // short text; "" for none
	Count  int    // number of equal events; 0 means 1
}

// The sources of events in the audit trail.
const (
	SourceAccount = "account"
	SourceOpen    = "open"    // sign-in is off
	SourceVisitor = "visitor" // not signed in
	SourceCommand = "command" // command line
	SourceServer  = "server"
)

type addressContext struct{}

// WithAddress returns a context with the network address of the client. Audit records the address.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressContext{}, address)
}

// AddressFrom returns the client's address in ctx, or "".
func AddressFrom(ctx context.Context) string {
	address, _ := ctx.Value(addressContext{}).(string)
	return address
}

// Audit appends an event to the audit trail. If the transaction is rolled back, so is the entry. The
// actor of the transaction is the actor of the event; without an account, it is a visitor.
func (tx *Tx) Audit(e Event) error {
	if tx.DB.Options.Scratch {
		return nil
	}
	source, actor := SourceAccount, ""
	switch {
	case tx.Actor.system && tx.DB.Options.Exclusive:
		source = SourceServer
	case tx.Actor.system:
		source = SourceCommand
	case tx.Actor.Anonymous:
		source = SourceOpen
	case tx.Actor.UserID == "":
		source = SourceVisitor
	default:
		err := tx.Row(`SELECT username FROM user WHERE id = ?`, tx.Actor.UserID).Scan(&actor)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	_, err := tx.Exec(`INSERT INTO audit (at, source, actor, key, address, action, kind, record_id, name, detail, count)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, tx.Now, source, actor, tx.Actor.Key, tx.address[:min(len(tx.address), maxAuditAddress)],
		e.Action, e.Kind, e.ID, e.Name, e.Detail, cmp.Or(e.Count, 1))
	return err
}

// maxAuditAddress is the maximum length of an address in the audit trail in bytes. IPv6 addresses with
// a zone are shorter.
const maxAuditAddress = 100

// auditName is the SQL expression of the name of each kind of record that can be in the trash.
var auditName = map[TrashKind]string{TrashedVersion: `(SELECT model.name FROM model WHERE model.id = model_id) || ' ' || version`}

// AuditTrashed appends an event about a record that can be in the trash. It reads the record's name.
func (tx *Tx) AuditTrashed(action Action, kind TrashKind, id, detail string) error {
	var name string
	err := tx.Row(`SELECT `+cmp.Or(auditName[kind], `name`)+` FROM `+string(kind)+` WHERE id = ?`, id).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Audit(Event{Action: action, Kind: AuditKind(kind), ID: id, Name: name, Detail: detail})
}
