package ui

import (
	"net/http"
	"net/url"

	"tracker/server/middleware"
	"tracker/store"
)

// membersView is the page of who may do what in a project.
type membersView struct {
	Project store.Project
	Rows    []store.Permission
	Pager   pager
	Admin   bool
	Typed   string // user name
	Wrong   string
}

// members lists who may do what in a project. Admins may change it.
func (s *site) members(w http.ResponseWriter, r *http.Request, user store.User) error {
	return s.showMembers(w, r, user, http.StatusOK, membersView{})
}

func (s *site) showMembers(w http.ResponseWriter, r *http.Request, user store.User, status int, v membersView) error {
	ctx, actor := r.Context(), store.Actor{UserID: user.ID}
	p, err := s.DB.Project(ctx, actor, idOf(r))
	if err != nil {
		return err
	}
	page := pageOf(r.URL.Query())
	list, err := s.DB.ProjectMembers(ctx, actor, p.ID, page)
	if err != nil {
		return err
	}
	v.Project, v.Rows, v.Admin = p, list.Data, user.IsAdmin
	v.Pager = newPager(url.Values{}, page, len(list.Data), list.Total)
	f, err := s.inside(ctx, "Members", user, place{projectID: p.ID})
	if err != nil {
		return err
	}
	f.InPlace = true
	f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {Name: "Members"}}
	return s.render(w, r, status, membersPage(f, v))
}

// changeMember grants something to a user, changes that, or takes it away.
func (s *site) changeMember(w http.ResponseWriter, r *http.Request, user store.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	ctx, actor := r.Context(), store.Actor{UserID: user.ID}
	patch := store.PermissionPatch{Create: checked(fields, "create"), Read: checked(fields, "read"),
		Update: checked(fields, "update"), Delete: checked(fields, "delete")}
	name := readable(fields.Get("username"))
	switch fields.Get("do") {
	case "save":
		err = s.DB.UpdateUserPermission(ctx, actor, fields.Get("permission"), patch)
	case "remove":
		err = s.DB.DeleteUserPermission(ctx, actor, fields.Get("permission"))
	default:
		var member store.User
		member, err = s.DB.UserByName(ctx, actor, name)
		if err != nil && store.AsError(err).Code == store.CodeNotFound {
			err = store.Invalid("username", "There is no user of this name.")
		}
		if err == nil {
			_, err = s.DB.CreateUserPermission(ctx, actor, member.ID, idOf(r), patch)
		}
	}
	if e := formError(err); e != nil {
		return s.showMembers(w, r, user, middleware.StatusOf(e.Code), membersView{Typed: name, Wrong: e.Message})
	}
	if err == nil {
		s.redirect(w, r, "/project/"+idOf(r)+"/members")
	}
	return err
}
