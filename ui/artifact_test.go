package ui_test

import (
	"strings"

	"tracker/store"
)

// keep makes an artifact of alice's and returns its id.
func (s *site) keep(experiment string, n store.NewResource, content string) string {
	s.t.Helper()
	data, err := s.db.Receive(s.t.Context(), strings.NewReader(content), "")
	if err != nil {
		s.t.Fatal(err)
	}
	defer data.Discard()
	made, err := s.db.CreateResource(s.t.Context(), s.actor("alice"), experiment, n, data)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// register makes a version of the model classifier from an artifact; "" for
// none.
func (s *site) register(project, run, artifact string) (model, version string) {
	s.t.Helper()
	ctx, actor := s.t.Context(), s.actor("alice")
	name := "classifier"
	list, err := s.db.Models(ctx, actor, project, store.ModelQuery{Page: store.FirstPage, Name: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(list.Data) > 0 {
		model = list.Data[0].ID
	} else {
		made, err := s.db.CreateModel(ctx, actor, project, store.NewModel{Name: name, Description: "Tells digits apart"})
		if err != nil {
			s.t.Fatal(err)
		}
		model = made.ID
	}
	n := store.NewModelVersion{IterationID: run}
	if artifact != "" {
		n.ResourceID = &artifact
	}
	made, err := s.db.CreateModelVersion(ctx, actor, model, n)
	if err != nil {
		s.t.Fatal(err)
	}
	return model, made.ID
}
