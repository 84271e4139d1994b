package server

import (
	"time"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/trash"
)

// trash lists the records in the trash that the caller can restore.
func (s *Server) trash(c *call, p domain.Page) (domain.List[trash.Trashed], error) {
	return s.db.Trash.List(c.ctx, c.actor,
		trash.Query{Page: p, ProjectID: c.text("project_id"), Kind: (*domain.TrashKind)(c.text("kind"))})
}

// emptied is the response to emptying the trash. Its fields count records.
type emptied struct {
	Purged int `json:"purged"`
	Kept   int `json:"kept"` // not purged, because a model version deleted later refers to them
}

// emptyTrash purges the records that were deleted before the time in the query parameter
// "until". The default is the current time.
func (s *Server) emptyTrash(c *call) error {
	var age time.Duration
	if text := c.text("until"); text != nil {
		until, err := scalar.ParseTime(*text)
		if err != nil {
			return domain.Invalid("until", "until must be a time in RFC 3339, like 2026-01-31T12:00:00Z.")
		}
		age = max(0, s.now().Sub(until.Time()))
	}
	var out emptied
	err := s.db.Trash.Empty(c.ctx, c.actor, age, func(p trash.Purged) {
		if p.Kept {
			out.Kept++
		} else {
			out.Purged++
		}
	})
	return reply(c, out, err)
}

func (s *Server) restore(c *call) error {
	return c.none(s.db.Trash.Restore(c.ctx, c.actor, c.id()))
}
