package ui

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/ui/plain"
)

// projectsView is the view of the page of all projects.
type projectsView struct {
	Form   recordForm
	Query  string
	Limit  string // limit in the query, "" for the default
	Found  string // number of projects, with "found" after a search
	Rows   []projectRow
	Pager  pager
	Lesson *lesson // nil if there are projects
	Home   homeView
}

type projectRow struct {
	Path        string
	Name        string
	Description string
	Experiments string
	Iterations  string
	Created     moment
	By          *string // user name of the creator; nil if unknown
}

// projects lists the projects that the user can read.
func (s *site) projects(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showProjects(w, r, user, http.StatusOK, recordForm{})
}

func (s *site) showProjects(w http.ResponseWriter, r *http.Request, user domain.User, status int, typed recordForm) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		query := r.URL.Query()
		q := projects.ProjectQuery{Page: pageOf(query), Name: nameQuery(query)}
		keep := keptQuery(q.Name, q.Page)
		list, err := db.Projects.Projects(q)
		if err != nil {
			return nil, err
		}
		v := projectsView{
			Form:  typed,
			Query: q.Name,
			Limit: keep.Get("limit"),
			Found: humanize.Comma(int64(list.Total)),
			Pager: newPager(keep, q.Page, len(list.Data), list.Total),
		}
		if q.Name != "" {
			v.Found += " found"
		}
		label := projectLabels(list.Data)
		for _, p := range list.Data {
			v.Rows = append(v.Rows, projectRow{
				Path:        "/project/" + p.ID,
				Name:        label(p),
				Description: plain.Line(p.Description, 200),
				Experiments: humanize.Comma(int64(p.ExperimentCount)),
				Iterations:  humanize.Comma(int64(p.IterationCount)),
				Created:     s.moment(p.CreatedDate),
				By:          p.CreatedBy,
			})
		}
		if list.Total == 0 && q.Name == "" {
			v.Lesson = s.lesson(r, user, lessonFrom{})
		} else if q.Name == "" && q.Offset == 0 {
			if v.Home, err = s.home(db); err != nil {
				return nil, err
			}
		}
		f, err := s.inside(db, "Projects", user, place{})
		if err != nil {
			return nil, err
		}
		f.Crumbs = []crumb{{Name: "Projects"}}
		return projectsPage(f, v), nil
	})
}

// projectLabels returns a function that returns the name of a project for a list. If several projects
// in the list have the same name, their names are followed by their owners.
func projectLabels(all []projects.Project) func(projects.Project) string {
	named := map[string]int{}
	for _, p := range all {
		named[p.Name]++
	}
	return func(p projects.Project) string {
		if named[p.Name] < 2 || p.Owner == nil {
			return p.Name
		}
		return p.Name + " (" + *p.Owner + ")"
	}
}

// nameQuery returns the search text in ?q=. The text is cut to domain.MaxName characters,
// because no name is longer.
func nameQuery(query url.Values) string {
	q := []rune(plain.Readable(query.Get("q")))
	return string(q[:min(len(q), domain.MaxName)])
}

// keptQuery returns the query parameters that the pager's links preserve.
func keptQuery(name string, page domain.Page) url.Values {
	keep := url.Values{}
	if name != "" {
		keep.Set("q", name)
	}
	if page.Limit != domain.DefaultLimit {
		keep.Set("limit", strconv.Itoa(page.Limit))
	}
	return keep
}

// pageOf parses ?limit= and ?offset=. An invalid number is ignored, because users can edit the
// address by hand.
func pageOf(query url.Values) domain.Page {
	p := domain.FirstPage
	if n, err := strconv.Atoi(query.Get("limit")); err == nil && n > 0 {
		p.Limit = min(n, domain.MaxLimit)
	}
	if n, err := strconv.Atoi(query.Get("offset")); err == nil && n > 0 {
		p.Offset = n
	}
	return p
}

// pager holds the links to other pages of a listing. First, Previous and Next are query
// strings. Previous and Next are "" if the page does not exist.
type pager struct {
	Shown    string // for example "51–100 of 240"
	First    string
	Previous string
	Next     string
	Beyond   bool // whether the offset is after the last record
}

// newPager returns the pager of a listing. The links keep the query parameters in keep.
func newPager(keep url.Values, page domain.Page, shown, total int) pager {
	at := func(offset int) string {
		v := maps.Clone(keep)
		if offset > 0 {
			v.Set("offset", strconv.Itoa(offset))
		}
		return "?" + v.Encode()
	}
	p := pager{First: at(0), Beyond: shown == 0 && total > 0}
	if page.Offset > 0 && !p.Beyond {
		p.Previous = at(max(0, page.Offset-page.Limit))
	}
	if shown > 0 && page.Offset+shown < total {
		p.Next = at(page.Offset + shown) // a page of large records can have fewer records than its limit
	}
	if p.Previous != "" || p.Next != "" {
		p.Shown = humanize.Comma(int64(page.Offset+1)) + "–" + humanize.Comma(int64(page.Offset+shown)) +
			" of " + humanize.Comma(int64(total))
	}
	return p
}
