package ui

import (
	"slices"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
)

const (
	// sideProjects and sideExperiments are the maximum numbers of projects and experiments in the sidebar.
	sideProjects    = 30
	sideExperiments = 50
)

// sideLink is a line of the sidebar: a project, with its experiments if the page belongs to the project.
type sideLink struct {
	Name    string
	Path    string
	Current bool // whether the page shows this record or one below it
	Here    bool // whether the link leads to the page itself
	Below   []sideLink
	More    bool // whether there are more than the listed ones
}

// current returns the value of aria-current.
func (l sideLink) current() string {
	if l.Here {
		return "page"
	}
	return "true"
}

// place is the position of a page in the tree of records. A field is "" if the
// page is not below such a record.
type place struct {
	projectID    string
	experimentID string
	models       bool // whether the page shows models of the project
	trash        bool // whether the page is the page of the trash
}

// side returns the sidebar of a page.
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
	var links []sideLink
	for _, p := range list.Data {
		l := sideLink{Name: p.Name, Path: "/project/" + p.ID, Current: current(p)}
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
