package ui

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/ui/plain"
)

// bulkAtOnce is the number of runs that are changed concurrently. The store can write
// concurrent changes in one commit.
const bulkAtOnce = 32

// bulkView is the view of the form that changes all runs that match a filter.
type bulkView struct {
	Experiment projects.Experiment
	Filter     string
	N          int // number of runs that match the filter
	Runs       string
	Rights     domain.Permission
	Tag        string // entered tag
	Status     string
	Wrong      string
	Field      string // name of the rejected field
	Done       string // message with the number of changed runs
	Left       string // message with the number of unchanged runs and the reason
	Back       string // path of the table with the matching runs
	Undoing    string // message about whether and how a deletion can be undone
}

// allChanges shows the form that changes all runs that match a filter. The form sets tags or
// the status, or deletes the runs.
func (s *site) allChanges(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showBulk(w, r, user, http.StatusOK, plain.Readable(r.URL.Query().Get("filter")), func(*bulkView) {})
}

// passing reads an experiment and the IDs of its runs that match a filter.
func (s *site) passing(db *store.View, experimentID, filter string) (v bulkView, ids []string, err error) {
	if v.Experiment, err = db.Projects.Experiment(experimentID); err != nil {
		return v, nil, err
	}
	if v.Rights, err = db.Users.Rights(v.Experiment.ProjectID); err != nil {
		return v, nil, err
	}
	v.Filter, v.Back = strings.TrimSpace(filter), "/experiment/"+v.Experiment.ID+filterQuery(filter)
	if ids, err = db.Runs.IterationIDs(v.Experiment.ID, runs.IterationQuery{Filter: v.Filter}); err != nil {
		return v, nil, err
	}
	v.N, v.Runs = len(ids), runsOf(len(ids))
	return v, ids, nil
}

// showBulk shows the form. The function fill adds the input, the errors and the results.
func (s *site) showBulk(w http.ResponseWriter, r *http.Request, user domain.User, status int, filter string, fill func(*bulkView)) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v, _, err := s.passing(db, idOf(r), filter)
		if err != nil {
			return nil, err
		}
		fill(&v)
		v.Undoing = s.undoingAll()
		f, err := s.changeFrame(db, user, "Change", changeView{Experiment: v.Experiment})
		if err != nil {
			return nil, err
		}
		return bulkPage(f, v), nil
	})
}

// changeAll applies the form to all runs that match a filter. If the number of matching runs
// differs from the number in the form, nothing is changed. Runs that can't be changed are
// skipped. The page shows the number of skipped runs and the reason.
func (s *site) changeAll(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	filter, tag, status, do := plain.Readable(fields.Get("filter")), strings.TrimSpace(plain.Readable(fields.Get("tag"))), fields.Get("status"), fields.Get("do")
	var ids []string
	err = s.view(r, user, func(db *store.View) (err error) {
		_, ids, err = s.passing(db, idOf(r), filter)
		return err
	})
	if err != nil {
		return err
	}
	again := func(code int, fill func(*bulkView)) error {
		return s.showBulk(w, r, user, code, filter, func(v *bulkView) {
			v.Tag, v.Status = tag, status
			fill(v)
		})
	}
	if seen := fields.Get("n"); seen != strconv.Itoa(len(ids)) {
		return again(http.StatusConflict, func(v *bulkView) {
			v.Wrong = "Nothing was changed, because the number of matching runs was " + plain.Line(seen, 20) + " and is now " + strconv.Itoa(v.N) + ". Check them and try again."
		})
	}
	if sure := strings.NewReplacer(",", "", " ", "").Replace(fields.Get("sure")); do == "delete" && sure != strconv.Itoa(len(ids)) {
		return again(http.StatusUnprocessableEntity, func(v *bulkView) {
			v.Wrong, v.Field = "Nothing was deleted. To delete the runs, type their number, "+strconv.Itoa(v.N)+".", "sure"
		})
	}
	done, left, err := s.doAll(r.Context(), user.Actor(), ids, do, tag, status)
	if e := formError(err); e != nil && done == 0 {
		return again(http.StatusUnprocessableEntity, func(v *bulkView) {
			v.Wrong, v.Field = e.Message, map[string]string{"delete": "sure", "status": "status"}[do]
		})
	}
	if err != nil {
		return err
	}
	return s.showBulk(w, r, user, http.StatusOK, filter, func(v *bulkView) {
		v.Done = map[string]string{"add": "Tagged ", "remove": "Removed the tag from ", "status": "Set the status of ", "delete": "Deleted "}[do] + runsOf(done) + "."
		if left > 0 {
			v.Left = runsOf(left) + map[string]string{
				"add": " already had the tag.", "remove": " did not have the tag.", "status": " had already ended. Reopen ended runs first.",
				"delete": " could not be deleted. Runs with model versions are kept.",
			}[do]
		}
	})
}

// doAll changes the runs with the given IDs. The result done is the number of changed runs. The
// result left is the number of runs that can't be changed and were skipped.
func (s *site) doAll(ctx context.Context, actor domain.Actor, ids []string, do, tag, status string) (done, left int, err error) {
	switch do {
	case "add", "remove":
		for len(ids) > 0 {
			n := min(len(ids), runs.MaxTagged)
			changed, err := s.DB.Runs.TagIterations(ctx, actor, ids[:n], tag, do == "add")
			if err != nil {
				return done, left, err
			}
			done, left, ids = done+changed, left+n-changed, ids[n:]
		}
		return done, left, nil
	case "status":
		patch := runs.IterationPatch{Status: new(domain.IterationStatus(status))}
		return each(ids, domain.CodeIterationEnded, func(id string) error { return s.DB.Runs.UpdateIteration(ctx, actor, id, patch) })
	case "delete":
		return each(ids, domain.CodeConflict, func(id string) error { return s.DB.Runs.DeleteIteration(ctx, actor, id) })
	}
	return 0, 0, errBrokenForm
}

// each calls fn for all ids, with up to bulkAtOnce calls at a time. The result done is the
// number of successful calls. The result left is the number of calls that returned an error
// with the code leave. Calls that return NOT_FOUND are not counted. After any other error, each
// starts no further calls and returns that error.
func each(ids []string, leave domain.Code, fn func(string) error) (done, left int, failed error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan string)
	for range min(bulkAtOnce, len(ids)) {
		wg.Go(func() {
			for id := range next {
				err := fn(id)
				mu.Lock()
				switch {
				case err == nil:
					done++
				case web.AsError(err).Code == leave:
					left++
				case web.AsError(err).Code != domain.CodeNotFound && failed == nil:
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	for _, id := range ids {
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop {
			break
		}
		next <- id
	}
	close(next)
	wg.Wait()
	return done, left, failed
}
