package server

import (
	"net/http"
	"strconv"

	"tracker/server/web"
	"tracker/store/console"
	"tracker/store/domain"
)

func (s *Server) console(c *call) error {
	q := console.Query{Limit: domain.MaxLimit, Search: c.query.Get("q")}
	if text := c.text("from"); text != nil {
		from, err := strconv.ParseInt(*text, 10, 64)
		if err != nil || from < 0 {
			return domain.Invalid("from", "from must be a line number: a non-negative integer.")
		}
		q.From = &from
	}
	l, err := s.db.Runs.Console(c.ctx, c.actor, c.vars["id"], q)
	return reply(c, l, err)
}

func (s *Server) writeConsole(c *call, b struct {
	From  *int64    `json:"from"`
	Lines *[]string `json:"lines"`
}) error {
	if b.Lines == nil {
		return domain.Invalid("lines", "lines must be given: a list of strings.")
	}
	written, err := s.db.Runs.WriteConsole(c.ctx, c.actor, c.vars["id"], b.From, *b.Lines)
	if err != nil {
		return err
	}
	web.WriteJSON(c.w, c.r, http.StatusCreated, written)
	return nil
}
