package ui

import (
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/ui/plain"
)

// auditView is the view of the page of the audit trail.
type auditView struct {
	Rows   []auditRow
	Days   int // days for which entries are kept; 0 for forever
	Actor  string
	Action string
	Kind   string
	Record string
	Since  string // date in UTC, such as 2026-11-21
	Until  string // last date in UTC
	Wrong  string
	Next   string // query string of the next page, "" for none
	First  string // query string of the first page, "" if this is the first page
}

// filtered reports whether the page can omit entries.
func (v auditView) filtered() bool {
	return v.Actor+v.Action+v.Kind+v.Record+v.Since+v.Until+v.First != ""
}

type auditRow struct {
	audit.Entry
	At     moment
	Times  string // "" if the entry stands for one event
	Path   string // path of the record's page, "" for none
	Action string // in words
	Kind   string // in words
}

// auditActions holds the words for the actions.
var auditActions = map[domain.Action]string{
	domain.ActionSignIn: "signed in", domain.ActionSignInFailed: "failed to sign in", domain.ActionSignOut: "signed out",
	domain.ActionCreate: "created", domain.ActionUpdate: "changed", domain.ActionGrant: "gave rights", domain.ActionRevoke: "took rights",
	domain.ActionDelete: "deleted", domain.ActionRestore: "restored", domain.ActionPurge: "purged", domain.ActionExport: "exported",
	domain.ActionImport: "imported", domain.ActionExpire: "expired",
}

// auditKinds holds the words for the kinds of records.
var auditKinds = map[domain.AuditKind]string{
	domain.AuditUser: "account", domain.AuditKey: "API key", domain.AuditToken: "token", "project": "project", "experiment": "experiment",
	"iteration": "run", "resource": "artifact", "model": "model", "model_version": "version of a model", "report": "report",
	domain.AuditArtifactVersion: "version of an artifact", domain.AuditLoggedModel: "logged model", domain.AuditSavedView: "saved view",
	domain.AuditTrail: "audit trail",
}

// auditPaths holds the paths of the pages of records.
var auditPaths = map[domain.AuditKind]string{domain.AuditUser: "/user/", "project": "/project/", "experiment": "/experiment/", "iteration": "/iteration/",
	"resource": "/artifact/", "model": "/model/", "report": "/report/", domain.AuditArtifactVersion: "/collection/"}

// auditTrail shows admins the audit trail.
func (s *site) auditTrail(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		given := r.URL.Query()
		text := func(name string) string { return plain.Readable(given.Get(name)) }
		v := auditView{Actor: text("actor"), Action: text("action"), Kind: text("kind"), Record: text("record"), Since: text("since"),
			Until: text("until"), Days: int(s.DB.Audit.Age() / (24 * time.Hour))}
		q := audit.Query{Limit: domain.DefaultLimit, Cursor: given.Get("cursor"), Actor: v.Actor, Action: domain.Action(v.Action), Kind: domain.AuditKind(v.Kind), Record: v.Record}
		var wrong error
		date := func(text *string, after time.Duration) *scalar.Time {
			if *text == "" {
				return nil
			}
			at, err := time.Parse(time.DateOnly, *text)
			if err != nil {
				*text = "" // browsers warn about an invalid value of a date field
				wrong = domain.Invalid("since", "A date must be like 2026-01-31.")
				return nil
			}
			return new(scalar.TimeOf(at.Add(after)))
		}
		q.Since, q.Until = date(&v.Since, 0), date(&v.Until, 24*time.Hour)
		page, err := db.Audit.Entries(q)
		if wrong == nil {
			wrong = err
		}
		if e := formError(wrong); e != nil {
			v.Wrong, page = e.Message, audit.Page{}
		} else if err != nil {
			return nil, err
		}
		for _, e := range page.Data {
			row := auditRow{Entry: e, At: s.moment(e.Date), Action: auditActions[e.Action], Kind: auditKinds[e.Kind]}
			if e.Count > 1 {
				row.Times = humanize.Comma(int64(e.Count)) + " times"
			}
			gone := e.Action == domain.ActionDelete || e.Action == domain.ActionPurge
			if base := auditPaths[e.Kind]; base != "" && e.RecordID != "" && !gone {
				row.Path = base + url.PathEscape(e.RecordID)
			}
			v.Rows = append(v.Rows, row)
		}
		given.Del("cursor")
		for name := range given {
			if given.Get(name) == "" {
				given.Del(name)
			}
		}
		if q.Cursor != "" {
			v.First = "?" + given.Encode()
		}
		if page.Next != nil {
			given.Set("cursor", *page.Next)
			v.Next = "?" + given.Encode()
		}
		f, err := s.inside(db, "Audit", user, place{})
		if err != nil {
			return nil, err
		}
		f.Crumbs = []crumb{{"Projects", "/"}, {"Server", "/server"}, {Name: "Audit"}}
		return auditPage(f, v), nil
	})
}
