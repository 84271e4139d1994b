package ui

import (
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"tracker/store"
	"tracker/store/domain"
)

// wandbLink redirects a link printed by a W&B client. The link contains the name of a project
// and an optional run name. The target is the run's or project's page.
func (s *site) wandbLink(w http.ResponseWriter, r *http.Request, user domain.User) error {
	names := map[string]string{}
	for key, raw := range mux.Vars(r) {
		name, err := url.PathUnescape(raw)
		if err != nil {
			return domain.Invalid("path", "The path can't be read. Escape its special characters.")
		}
		names[key] = name
	}
	target := ""
	err := s.DB.View(r.Context(), user.Actor(), func(v *store.View) error {
		if run := names["run"]; run != "" {
			id, err := v.Wandb.Iteration(names["project"], run)
			if err == nil {
				_, err = v.Runs.Iteration(id)
			}
			target = "/iteration/" + id
			return err
		}
		id, err := v.Wandb.Project(names["project"])
		if err == nil {
			_, err = v.Projects.Project(id)
		}
		target = "/project/" + id
		return err
	})
	return s.redirectUnless(err, w, r, target)
}
