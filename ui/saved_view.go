package ui

import (
	"errors"
	"net/http"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/ui/markdown"
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

// viewData returns the layout of a saved view, null for the default layout.
func (s *site) viewData(r *http.Request, db *store.View) (any, error) {
	layout, err := db.Projects.ViewLayout(idOf(r))
	return struct {
		Panels *projects.Layout `json:"panels"`
	}{layout}, err
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

// renderedText is the response of textData. Either HTML is set, or Plain and Note are set.
type renderedText struct {
	HTML  string `json:"html,omitzero"`
	Plain string `json:"plain,omitzero"`
	Note  string `json:"note,omitzero"` // reason why the text is not rendered
}

// textData renders the text of a panel as Markdown. If the text exceeds a limit, it returns the
// plain text and the reason.
func (s *site) textData(r *http.Request, _ domain.Actor) (any, error) {
	var b struct {
		Text string `json:"text"`
	}
	if err := readBody(r, &b); err != nil {
		return nil, err
	}
	html, err := markdown.Render(r.Context(), b.Text)
	if limit := (*markdown.LimitError)(nil); errors.As(err, &limit) {
		return renderedText{Plain: b.Text, Note: "It is shown as plain text, because " + limit.Reason + "."}, nil
	}
	return renderedText{HTML: html}, err
}
