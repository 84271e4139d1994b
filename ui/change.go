package ui

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/server/middleware"
	"tracker/store"
)

// maxAtOnce is how many runs a form changes.
const maxAtOnce = 200

// changeView is a form about some runs of one experiment.
type changeView struct {
	Experiment store.Experiment
	Runs       []changeRow
	Points     string // in all
	Children   int    // that will have no parent
	Rights     store.Permission
	Tag        string // as typed
	Status     string
	Wrong      string
	Field      string // that is wrong: "status", or "" for the tag
}

type changeRow struct {
	run
	Params  string
	Metrics string
	Points  string
}

// chosen reads the runs that a form is about.
func (s *site) chosen(r *http.Request, actor store.Actor, ids []string) (v changeView, err error) {
	if len(ids) == 0 || len(ids) > maxAtOnce {
		return v, store.Invalid("i", "Choose 1 to %d runs in the table first.", maxAtOnce)
	}
	var points int64
	for _, id := range ids {
		i, err := s.DB.Iteration(r.Context(), actor, id)
		if err != nil {
			return v, err
		}
		summary, err := s.DB.Summary(r.Context(), actor, id)
		if err != nil {
			return v, err
		}
		children, err := s.DB.IterationChildren(r.Context(), actor, id, store.Page{})
		if err != nil {
			return v, err
		}
		var own int64
		for _, m := range summary.Metrics {
			own += m.Count
		}
		points += own
		v.Children += children.Total
		v.Runs = append(v.Runs, changeRow{run: s.run(i), Params: humanize.Comma(int64(len(summary.Params))),
			Metrics: humanize.Comma(int64(len(summary.Metrics))), Points: humanize.Comma(own)})
		v.Experiment.ID = i.ExperimentID
	}
	v.Points = humanize.Comma(points)
	if v.Experiment, err = s.DB.Experiment(r.Context(), actor, v.Experiment.ID); err != nil {
		return v, err
	}
	v.Rights, err = s.DB.Rights(r.Context(), actor, v.Experiment.ProjectID)
	return v, err
}

// deletion asks before runs are deleted, and says what goes with them.
func (s *site) deletion(w http.ResponseWriter, r *http.Request, user store.User) error {
	v, err := s.chosen(r, store.Actor{UserID: user.ID}, r.URL.Query()["i"])
	if err != nil {
		return err
	}
	return s.showDeletion(w, r, user, http.StatusOK, v)
}

func (s *site) showDeletion(w http.ResponseWriter, r *http.Request, user store.User, status int, v changeView) error {
	f, err := s.changeFrame(r, user, "Delete", v)
	if err != nil {
		return err
	}
	return s.render(w, r, status, deletePage(f, v))
}

func (s *site) changeFrame(r *http.Request, user store.User, title string, v changeView) (frame, error) {
	f, err := s.inside(r.Context(), title, user, place{projectID: v.Experiment.ProjectID, experimentID: v.Experiment.ID})
	f.Crumbs = []crumb{{"Projects", "/"}, {v.Experiment.Name, "/experiment/" + v.Experiment.ID}, {Name: title}}
	return f, err
}

// delete removes runs, one after the other. The first that can't be removed
// stops it, and the page says why.
func (s *site) delete(w http.ResponseWriter, r *http.Request, user store.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	actor, ids := store.Actor{UserID: user.ID}, fields["i"]
	v, err := s.chosen(r, actor, ids)
	if err != nil {
		return err
	}
	for n, id := range ids {
		err := s.DB.DeleteIteration(r.Context(), actor, id)
		if e := formError(err); e != nil {
			if v, err = s.chosen(r, actor, ids[n:]); err != nil {
				return err
			}
			v.Wrong = e.Message
			return s.showDeletion(w, r, user, middleware.StatusOf(e.Code), v)
		}
		if err != nil {
			return err
		}
	}
	s.redirect(w, r, "/experiment/"+v.Experiment.ID)
	return nil
}

// changes is the form for tags and the status of runs.
func (s *site) changes(w http.ResponseWriter, r *http.Request, user store.User) error {
	v, err := s.chosen(r, store.Actor{UserID: user.ID}, r.URL.Query()["i"])
	if err != nil {
		return err
	}
	return s.showChanges(w, r, user, http.StatusOK, v)
}

func (s *site) showChanges(w http.ResponseWriter, r *http.Request, user store.User, status int, v changeView) error {
	f, err := s.changeFrame(r, user, "Change", v)
	if err != nil {
		return err
	}
	return s.render(w, r, status, changePage(f, v))
}

// change puts a tag on runs, takes one off, or sets their status.
func (s *site) change(w http.ResponseWriter, r *http.Request, user store.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	actor, ctx := store.Actor{UserID: user.ID}, r.Context()
	v, err := s.chosen(r, actor, fields["i"])
	if err != nil {
		return err
	}
	v.Tag, v.Status = strings.TrimSpace(readable(fields.Get("tag"))), fields.Get("status")
	for _, row := range v.Runs {
		switch do := fields.Get("do"); {
		case do == "add":
			_, err = s.DB.CreateTag(ctx, actor, store.IterationTag, row.ID, v.Tag)
		case do == "remove" && slices.Contains(row.Tags, v.Tag):
			err = s.DB.DeleteTag(ctx, actor, store.IterationTag, row.ID, v.Tag)
		case do == "status":
			err = s.DB.UpdateIteration(ctx, actor, row.ID, store.IterationPatch{Status: new(store.IterationStatus(v.Status))})
		}
		if e := formError(err); e != nil {
			v.Wrong = e.Message
			if fields.Get("do") == "status" {
				v.Field = "status"
			}
			if e.Code == store.CodeIterationEnded {
				v.Wrong = row.Name + " has ended already: reopen it first."
			}
			return s.showChanges(w, r, user, middleware.StatusOf(e.Code), v)
		}
		if err != nil {
			return err
		}
	}
	if len(v.Runs) == 1 {
		s.redirect(w, r, "/iteration/"+v.Runs[0].ID)
		return nil
	}
	s.redirect(w, r, "/experiment/"+v.Experiment.ID)
	return nil
}

func runsOf(n int) string {
	if n == 1 {
		return "1 run"
	}
	return strconv.Itoa(n) + " runs"
}

func keepOf(n int) string {
	if n == 1 {
		return "Keep it"
	}
	return "Keep them"
}

func childrenOf(n int) string {
	if n == 1 {
		return "One child stays"
	}
	return strconv.Itoa(n) + " children stay"
}
