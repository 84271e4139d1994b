package server

import (
	"tracker/store/users"
)

func (s *Server) userPermission(c *call) error {
	p, err := s.db.Users.UserPermission(c.ctx, c.actor, c.vars["user_id"], c.vars["project_id"])
	return reply(c, p, err)
}

func (s *Server) createUserPermission(c *call) error {
	var b users.PermissionPatch
	if err := c.decodeOptional(&b); err != nil {
		return err
	}
	user, project := c.vars["user_id"], c.vars["project_id"]
	created, err := s.db.Users.CreateUserPermission(c.ctx, c.actor, user, project, b)
	return c.created(created, err, "userpermission", "user", user, "project", project)
}

func (s *Server) shareProject(c *call, b users.NewMember) error {
	created, err := s.db.Users.ShareProject(c.ctx, c.actor, c.vars["id"], b)
	return c.created(created, err, "userpermission", created.ID)
}
