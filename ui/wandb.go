package ui

import (
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"tracker/store"
	"tracker/store/domain"
)

// wandbLink redirects a link printed by a W&B client. The link contains the name of a project
// and an optional run name, or the name of a saved view. The target is the page of the run, of the
// project or of the experiment in that view.
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
		if name := r.URL.Query().Get("nw"); err == nil && name != "" {
			views, err := v.Projects.ClientViews(id, "nw-"+name+"-v")
			if err != nil {
				return err
			}
			if len(views) == 0 {
				return domain.Errorf(domain.CodeNotFound, "The project has no saved view with this name.")
			}
			query := "view=" + views[0].ID
			if views[0].Query != "" {
				query = views[0].Query + "&" + query
			}
			target = "/experiment/" + views[0].ExperimentID + "?" + query
		}
		return err
	})
	return s.redirectUnless(err, w, r, target)
}
