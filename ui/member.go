package ui

import (
	"net/http"
	"net/url"

	"github.com/a-h/templ"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/users"
	"tracker/ui/plain"
)

// membersView is the view of the page with a project's members and their permissions.
type membersView struct {
	Project projects.Project
	Rows    []domain.Permission
	Pager   pager
	Share   bool // whether the user may change permissions
	Form    memberForm
}

// memberForm holds the rejected input of the form that adds or changes a member.
type memberForm struct {
	ID       string // ID of the permission, "" for a new member
	Username string
	Rights   users.PermissionPatch
	Wrong    *domain.Error
}

// wrong returns the error message about the permission with the given ID, "" for none.
func (f memberForm) wrong(id string) string {
	if f.Wrong == nil || f.ID != id {
		return ""
	}
	return f.Wrong.Message
}

// rights returns p with the submitted check boxes applied.
func (f memberForm) rights(p domain.Permission) domain.Permission {
	if f.wrong(p.ID) == "" {
		return p
	}
	for has, ticked := range map[*bool]*bool{&p.Create: f.Rights.Create, &p.Read: f.Rights.Read, &p.Update: f.Rights.Update, &p.Delete: f.Rights.Delete,
		&p.Owner: f.Rights.Owner} {
		if ticked != nil {
			*has = *ticked
		}
	}
	return p
}

// newName returns the entered name of a new member.
func (v membersView) newName() string {
	if v.Form.ID != "" {
		return ""
	}
	return v.Form.Username
}

// members lists the members of a project and their permissions. Only owners and admins can change
// permissions.
func (s *site) members(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showMembers(w, r, user, http.StatusOK, membersView{})
}

func (s *site) showMembers(w http.ResponseWriter, r *http.Request, user domain.User, status int, v membersView) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v := v
		p, err := db.Projects.Project(idOf(r))
		if err != nil {
			return nil, err
		}
		page := pageOf(r.URL.Query())
		list, err := db.Users.ProjectMembers(p.ID, page)
		if err != nil {
			return nil, err
		}
		rights, err := db.Users.Rights(p.ID)
		if err != nil {
			return nil, err
		}
		v.Project, v.Rows, v.Share = p, list.Data, rights.Owner
		v.Pager = newPager(url.Values{}, page, len(list.Data), list.Total)
		f, err := s.inside(db, "Members", user, place{projectID: p.ID})
		if err != nil {
			return nil, err
		}
		f.InPlace = true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {Name: "Members"}}
		return membersPage(f, v), nil
	})
}

// changeMember adds a member, changes a member's permissions, or removes a member.
func (s *site) changeMember(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx, actor := r.Context(), user.Actor()
	typed := memberForm{ID: fields.Get("permission"), Username: plain.Readable(fields.Get("username")),
		Rights: users.PermissionPatch{Create: checked(fields, "create"), Read: checked(fields, "read"),
			Update: checked(fields, "update"), Delete: checked(fields, "delete"), Owner: checked(fields, "owner")}}
	switch fields.Get("do") {
	case "save":
		err = s.DB.Users.UpdateUserPermission(ctx, actor, typed.ID, typed.Rights)
	case "remove":
		err = s.DB.Users.DeleteUserPermission(ctx, actor, typed.ID)
	default:
		typed.ID = ""
		_, err = s.DB.Users.AddMember(ctx, actor, idOf(r), users.NewMember{Username: typed.Username, PermissionPatch: typed.Rights})
	}
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showMembers(w, r, user, web.StatusOf(typed.Wrong.Code), membersView{Form: typed})
	}
	return s.redirectUnless(err, w, r, "/project/"+idOf(r)+"/members")
}
