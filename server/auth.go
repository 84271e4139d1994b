package server

import (
	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/scalar"
)

// maxSignIn is the maximum body size of a sign-in request in bytes. The limit is small, because
// this request needs no token.
const maxSignIn = 16 << 10

func (s *Server) signIn(c *call) error {
	var b struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}
	if err := c.decodeFrom(&b, web.Limits{Size: maxSignIn}); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{{"username", b.Username}, {"password", b.Password}} {
		if f.value == "" {
			return domain.Invalid(f.name, "%s must be given.", f.name)
		}
	}
	g, err := s.auth.SignIn(c.r.Context(), b.Username, b.Password, web.ClientAddress(c.r))
	c.w.Header().Set("Cache-Control", "no-store")
	return reply(c, g, err)
}

func (s *Server) refresh(c *call) error {
	g, err := s.auth.Refresh(c.r)
	c.w.Header().Set("Cache-Control", "no-store")
	return reply(c, g, err)
}

func (s *Server) me(c *call) error {
	u, err := s.db.Users.Authenticate(c.ctx, c.actor)
	return reply(c, u, err)
}

type healthBody struct {
	Status     string      `json:"status"`
	AppName    string      `json:"app_name"`
	Version    string      `json:"version"`
	ServerTime scalar.Time `json:"server_time"`
}

func (s *Server) health(c *call) error {
	if err := s.db.Ping(c.ctx); err != nil {
		if e := domain.AsError(err); e.Code == domain.CodeUnavailable {
			return e
		}
		return &domain.Error{Code: domain.CodeUnavailable, Err: err,
			Message: "The database does not answer; see the server's log."}
	}
	return c.ok(healthBody{"ok", "tracker", s.version, scalar.Time(s.now().UnixMilli())})
}
