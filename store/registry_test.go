package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracker/store"
)

// stage moves a version with what becomes of the others.
func (r *registry) stage(t testing.TB, version string, to store.Stage, others store.StageOthers) {
	t.Helper()
	wantOK(t, r.UpdateModelVersion(ctx, store.System, version, store.ModelVersionPatch{Stage: &to, Others: others}))
}

func TestSeveralVersionsShareAStage(t *testing.T) {
	r := newRegistry(t)
	var ids []string
	for range 3 {
		ids = append(ids, r.version(t, r.model, r.iteration, nil))
	}
	for _, id := range ids {
		r.stage(t, id, store.Production, store.OthersKept)
	}
	if got := r.stages(t, r.model); !slices.Equal(got, slices.Repeat([]store.Stage{store.Production}, 3)) {
		t.Errorf("the stages are %v", got)
	}
	inProduction := func() int64 { return must(r.ProductionVersion(ctx, store.System, r.model))(t).Version }
	if got := inProduction(); got != 3 {
		t.Errorf("version %d is in production, want the one that was put there last", got)
	}
	r.stage(t, ids[1], store.Production, store.OthersKept)
	if got := inProduction(); got != 2 {
		t.Errorf("version %d is in production, want the one that was put there last", got)
	}
	r.stage(t, ids[1], store.NoStage, store.OthersByStage)
	if got := inProduction(); got != 3 {
		t.Errorf("version %d is in production, want the newest of those that are left", got)
	}
	r.promote(t, ids[0], store.Production)
	if got := r.stages(t, r.model); !slices.Equal(got, []store.Stage{store.Archived, store.NoStage, store.Production}) {
		t.Errorf("after a promotion the stages are %v", got)
	}
	r.stage(t, ids[0], store.Staging, store.OthersByStage)
	r.stage(t, ids[1], store.Staging, store.OthersByStage)
	r.stage(t, ids[2], store.Staging, store.OthersArchived)
	if got := r.stages(t, r.model); !slices.Equal(got, []store.Stage{store.Staging, store.Archived, store.Archived}) {
		t.Errorf("after archiving the stages are %v", got)
	}
}

func TestVersionWithASourceNeedsNoIteration(t *testing.T) {
	r := newRegistry(t)
	n := store.NewModelVersion{Source: "s3://bucket/model", Origin: store.Origin{RunID: "elsewhere"},
		Properties: []store.Property{{Key: "task", Value: "fraud"}}}
	id := must(r.CreateModelVersion(ctx, store.System, r.model, n))(t).ID
	v := must(r.ModelVersion(ctx, store.System, id))(t)
	if v.IterationID != nil || v.Source != n.Source || v.Origin != n.Origin || v.Version != 1 || len(v.Aliases) != 0 {
		t.Errorf("the version is %+v", v)
	}
	properties := must(r.Properties(ctx, store.System, store.ModelVersionProperty, id, store.FirstPage))(t).Data
	if !slices.Equal(properties, n.Properties) {
		t.Errorf("the properties are %v", properties)
	}
	r.promote(t, id, store.Production)
	r.promote(t, r.version(t, r.model, r.iteration, nil), store.Production)
	wantOK(t, r.DeleteModelVersion(ctx, store.System, id))
	wantClean(t, r.DB)
}

func TestAliasBelongsToOneVersion(t *testing.T) {
	r := newRegistry(t)
	first, second := r.version(t, r.model, r.iteration, nil), r.version(t, r.model, r.iteration, nil)
	aliases := func(version string) string {
		return strings.Join(must(r.ModelVersion(ctx, store.System, version))(t).Aliases, " ")
	}
	wantOK(t, r.AddAlias(ctx, store.System, first, "champion"))
	wantOK(t, r.AddAlias(ctx, store.System, first, "best-1_ü"))
	if got := aliases(first); got != "best-1_ü champion" {
		t.Errorf("the aliases are %q", got)
	}
	wantOK(t, r.AddAlias(ctx, store.System, second, "champion"))
	if a, b := aliases(first), aliases(second); a != "best-1_ü" || b != "champion" {
		t.Errorf("the aliases are %q and %q", a, b)
	}
	wantOK(t, r.UpdateModelVersion(ctx, store.System, first, store.ModelVersionPatch{Aliases: &[]string{"champion", "a", "a"}}))
	if a, b := aliases(first), aliases(second); a != "a champion" || b != "" {
		t.Errorf("the aliases are %q and %q", a, b)
	}
	wantOK(t, r.UpdateModel(ctx, store.System, r.model, store.ModelPatch{Name: new("renamed")}))
	if got := aliases(first); got != "a champion" {
		t.Errorf("after a new name of the model the aliases are %q", got)
	}
	for range 2 {
		wantOK(t, r.RemoveAlias(ctx, store.System, r.model, "a"))
	}
	for _, bad := range []string{"", "a b", "a.b", "latest", "LATEST", "v7", "V10", strings.Repeat("a", store.MaxName+1)} {
		wantField(t, r.AddAlias(ctx, store.System, first, bad), "aliases")
		wantField(t, r.UpdateModelVersion(ctx, store.System, first, store.ModelVersionPatch{Aliases: &[]string{bad}}), "aliases")
	}
	var many []string
	for i := range store.MaxAliases + 1 {
		many = append(many, fmt.Sprint("a", i))
	}
	wantField(t, r.UpdateModelVersion(ctx, store.System, first, store.ModelVersionPatch{Aliases: &many}), "aliases")
	if got := aliases(first); got != "champion" {
		t.Errorf("after refusals the aliases are %q", got)
	}
	wantOK(t, r.DeleteModelVersion(ctx, store.System, first))
	wantOK(t, r.AddAlias(ctx, store.System, second, "champion"))
}

func TestLoggedModel(t *testing.T) {
	r := newRegistry(t)
	n := store.NewLoggedModel{Name: "iris", Type: "sklearn", IterationID: r.iteration,
		Params: []store.Property{{Key: "C", Value: "1"}}, Properties: []store.Property{{Key: "k", Value: "v"}}}
	id := must(r.CreateLoggedModel(ctx, store.System, r.experiment, n))(t).ID
	if len(id) != 34 || !strings.HasPrefix(id, "m-") {
		t.Errorf("the id is %q", id)
	}
	wantOK(t, r.AddLoggedModelParams(ctx, store.System, id, []store.Property{{Key: "C", Value: "1"}, {Key: "l1", Value: ""}}))
	wantField(t, r.AddLoggedModelParams(ctx, store.System, id, []store.Property{{Key: "x", Value: "1"}, {Key: "C", Value: "2"}}), "params")
	wantField(t, r.SetLoggedModelStatus(ctx, store.System, id, "DONE"), "status")
	wantOK(t, r.SetLoggedModelStatus(ctx, store.System, id, store.LoggedModelReady))
	m := must(r.LoggedModel(ctx, store.System, id))(t)
	if m.Status != store.LoggedModelReady || fmt.Sprint(m.Params) != "map[C:1 l1:]" || *m.IterationID != r.iteration || m.Name != "iris" || m.Type != "sklearn" {
		t.Errorf("the logged model is %+v", m)
	}
	r.keep(t, r.experiment, store.NewArtifact{Name: store.LoggedModelFolder(id) + "MLmodel"}, "flavors")
	r.keep(t, r.experiment, store.NewArtifact{Name: store.LoggedModelFolder(id) + "data/model.skops"}, "weights")
	r.keep(t, r.experiment, store.NewArtifact{Name: "models/m-other/MLmodel"}, "other")

	version := must(r.CreateModelVersion(ctx, store.System, r.model,
		store.NewModelVersion{IterationID: r.iteration, Source: "models:/" + id}))(t).ID
	err := r.DeleteLoggedModel(ctx, store.System, id)
	wantCode(t, err, store.CodeConflict)
	if message := store.AsError(err).Message; !strings.Contains(message, "model fraud, version 1;") {
		t.Errorf("the message is %q", message)
	}
	wantOK(t, r.DeleteModelVersion(ctx, store.System, version))
	wantOK(t, r.DeleteLoggedModel(ctx, store.System, id))
	left := must(r.Artifacts(ctx, store.System, r.experiment, store.ArtifactQuery{Page: store.FirstPage}))(t).Data
	if len(left) != 1 || left[0].Name != "models/m-other/MLmodel" {
		t.Errorf("the artifacts that are left are %+v", left)
	}
	wantCode(t, r.DeleteLoggedModel(ctx, store.System, id), store.CodeNotFound)
}

func TestLoggedModelsOfAProject(t *testing.T) {
	r := newRegistry(t)
	elsewhere := must(r.CreateProject(ctx, store.System, store.NewProject{Name: "elsewhere"}))(t).ID
	foreign := must(r.CreateExperiment(ctx, store.System, elsewhere, store.NewExperiment{Name: "e"}))(t).ID
	stranger := must(r.CreateLoggedModel(ctx, store.System, foreign, store.NewLoggedModel{Name: "m"}))(t).ID
	_, err := r.CreateLoggedModel(ctx, store.System, foreign, store.NewLoggedModel{Name: "m", IterationID: r.iteration})
	wantField(t, err, "iteration_id")
	use := []store.LoggedModelUse{{Role: store.InputModel, ModelID: stranger}}
	wantCode(t, r.LogIteration(ctx, store.System, r.iteration, store.IterationLog{Models: use}), store.CodeNotFound)
	point := []store.LoggedModelMetric{{ModelID: stranger, Key: "acc"}}
	wantCode(t, r.LogIteration(ctx, store.System, r.iteration, store.IterationLog{ModelMetrics: point}), store.CodeNotFound)
}
