package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
)

// stage moves a version to a stage. others decides what happens to other versions in the stage.
func (r *registryBed) stage(t testing.TB, version string, to registry.Stage, others registry.StageOthers) {
	t.Helper()
	wantOK(t, r.Models.UpdateModelVersion(ctx, domain.System, version, registry.ModelVersionPatch{Stage: &to, Others: others}))
}

func TestSeveralVersionsShareAStage(t *testing.T) {
	r := newRegistry(t)
	var ids []string
	for range 3 {
		ids = append(ids, r.version(t, r.model, r.Iteration, nil))
	}
	for _, id := range ids {
		r.stage(t, id, registry.Production, registry.OthersKept)
	}
	if got := r.stages(t, r.model); !slices.Equal(got, slices.Repeat([]registry.Stage{registry.Production}, 3)) {
		t.Errorf("the stages are %v", got)
	}
	inProduction := func() int64 { return must(r.Models.ProductionVersion(ctx, domain.System, r.model))(t).Version }
	if got := inProduction(); got != 3 {
		t.Errorf("version %d is in production, want the one that was put there last", got)
	}
	r.stage(t, ids[1], registry.Production, registry.OthersKept)
	if got := inProduction(); got != 2 {
		t.Errorf("version %d is in production, want the one that was put there last", got)
	}
	r.stage(t, ids[1], registry.NoStage, registry.OthersByStage)
	if got := inProduction(); got != 3 {
		t.Errorf("version %d is in production, want the newest of those that are left", got)
	}
	r.promote(t, ids[0], registry.Production)
	if got := r.stages(t, r.model); !slices.Equal(got, []registry.Stage{registry.Archived, registry.NoStage, registry.Production}) {
		t.Errorf("after a promotion the stages are %v", got)
	}
	r.stage(t, ids[0], registry.Staging, registry.OthersByStage)
	r.stage(t, ids[1], registry.Staging, registry.OthersByStage)
	r.stage(t, ids[2], registry.Staging, registry.OthersArchived)
	if got := r.stages(t, r.model); !slices.Equal(got, []registry.Stage{registry.Staging, registry.Archived, registry.Archived}) {
		t.Errorf("after archiving the stages are %v", got)
	}
}

func TestVersionWithASourceNeedsNoIteration(t *testing.T) {
	r := newRegistry(t)
	n := registry.NewModelVersion{Source: "s3://bucket/model", Origin: registry.Origin{RunID: "elsewhere"},
		Properties: []domain.Property{{Key: "task", Value: "fraud"}}}
	id := must(r.Models.CreateModelVersion(ctx, domain.System, r.model, n))(t).ID
	v := must(r.Models.ModelVersion(ctx, domain.System, id))(t)
	if v.IterationID != nil || v.Source != n.Source || v.Origin != n.Origin || v.Version != 1 || len(v.Aliases) != 0 {
		t.Errorf("the version is %+v", v)
	}
	properties := must(r.Runs.Properties(ctx, domain.System, runs.ModelVersionProperty, id, domain.FirstPage))(t).Data
	if !slices.Equal(properties, n.Properties) {
		t.Errorf("the properties are %v", properties)
	}
	r.promote(t, id, registry.Production)
	r.promote(t, r.version(t, r.model, r.Iteration, nil), registry.Production)
	wantOK(t, r.Models.DeleteModelVersion(ctx, domain.System, id))
	wantClean(t, r.DB)
}

func TestAliasBelongsToOneVersion(t *testing.T) {
	r := newRegistry(t)
	first, second := r.version(t, r.model, r.Iteration, nil), r.version(t, r.model, r.Iteration, nil)
	aliases := func(version string) string {
		return strings.Join(must(r.Models.ModelVersion(ctx, domain.System, version))(t).Aliases, " ")
	}
	wantOK(t, r.Models.AddAlias(ctx, domain.System, first, "champion"))
	wantOK(t, r.Models.AddAlias(ctx, domain.System, first, "best-1_ü"))
	if got := aliases(first); got != "best-1_ü champion" {
		t.Errorf("the aliases are %q", got)
	}
	wantOK(t, r.Models.AddAlias(ctx, domain.System, second, "champion"))
	if a, b := aliases(first), aliases(second); a != "best-1_ü" || b != "champion" {
		t.Errorf("the aliases are %q and %q", a, b)
	}
	wantOK(t, r.Models.UpdateModelVersion(ctx, domain.System, first, registry.ModelVersionPatch{Aliases: &[]string{"champion", "a", "a"}}))
	if a, b := aliases(first), aliases(second); a != "a champion" || b != "" {
		t.Errorf("the aliases are %q and %q", a, b)
	}
	wantOK(t, r.Models.UpdateModel(ctx, domain.System, r.model, registry.ModelPatch{Name: new("renamed")}))
	if got := aliases(first); got != "a champion" {
		t.Errorf("after a new name of the model the aliases are %q", got)
	}
	for range 2 {
		wantOK(t, r.Models.RemoveAlias(ctx, domain.System, r.model, "a"))
	}
	for _, bad := range []string{"", "a b", "a.b", "latest", "LATEST", "v7", "V10", strings.Repeat("a", domain.MaxName+1)} {
		wantField(t, r.Models.AddAlias(ctx, domain.System, first, bad), "aliases")
		wantField(t, r.Models.UpdateModelVersion(ctx, domain.System, first, registry.ModelVersionPatch{Aliases: &[]string{bad}}), "aliases")
	}
	var many []string
	for i := range registry.MaxAliases + 1 {
		many = append(many, fmt.Sprint("a", i))
	}
	wantField(t, r.Models.UpdateModelVersion(ctx, domain.System, first, registry.ModelVersionPatch{Aliases: &many}), "aliases")
	if got := aliases(first); got != "champion" {
		t.Errorf("after refusals the aliases are %q", got)
	}
	wantOK(t, r.Models.DeleteModelVersion(ctx, domain.System, first))
	wantOK(t, r.Models.AddAlias(ctx, domain.System, second, "champion"))
}

func TestLoggedModel(t *testing.T) {
	r := newRegistry(t)
	n := registry.NewLoggedModel{Name: "iris", Type: "sklearn", IterationID: r.Iteration,
		Params: []domain.Property{{Key: "C", Value: "1"}}, Properties: []domain.Property{{Key: "k", Value: "v"}}}
	id := must(r.Models.CreateLoggedModel(ctx, domain.System, r.Experiment, n))(t).ID
	if len(id) != 34 || !strings.HasPrefix(id, "m-") {
		t.Errorf("the id is %q", id)
	}
	wantOK(t, r.Models.AddLoggedModelParams(ctx, domain.System, id, []domain.Property{{Key: "C", Value: "1"}, {Key: "l1", Value: ""}}))
	wantField(t, r.Models.AddLoggedModelParams(ctx, domain.System, id, []domain.Property{{Key: "x", Value: "1"}, {Key: "C", Value: "2"}}), "params")
	wantField(t, r.Models.SetLoggedModelStatus(ctx, domain.System, id, "DONE"), "status")
	wantOK(t, r.Models.SetLoggedModelStatus(ctx, domain.System, id, registry.LoggedModelReady))
	m := must(r.Models.LoggedModel(ctx, domain.System, id))(t)
	if m.Status != registry.LoggedModelReady || fmt.Sprint(m.Params) != "map[C:1 l1:]" || *m.IterationID != r.Iteration || m.Name != "iris" || m.Type != "sklearn" {
		t.Errorf("the logged model is %+v", m)
	}
	r.Keep(t, r.Experiment, files.NewArtifact{Name: registry.LoggedModelFolder(id) + "MLmodel"}, "flavors")
	r.Keep(t, r.Experiment, files.NewArtifact{Name: registry.LoggedModelFolder(id) + "data/model.skops"}, "weights")
	r.Keep(t, r.Experiment, files.NewArtifact{Name: "models/m-other/MLmodel"}, "other")

	version := must(r.Models.CreateModelVersion(ctx, domain.System, r.model,
		registry.NewModelVersion{IterationID: r.Iteration, Source: "models:/" + id}))(t).ID
	err := r.Models.DeleteLoggedModel(ctx, domain.System, id)
	wantCode(t, err, domain.CodeConflict)
	if message := domain.AsError(err).Message; !strings.Contains(message, "model fraud, version 1;") {
		t.Errorf("the message is %q", message)
	}
	wantOK(t, r.Models.DeleteModelVersion(ctx, domain.System, version))
	wantOK(t, r.Models.DeleteLoggedModel(ctx, domain.System, id))
	left := must(r.Files.Artifacts(ctx, domain.System, r.Experiment, files.ArtifactQuery{Page: domain.FirstPage}))(t).Data
	if len(left) != 1 || left[0].Name != "models/m-other/MLmodel" {
		t.Errorf("the artifacts that are left are %+v", left)
	}
	wantCode(t, r.Models.DeleteLoggedModel(ctx, domain.System, id), domain.CodeNotFound)
}

func TestLoggedModelsOfAProject(t *testing.T) {
	r := newRegistry(t)
	elsewhere := must(r.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "elsewhere"}))(t).ID
	foreign := must(r.Projects.CreateExperiment(ctx, domain.System, elsewhere, projects.NewExperiment{Name: "e"}))(t).ID
	stranger := must(r.Models.CreateLoggedModel(ctx, domain.System, foreign, registry.NewLoggedModel{Name: "m"}))(t).ID
	_, err := r.Models.CreateLoggedModel(ctx, domain.System, foreign, registry.NewLoggedModel{Name: "m", IterationID: r.Iteration})
	wantField(t, err, "iteration_id")
	use := []registry.LoggedModelUse{{Role: registry.InputModel, ModelID: stranger}}
	wantCode(t, r.Runs.LogIteration(ctx, domain.System, r.Iteration, runs.IterationLog{Models: use}), domain.CodeNotFound)
	point := []registry.LoggedModelMetric{{ModelID: stranger, Key: "acc"}}
	wantCode(t, r.Runs.LogIteration(ctx, domain.System, r.Iteration, runs.IterationLog{ModelMetrics: point}), domain.CodeNotFound)
}
