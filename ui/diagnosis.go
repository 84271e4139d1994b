package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/dustin/go-humanize"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/diagnosis"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/ui/plain"
	"tracker/ui/terminal"
)

// diagnosisView explains on a run's page what happened to the run.
type diagnosisView struct {
	RunID    string
	Findings []diagnosis.Finding
	Step     string // step of the first bad value, which charts mark; "" for none
	Console  string // last console lines, without styles
	Last     int64  // number of the last line in Console
	Crash    bool   // whether the lines show a crash
	Failures string // path of the failures of the experiment
	Slow     bool   // whether the diagnosis took too long
}

// explain returns the diagnosis of a run that failed, diverged or was lost. It returns nil for
// other runs, unless the diagnosis was requested.
func (s *site) explain(db *store.View, i runs.Iteration, summary runs.Summary, requested bool) (*diagnosisView, error) {
	if !requested && !summary.Shows(i.Status, s.status(i) == lost) {
		return nil, nil
	}
	v := &diagnosisView{RunID: i.ID, Failures: "/experiment/" + i.ExperimentID + "/failures"}
	d, err := db.Runs.Diagnosis(i.ID)
	if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
		v.Slow = true
		return v, nil
	}
	for _, f := range d.Findings {
		if f.Kind == diagnosis.BadValue && f.Step != nil {
			v.Step = strconv.FormatInt(*f.Step, 10)
		}
		v.Findings = append(v.Findings, f)
	}
	for _, l := range d.Console {
		v.Console += terminal.Plain(l.Text) + "\n"
		v.Last = l.Number
	}
	v.Crash = d.ConsoleLine != nil
	return v, err
}

// failuresView is the view of the page with the failures of an experiment.
type failuresView struct {
	Summary string
	Notes   []string
	Groups  []failureGroupView
}

type failureGroupView struct {
	runs.FailureGroup
	Title   string
	Omitted string // note about omitted runs, "" for none
	Compare string // path of the comparison of the listed runs, "" for a single run
}

// failures shows the failures of an experiment in groups.
func (s *site) failures(w http.ResponseWriter, r *http.Request, user domain.User) error {
	var v failuresView
	var f frame
	err := s.view(r, user, func(db *store.View) error {
		e, p, err := s.experimentOf(db, idOf(r))
		if err != nil {
			return err
		}
		found, err := db.Runs.Failures(e.ID)
		if err != nil {
			return err
		}
		v = newFailuresView(found, e.IterationCount)
		f, err = s.inside(db, "Failures", user, place{projectID: e.ProjectID, experimentID: e.ID})
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Failures"}}
		return err
	})
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, failuresPage(f, v))
}

func newFailuresView(found runs.Failures, total int) (v failuresView) {
	v.Summary = "No run failed, diverged or was lost."
	if found.Failed > 0 {
		were := "were"
		if found.Failed == 1 {
			were = "was"
		}
		v.Summary = fmt.Sprintf("%s failed, diverged or %s lost. %s finished.", runsOf(found.Failed), were, runsOf(found.Finished))
	}
	if total > found.Compared {
		v.Notes = append(v.Notes, fmt.Sprintf("Only the newest %s of %s runs were compared.", humanize.Comma(int64(found.Compared)), humanize.Comma(int64(total))))
	}
	if found.Left > 0 {
		v.Notes = append(v.Notes, plain.Counted(found.Left, "smaller group is", "smaller groups are")+" not shown.")
	}
	for _, g := range found.Groups {
		one := failureGroupView{FailureGroup: g, Title: runsOf(g.Count)}
		if left := g.Count - len(g.Runs); left > 0 {
			one.Omitted = "and " + humanize.Comma(int64(left)) + " more"
		}
		if len(g.Runs) > 1 {
			query := url.Values{}
			for _, r := range g.Runs {
				query.Add("i", r.ID)
			}
			one.Compare = "/compare?" + query.Encode()
		}
		v.Groups = append(v.Groups, one)
	}
	return v
}

// failedText returns the text of the link to an experiment's failures, "" if no run has failed.
func failedText(db *store.View, experimentID string) (string, error) {
	n, err := db.Runs.FailedCount(experimentID)
	if n == 0 {
		return "", err
	}
	return humanize.Comma(int64(n)) + " failed", err
}
