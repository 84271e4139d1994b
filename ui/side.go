package ui

import (
	"slices"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
)

const (
	// sideProjects and sideExperiments are the maximum numbers of projects and experiments in
	// the sidebar.
	sideProjects    = 30
	sideExperiments = 50
)

// sideLink is a link in the sidebar. A project's link has its experiments in Below if the page
// belongs to the project.
type sideLink struct {
	Name    string
	Path    string
	Current bool // whether the page shows the linked record or a record in it
	Here    bool // whether the link leads to the current page
	Below   []sideLink
	More    bool // whether Below omits experiments
}

// current returns the value of the attribute aria-current for a current link.
func (l sideLink) current() string {
	if l.Here {
		return "page"
	}
	return "true"
}

// place is the position of a page in the tree of records. If the page belongs to no project or
// experiment, the ID is empty.
type place struct {
	projectID    string
	experimentID string
	models       bool // whether the page shows the project's models
	trash        bool // whether the page is the trash page
}

// side returns the sidebar links of a page.
func (s *site) side(db *store.View, at place) ([]sideLink, error) {
	list, err := db.Projects.Projects(projects.ProjectQuery{Page: domain.Page{Limit: sideProjects}})
	if err != nil {
		return nil, err
	}
	current := func(p projects.Project) bool { return p.ID == at.projectID }
	if at.projectID != "" && !slices.ContainsFunc(list.Data, current) {
		p, err := db.Projects.Project(at.projectID)
		if err != nil {
			return nil, err
		}
		list.Data = append([]projects.Project{p}, list.Data...)
	}
	label := projectLabels(list.Data)
	var links []sideLink
	for _, p := range list.Data {
		l := sideLink{Name: label(p), Path: "/project/" + p.ID, Current: current(p)}
		if l.Current {
			l.Here = at.experimentID == "" && !at.models
			if l.Below, l.More, err = s.sideBelow(db, at); err != nil {
				return nil, err
			}
		}
		links = append(links, l)
	}
	return links, nil
}

func (s *site) sideBelow(db *store.View, at place) (links []sideLink, more bool, err error) {
	list, err := db.Projects.Experiments(at.projectID, projects.ExperimentQuery{Page: domain.Page{Limit: sideExperiments}})
	links = append(links, sideLink{Name: "Models", Path: "/project/" + at.projectID + "/models", Current: at.models, Here: at.models})
	for _, e := range list.Data {
		here := e.ID == at.experimentID
		links = append(links, sideLink{Name: e.Name, Path: "/experiment/" + e.ID, Current: here, Here: here})
	}
	return links, list.Total > len(list.Data), err
}
