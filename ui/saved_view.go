package ui

import (
	"net/http"
	"strings"

	"tracker/store/domain"
	"tracker/store/projects"
)

func (s *site) viewsData(r *http.Request, actor domain.Actor) (any, error) {
	return s.DB.Projects.SavedViews(r.Context(), actor, idOf(r), domain.Page{Limit: domain.MaxLimit})
}

func (s *site) createViewData(r *http.Request, actor domain.Actor) (any, error) {
	var n projects.NewSavedView
	if err := readBody(r, &n); err != nil {
		return nil, err
	}
	n.Name = strings.TrimSpace(n.Name)
	return s.DB.Projects.CreateSavedView(r.Context(), actor, idOf(r), n)
}

func (s *site) updateViewData(r *http.Request, actor domain.Actor) (any, error) {
	var p projects.SavedViewPatch
	if err := readBody(r, &p); err != nil {
		return nil, err
	}
	return struct{}{}, s.DB.Projects.UpdateSavedView(r.Context(), actor, idOf(r), p)
}

func (s *site) deleteViewData(r *http.Request, actor domain.Actor) (any, error) {
	return struct{}{}, s.DB.Projects.DeleteSavedView(r.Context(), actor, idOf(r))
}
