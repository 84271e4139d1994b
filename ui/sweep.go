package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/wandb"
	"tracker/ui/plain"
)

// sweepsView is the view of the page that lists an experiment's sweeps.
type sweepsView struct {
	Rows []sweepRow
}

type sweepRow struct {
	Path    string
	Name    string
	Method  string
	State   string
	Runs    string
	Created moment
}

// sweepView is the view of a sweep's page.
type sweepView struct {
	sweepRow
	ID        string
	Objective string // description, "" for none
	Early     string // description, "" for none
	Best      *sweepBest
	Space     []sweepSetting
	All       string    // path of the table with the sweep's runs
	Analyse   string    // path of the Analyse tab with the sweep's runs
	Progress  *progress // nil if fewer than two runs have a result
	Rights    domain.Permission
	States    []sweepButton

	// The script that analyses the sweep's runs reads these fields.
	ExperimentID, Filter, Metric, Goal string
}

type sweepBest struct {
	Path   string
	Name   string
	Metric string
	Value  string
}

type sweepSetting struct {
	Name         string
	Distribution string
	Values       string
	Best         string // value in the best run, "" for none
}

type sweepButton struct{ State, Text, Title string }

// sweepStates maps a sweep's state to the text that pages show. The function sweepButtons
// returns the actions available in a state.
var sweepStates = map[wandb.SweepState]string{
	wandb.SweepPending: "Waiting for agents", wandb.SweepRunning: "Running", wandb.SweepPaused: "Paused",
	wandb.SweepFinished: "Finished", wandb.SweepCanceled: "Canceled",
}

func sweepButtons(state wandb.SweepState) []sweepButton {
	resume := sweepButton{string(wandb.SweepRunning), "Resume", "Agents get new runs again"}
	pause := sweepButton{string(wandb.SweepPaused), "Pause", "Agents get no new runs. Running runs continue."}
	stop := sweepButton{string(wandb.SweepFinished), "Stop", "Agents stop after their current run"}
	cancel := sweepButton{string(wandb.SweepCanceled), "Cancel", "Agents and their runs stop now"}
	switch state {
	case wandb.SweepPending, wandb.SweepRunning:
		return []sweepButton{pause, stop, cancel}
	case wandb.SweepPaused:
		return []sweepButton{resume, stop, cancel}
	}
	return []sweepButton{resume}
}

func (s *site) sweepRow(one wandb.Sweep) sweepRow {
	row := sweepRow{Path: "/sweep/" + one.ID, Name: one.Title(), Method: string(one.Config.Method), State: sweepStates[one.State],
		Runs: humanize.Comma(int64(one.Given)), Created: s.moment(one.CreatedDate)}
	if one.Config.Bounded() {
		row.Runs += " of " + humanize.Comma(int64(one.Config.Size()))
	}
	return row
}

// sweeps lists the sweeps of an experiment.
func (s *site) sweeps(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		e, p, err := s.experimentOf(db, idOf(r))
		if err != nil {
			return nil, err
		}
		list, err := db.Wandb.Sweeps(p.ID, e.ID)
		if err != nil {
			return nil, err
		}
		var v sweepsView
		for _, one := range list {
			v.Rows = append(v.Rows, s.sweepRow(one))
		}
		f, err := s.inside(db, "Sweeps of "+e.Name, user, place{projectID: p.ID, experimentID: e.ID})
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Sweeps"}}
		return sweepsPage(f, v), err
	})
}

// sweep shows the page of a sweep with its search space, its progress and its best run.
func (s *site) sweep(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		one, err := db.Wandb.Sweep(idOf(r))
		if err != nil {
			return nil, err
		}
		e, p, err := s.experimentOf(db, one.ExperimentID)
		if err != nil {
			return nil, err
		}
		v := sweepView{sweepRow: s.sweepRow(one), ID: one.ID}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		if v.Rights.Update {
			v.States = sweepButtons(one.State)
		}
		query := url.Values{"filter": {one.Filter()}}
		best, err := db.Wandb.SweepBest(one)
		if err != nil {
			return nil, err
		}
		params := map[string]string{}
		if best != nil {
			v.Best = &sweepBest{"/iteration/" + best.ID, best.Name, best.Metric, plain.Number(best.Value)}
			of, err := db.Runs.IterationRecord(best.ID)
			if err != nil {
				return nil, err
			}
			for _, p := range of.Parameters {
				params[p.Key] = p.Value
			}
		}
		if o := one.Objective(); o != nil {
			v.Objective = string(o.Goal) + " " + o.Metric
			if best != nil {
				o.Metric = best.Metric
			}
			query.Set("sort", o.Order())
		}
		if h := one.Config.Early; h != nil {
			v.Early = fmt.Sprintf("the best 1/%g continue after %s values", h.Eta, numbers(h.Brackets))
		}
		for _, d := range one.Config.Dimensions {
			v.Space = append(v.Space, sweepSetting{d.Name(), d.Distribution, d.String(), params[strings.Join(d.Path, "/")]})
		}
		v.ExperimentID, v.Filter = e.ID, one.Filter()
		v.All = "/experiment/" + e.ID + "?" + query.Encode()
		query.Set("analyse", "1")
		if o := one.Objective(); o != nil {
			if best != nil {
				o.Metric = best.Metric
			}
			v.Metric, v.Goal = o.Metric, goalWord(o.Goal)
			query.Set("metric", v.Metric)
			query.Set("goal", v.Goal)
			found, err := db.Runs.Analysis(runs.AnalysisQuery{ExperimentID: e.ID, Filter: one.Filter(), Columns: o.Value()})
			if err != nil {
				return nil, err
			}
			if len(found.Metrics) > 0 {
				slices.Reverse(found.Metrics[0])
				v.Progress = progressOf(found.Metrics[0], *o)
			}
		}
		v.Analyse = "/experiment/" + e.ID + "?" + query.Encode()
		f, err := s.inside(db, v.Name, user, place{projectID: p.ID, experimentID: e.ID})
		f.InPlace, f.Module = true, "sweep.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID},
			{"Sweeps", "/experiment/" + e.ID + "/sweeps"}, {Name: v.Name}}
		return sweepPage(f, v), err
	})
}

// numbers returns the first four numbers of a list as text. An ellipsis marks omitted numbers.
func numbers(all []int) string {
	var texts []string
	for i, n := range all {
		if i == 4 {
			return strings.Join(texts, ", ") + " …"
		}
		texts = append(texts, humanize.Comma(int64(n)))
	}
	return strings.Join(texts, ", ")
}

// changeSweep sets the state of a sweep.
func (s *site) changeSweep(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	state := fields.Get("state")
	_, err = s.DB.Wandb.SaveSweep(r.Context(), user.Actor(), wandb.SweepChange{ID: idOf(r), State: &state})
	return s.redirectUnless(err, w, r, "/sweep/"+idOf(r))
}
