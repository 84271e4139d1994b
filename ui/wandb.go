package ui

import (
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"tracker/store"
)

// wandbLink redirects a link of W&B's clients, with the names of a project and a run,
// to the page of the run or of the project.
func (s *site) wandbLink(w http.ResponseWriter, r *http.Request, user store.User) error {
	names := map[string]string{}
	for key, raw := range mux.Vars(r) {
		name, err := url.PathUnescape(raw)
		if err != nil {
			return store.Invalid("path", "The path can't be read; escape its special characters.")
		}
		names[key] = name
	}
	target := ""
	err := s.DB.View(r.Context(), store.Actor{UserID: user.ID}, func(v *store.View) error {
		if run := names["run"]; run != "" {
			id, err := v.WandbIteration(names["project"], run)
			if err == nil {
				_, err = v.Iteration(id)
			}
			target = "/iteration/" + id
			return err
		}
		id, err := v.WandbProject(names["project"])
		if err == nil {
			_, err = v.Project(id)
		}
		target = "/project/" + id
		return err
	})
	if err == nil {
		s.redirect(w, r, target)
	}
	return err
}
