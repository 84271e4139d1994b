package storetest

import (
	"io"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/store/users"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

// Keep creates an artifact with the given content and returns its id.
func (b *Bed) Keep(t testing.TB, experiment string, n files.NewArtifact, content string) string {
	t.Helper()
	r := Must(b.Files.Receive(ctx, strings.NewReader(content), ""))(t)
	defer r.Discard()
	return Must(b.Files.CreateArtifact(ctx, domain.System, experiment, n, r))(t).ID
}

// Content returns the content of an artifact.
func Content(t testing.TB, db *store.DB, id string) string {
	t.Helper()
	_, r, err := db.Files.OpenArtifact(ctx, domain.System, id)
	WantOK(t, err)
	defer r.Close()
	return string(Must(io.ReadAll(r))(t))
}

// NewModel creates a model and returns its id.
func NewModel(t testing.TB, b *Bed, project, name string) string {
	t.Helper()
	return Must(b.Models.CreateModel(ctx, domain.System, project, registry.NewModel{Name: name}))(t).ID
}

// Fill creates a project with records of every kind and returns the project's id.
func Fill(t testing.TB, b *Bed, user string) (project string) {
	t.Helper()
	project = Must(b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "full"}))(t).ID
	Must(b.Users.CreateUserPermission(ctx, domain.System, user, project, users.PermissionPatch{}))(t)
	Must(b.Runs.CreateTag(ctx, domain.System, runs.ProjectTag, project, "p"))(t)
	Must(b.Projects.CreateReport(ctx, domain.System, project, projects.NewReport{Name: "r"}))(t)
	for range 2 {
		experiment := Must(b.Projects.CreateExperiment(ctx, domain.System, project, projects.NewExperiment{Name: "e"}))(t).ID
		Must(b.Runs.CreateTag(ctx, domain.System, runs.ExperimentTag, experiment, "e"))(t)
		Must(b.Projects.CreateSavedView(ctx, domain.System, experiment, projects.NewSavedView{Name: "v", Query: "sort=name"}))(t)
		Must(b.Files.CreateUpload(ctx, domain.System, experiment, files.NewUpload{NewArtifact: files.NewArtifact{Name: "large.bin"}, Size: 1}))(t)
		var parent *string
		for range 3 {
			id := Must(b.Runs.CreateIteration(ctx, domain.System, experiment, runs.NewIteration{ParentIterationID: parent}))(t).ID
			parent = &id
			Must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, id, "i"))(t)
			Must(b.Runs.CreateParameter(ctx, domain.System, id, "lr", "0.1"))(t)
			Must(b.Runs.CreateSnapshot(ctx, domain.System, id, runs.NewSnapshot{GitSHA: "abc"}))(t)
			Must(b.Runs.WriteConsole(ctx, domain.System, id, nil, []string{"epoch 1"}))(t)
			b.Keep(t, experiment, files.NewArtifact{Name: "model.bin", IterationID: id}, "weights of "+id)
			batch := Must(b.Runs.CreateMetricBatch(ctx, domain.System, id, []points.Sample{{Key: "loss"}, {Key: "acc"}, {Key: "loss"}}))(t)
			for _, moved := range batch.IDs[:2] {
				WantOK(t, b.Runs.UpdateMetric(ctx, domain.System, moved, points.Patch{Key: new("moved")}))
			}
		}
		model := NewModel(t, b, project, "of "+experiment)
		version := Must(b.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: *parent}))(t).ID
		WantOK(t, b.Models.AddAlias(ctx, domain.System, version, "champion"))
		FillLoggedModel(t, b, experiment, *parent)
		fillWandb(t, b, experiment, *parent)
	}
	long := make([]points.Sample, 2000)
	for i := range long {
		long[i].Key = "long"
	}
	e := Must(b.Projects.CreateExperiment(ctx, domain.System, project, projects.NewExperiment{Name: "long"}))(t).ID
	id := Must(b.Runs.CreateIteration(ctx, domain.System, e, runs.NewIteration{}))(t).ID
	WantOK(t, b.Runs.CreateMetrics(ctx, domain.System, id, long))
	WantOK(t, CopyForSearch(b.DB, "loss"))
	return project
}

// FillLoggedModel adds a logged model with a metric and an artifact to a run.
func FillLoggedModel(t testing.TB, b *Bed, experiment, iteration string) {
	t.Helper()
	id := Must(b.Models.CreateLoggedModel(ctx, domain.System, experiment, registry.NewLoggedModel{
		Name: "m", IterationID: iteration, Properties: []domain.Property{{Key: "k", Value: "v"}}}))(t).ID
	WantOK(t, b.Runs.LogIteration(ctx, domain.System, iteration, runs.IterationLog{
		Models:       []registry.LoggedModelUse{{Role: registry.OutputModel, ModelID: id}},
		ModelMetrics: []registry.LoggedModelMetric{{ModelID: id, Key: "acc", Value: 1}},
		Datasets:     []runs.DatasetUse{{Name: "iris", Digest: "d", SourceType: "local", Source: "{}"}},
	}))
	b.Keep(t, experiment, files.NewArtifact{Name: registry.LoggedModelFolder(id) + "MLmodel"}, "flavors of "+id)
}

// fillWandb adds W&B records to a run. It also adds an artifact version that the run uses.
func fillWandb(t testing.TB, b *Bed, experiment, iteration string) {
	t.Helper()
	Must(b.Wandb.SaveRun(ctx, domain.System, wandb.Change{ID: iteration, Config: new(`{"lr": {"value": 0.1}}`)}))(t)
	Must(b.Wandb.Append(ctx, domain.System, iteration, wandb.Stream{
		HistoryLines: 1, Rows: []format.Row{{Rest: []format.Member{{Key: "note", Value: `"text"`}}}}}))(t)
	Must(b.Wandb.Append(ctx, domain.System, iteration, wandb.Stream{Writer: "client", HistoryLines: 1, LogLines: 1,
		Rows: []format.Row{{Text: `{"loss": 1}`, Numbers: []format.RowNumber{{Key: "loss", Value: 1}}}}, Output: []string{"[a] epoch 1"}}))(t)
	made := Must(b.Collections.CreateVersion(ctx, domain.System, collections.NewVersion{
		IterationID: iteration, Collection: "data", Type: "dataset", Digest: "d", ClientID: "c", Aliases: []string{"best"}, Tags: []string{"small"}}))(t)
	b.Keep(t, experiment, files.NewArtifact{Name: made.File("a.txt"), IterationID: iteration}, "bytes of "+iteration)
	Must(b.Collections.CommitVersion(ctx, domain.System, made.ID, []collections.Entry{{Name: "a.txt", MD5: "XrY7u+Ae7tCTyyK7j1rNww==", Size: 8}}))(t)
	Must(b.Collections.UseVersion(ctx, domain.System, made.ID, iteration))(t)
	WantOK(t, b.Collections.UpdateCollection(ctx, domain.System, experiment, made.Collection, collections.CollectionPatch{AddTags: []string{"small"}}))
}

// CopyForSearch copies the statistics of a metric for all iterations, as is done in the
// background for searches.
func CopyForSearch(db *store.DB, key string) error {
	return domain.Change(ctx, db.Base(), domain.System, func(tx *domain.Tx) error {
		var nums []int64
		if err := tx.Select(&nums, `SELECT num FROM iteration`); err != nil {
			return err
		}
		return search.CopyStats(tx.Tx, key, nums)
	})
}
