package ui

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/trash"
	"tracker/ui/plain"
)

// trashView is the view of the trash page.
type trashView struct {
	Rows      []trashRow
	Found     string
	ProjectID string // project whose records are listed, "" for all projects
	Project   string // project name, "" if unknown
	Pager     pager
	Days      int // days until a deleted record is purged; 0 for immediately
	Wrong     string
	Until     string // time of the last deletion that emptying the trash includes, in Unix milliseconds; "" if not allowed
}

type trashRow struct {
	trash.Trashed
	Takes   string // description of the records that are restored or purged with this record, "" for none
	Deleted moment
	Purged  moment
	By      string // user who deleted the record; "" for the command line or a deleted user
}

// trash lists the deleted records that the user can restore.
func (s *site) trash(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showTrash(w, r, user, http.StatusOK, "")
}

func (s *site) showTrash(w http.ResponseWriter, r *http.Request, user domain.User, status int, wrong string) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		query := r.URL.Query()
		q := trash.Query{Page: pageOf(query)}
		keep := url.Values{}
		if q.Limit != domain.DefaultLimit {
			keep.Set("limit", strconv.Itoa(q.Limit))
		}
		v := trashView{ProjectID: query.Get("project"), Days: s.trashDays(), Wrong: wrong}
		if v.ProjectID != "" {
			q.ProjectID = &v.ProjectID
			keep.Set("project", v.ProjectID)
		} else if user.IsAdmin {
			v.Until = strconv.FormatInt(s.Now().UnixMilli(), 10)
		}
		list, err := db.Trash.List(q)
		if err != nil {
			return nil, err
		}
		v.Found = plain.Counted(list.Total, "record", "records")
		v.Pager = newPager(keep, q.Page, len(list.Data), list.Total)
		for _, t := range list.Data {
			v.Rows = append(v.Rows, s.trashRow(t))
			if v.ProjectID != "" {
				v.Project = t.ProjectName
			}
		}
		f, err := s.inside(db, "Trash", user, place{trash: true})
		if err != nil {
			return nil, err
		}
		f.Crumbs = []crumb{{"Projects", "/"}, {Name: "Trash"}}
		return trashPage(f, v), nil
	})
}

func (s *site) trashRow(t trash.Trashed) trashRow {
	row := trashRow{Trashed: t, Deleted: s.moment(t.DeletedDate), Purged: s.moment(t.PurgeDate)}
	if t.DeletedBy != nil {
		row.By = *t.DeletedBy
	}
	var takes []string
	for _, n := range []struct {
		n         int
		one, many string
	}{
		{t.Experiments, "experiment", "experiments"}, {t.Iterations, "run", "runs"}, {t.Models, "model", "models"},
		{t.Versions, "version", "versions"}, {t.Artifacts, "artifact", "artifacts"},
	} {
		if n.n > 0 && t.Kind != domain.TrashedArtifact {
			takes = append(takes, plain.Counted(n.n, n.one, n.many))
		}
	}
	if t.SizeBytes > 0 {
		takes = append(takes, plain.Size(t.SizeBytes))
	}
	row.Takes = strings.Join(takes, ", ")
	return row
}

// held returns the reason why the record can't be restored now, or "" if it can be restored.
func (r trashRow) held() string {
	if r.HeldBy == "" {
		return ""
	}
	return "Its " + r.HeldBy.Word() + " is in the trash too. Restore that first."
}

// changeTrash restores records, purges a record, or empties the trash.
func (s *site) changeTrash(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx, actor, ids := r.Context(), user.Actor(), fields["id"]
	if fields.Get("do") == "empty" {
		return s.emptyTrash(w, r, user, fields.Get("until"))
	}
	if len(ids) == 0 {
		return errBrokenForm
	}
	back := "/trash"
	if project := fields.Get("project"); project != "" {
		back += "?" + url.Values{"project": {project}}.Encode()
	}
	switch fields.Get("do") {
	case "restore":
		path, err := s.restore(ctx, actor, ids)
		if e := formError(err); e != nil {
			return s.showTrash(w, r, user, web.StatusOf(e.Code), "Nothing was restored. "+e.Message)
		}
		if err != nil {
			return err
		}
		// Undo returns to the table, with the same filter and sort order as before the deletion.
		if table, err := url.ParseQuery(fields.Get("table")); err == nil && len(table) > 0 && strings.HasPrefix(path, experimentPath) {
			path += "?" + table.Encode()
		}
		s.redirect(w, r, path)
		return nil
	case "purge":
		err := s.DB.Trash.Purge(ctx, actor, ids[0])
		if e := formError(err); e != nil {
			return s.showTrash(w, r, user, web.StatusOf(e.Code), "Nothing was deleted. "+e.Message)
		}
		if err != nil {
			return err
		}
		s.redirect(w, r, back)
		return nil
	}
	return errBrokenForm
}

// emptyTrash purges the records that were deleted up to the time until, in Unix milliseconds.
// The form contains the time at which the server rendered the page. Records deleted later are
// kept, because the user has not seen them.
func (s *site) emptyTrash(w http.ResponseWriter, r *http.Request, user domain.User, until string) error {
	ms, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return errBrokenForm
	}
	age := max(0, s.Now().Sub(time.UnixMilli(ms)))
	err = s.DB.Trash.Empty(r.Context(), user.Actor(), age, func(trash.Purged) {})
	if e := formError(err); e != nil {
		return s.showTrash(w, r, user, web.StatusOf(e.Code), "Some items were not deleted. "+e.Message)
	}
	return s.redirectUnless(err, w, r, "/trash")
}

// restore restores records and returns the path of the page that shows them.
func (s *site) restore(ctx context.Context, actor domain.Actor, ids []string) (path string, err error) {
	var first trash.Trashed
	err = s.DB.View(ctx, actor, func(db *store.View) (err error) {
		first, err = db.Trash.Trashed(ids[0])
		return err
	})
	if err != nil {
		return "", err
	}
	if err := s.DB.Trash.Restore(ctx, actor, ids...); err != nil {
		return "", err
	}
	switch first.Kind {
	case domain.TrashedProject, domain.TrashedExperiment, domain.TrashedModel, domain.TrashedReport:
		return "/" + string(first.Kind) + "/" + first.ID, nil
	case domain.TrashedArtifact:
		return "/artifact/" + first.ID, nil
	case domain.TrashedVersion:
		v, err := s.DB.Models.ModelVersion(ctx, actor, first.ID)
		if err != nil { // a user who can delete might not be allowed to read
			return "/trash", nil
		}
		return "/model/" + v.ModelID, nil
	}
	if len(ids) == 1 {
		return "/iteration/" + first.ID, nil
	}
	i, err := s.DB.Runs.Iteration(ctx, actor, first.ID)
	if err != nil {
		return "/trash", nil
	}
	return "/experiment/" + i.ExperimentID, nil
}

// trashDays returns the number of days that records stay in the trash.
func (s *site) trashDays() int { return int(s.DB.Trash.Age().Hours() / 24) }

// undoing returns a message about whether and how a deletion can be undone.
func (s *site) undoing() string {
	switch days := s.trashDays(); days {
	case 0:
		return "This can't be undone."
	default:
		return "It is moved to the trash and can be restored for " + plain.Counted(days, "day", "days") + "."
	}
}

// undoingAll is undoing for the deletion of several records.
func (s *site) undoingAll() string {
	if s.trashDays() == 0 {
		return s.undoing()
	}
	return "They are moved to the trash and can be restored for " + plain.Counted(s.trashDays(), "day", "days") + "."
}

// maxUndo is the maximum number of deleted records for which the page offers Undo. If more
// records were deleted, the user can restore each record from the trash.
const maxUndo = 20

// deletedQuery is the name of the query parameter with the IDs of records that were just deleted.
const deletedQuery = "deleted"

// afterDeletion returns path with the IDs of the deleted records in the query. The page at this
// path offers Undo.
func (s *site) afterDeletion(path string, ids ...string) string {
	if s.trashDays() == 0 || len(ids) == 0 || len(ids) > maxUndo {
		return path
	}
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	return path + join + url.Values{deletedQuery: {strings.Join(ids, " ")}}.Encode()
}

// experimentPath is the path prefix of pages with a table of runs.
const experimentPath = "/experiment/"

// undo is an offer to restore records that were just deleted.
type undo struct {
	IDs   []string
	Text  string
	Table string // query of the page's table of runs, "" for none
}

type undoContext struct{}

// undoFrom returns the undo offer of the page, or nil for none.
func undoFrom(ctx context.Context) *undo {
	u, _ := ctx.Value(undoContext{}).(*undo)
	return u
}

// offerUndo returns the request with an undo offer in its context. The offer contains the
// records in the query that are in the trash and that the user can restore. If there are no
// records to restore, offerUndo returns r unchanged.
func (s *site) offerUndo(r *http.Request, db *store.View) (*http.Request, error) {
	ids := strings.Fields(r.URL.Query().Get(deletedQuery))
	if len(ids) == 0 || len(ids) > maxUndo || r.Method != http.MethodGet {
		return r, nil
	}
	u := undo{}
	for _, id := range ids {
		t, err := db.Trash.Trashed(id)
		switch e := web.AsError(err); {
		case err == nil:
			u.IDs = append(u.IDs, id)
			u.Text = "Deleted the " + trashRow{Trashed: t}.Kind.Word() + " " + t.Name + "."
		case e.Code != domain.CodeNotFound && e.Code != domain.CodeProjectPermissionRequired:
			return r, err
		}
	}
	if len(u.IDs) == 0 {
		return r, nil
	}
	if len(u.IDs) > 1 {
		u.Text = "Deleted " + runsOf(len(u.IDs)) + "."
	}
	if strings.HasPrefix(r.URL.Path, experimentPath) {
		query := r.URL.Query()
		query.Del(deletedQuery)
		u.Table = query.Encode()
	}
	return r.WithContext(context.WithValue(r.Context(), undoContext{}, &u)), nil
}
