package server

import (
	"tracker/store/users"
)

func (s *Server) userPermissions(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Users.UserPermissions(c.ctx, c.actor, c.vars["id"], p)
	return reply(c, l, err)
}

func (s *Server) projectMembers(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Users.ProjectMembers(c.ctx, c.actor, c.vars["id"], p)
	return reply(c, l, err)
}

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

func (s *Server) updateUserPermission(c *call) error {
	var b users.PermissionPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Users.UpdateUserPermission(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteUserPermission(c *call) error {
	return c.none(s.db.Users.DeleteUserPermission(c.ctx, c.actor, c.vars["id"]))
}
