package server

import (
	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/scalar"
)

// audit sends a page of the audit trail, newest entries first.
func (s *Server) audit(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	text := c.query.Get
	q := audit.Query{Limit: page.Limit, Cursor: text("cursor"), Actor: text("actor"), Action: domain.Action(text("action")),
		Kind: domain.AuditKind(text("kind")), Record: text("record")}
	for name, to := range map[string]**scalar.Time{"since": &q.Since, "until": &q.Until} {
		if given := c.text(name); given != nil {
			at, err := scalar.ParseTime(*given)
			if err != nil {
				return domain.Invalid(name, "%s must be a time in RFC 3339, like 2026-01-31T12:00:00Z.", name)
			}
			*to = &at
		}
	}
	p, err := s.db.Audit.Entries(c.ctx, c.actor, q)
	return reply(c, p, err)
}
