package ui

import (
	"net/http"
	"strings"

	"tracker/store"
)

func (s *site) viewsData(r *http.Request, actor store.Actor) (any, error) {
	return s.DB.SavedViews(r.Context(), actor, idOf(r), store.Page{Limit: store.MaxLimit})
}

func (s *site) createViewData(r *http.Request, actor store.Actor) (any, error) {
	var n store.NewSavedView
	if err := readBody(r, &n); err != nil {
		return nil, err
	}
	n.Name = strings.TrimSpace(n.Name)
	return s.DB.CreateSavedView(r.Context(), actor, idOf(r), n)
}

func (s *site) updateViewData(r *http.Request, actor store.Actor) (any, error) {
	var p store.SavedViewPatch
	if err := readBody(r, &p); err != nil {
		return nil, err
	}
	return struct{}{}, s.DB.UpdateSavedView(r.Context(), actor, idOf(r), p)
}

func (s *site) deleteViewData(r *http.Request, actor store.Actor) (any, error) {
	return struct{}{}, s.DB.DeleteSavedView(r.Context(), actor, idOf(r))
}
