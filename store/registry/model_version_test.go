package registry_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
)

// registryBed is a test fixture with a model and an artifact.
type registryBed struct {
	*bed
	file  *sql.DB
	model string
}

func newRegistry(t testing.TB) *registryBed {
	t.Helper()
	b := newBed(t)
	return &registryBed{b, raw(t, b.Path()), newModel(t, b, b.Project, "fraud")}
}

// version adds a version to a model and returns its id.
func (r *registryBed) version(t testing.TB, model, iteration string, resource *string) string {
	t.Helper()
	return must(r.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: iteration, ArtifactID: resource}))(t).ID
}

// promote moves a version to a stage.
func (r *registryBed) promote(t testing.TB, version string, to registry.Stage) {
	t.Helper()
	wantOK(t, r.Models.UpdateModelVersion(ctx, domain.System, version, registry.ModelVersionPatch{Stage: &to}))
}

// resource creates an artifact of an experiment and, if iteration is not "", of an iteration.
func (r *registryBed) resource(t testing.TB, experiment, iteration string) string {
	t.Helper()
	bytes := must(r.Files.Receive(ctx, strings.NewReader(uuid.NewString()), ""))(t)
	defer bytes.Discard()
	return must(r.Files.CreateArtifact(ctx, domain.System, experiment, files.NewArtifact{Name: "a", IterationID: iteration}, bytes))(t).ID
}

// versions returns all versions of a model, newest first.
func (r *registryBed) versions(t testing.TB, model string) []registry.ModelVersion {
	t.Helper()
	return must(r.Models.ModelVersions(ctx, domain.System, model, registry.ModelVersionQuery{Page: domain.Page{Limit: domain.MaxLimit}}))(t).Data
}

func (r *registryBed) numbers(t testing.TB, model string) (all []int64) {
	t.Helper()
	for _, v := range r.versions(t, model) {
		all = append(all, v.Version)
	}
	return all
}

func (r *registryBed) stages(t testing.TB, model string) (all []registry.Stage) {
	t.Helper()
	for _, v := range r.versions(t, model) {
		all = append(all, v.Stage)
	}
	return all
}

func TestVersionsCountWithoutGaps(t *testing.T) {
	r := newRegistry(t)
	other := newModel(t, r.bed, r.Project, "spam")
	r.version(t, r.model, r.Iteration, nil)
	r.version(t, other, r.Iteration, nil)
	_, err := r.Models.CreateModelVersion(ctx, domain.System, r.model, registry.NewModelVersion{IterationID: "gone"})
	wantCode(t, err, domain.CodeInvalidPayload)
	r.version(t, r.model, r.Iteration, nil)
	if got := r.numbers(t, r.model); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("after a refused one the versions are %v", got)
	}
	if got := r.numbers(t, other); !slices.Equal(got, []int64{1}) {
		t.Errorf("the other model has %v", got)
	}
}

func TestVersionNumbersAreNotGivenAgain(t *testing.T) {
	r := newRegistry(t)
	r.version(t, r.model, r.Iteration, nil)
	middle := r.version(t, r.model, r.Iteration, nil)
	last := r.version(t, r.model, r.Iteration, nil)
	for _, id := range []string{middle, last} {
		wantOK(t, r.Models.DeleteModelVersion(ctx, domain.System, id))
	}
	r.version(t, r.model, r.Iteration, nil)
	if got := r.numbers(t, r.model); !slices.Equal(got, []int64{4, 1}) {
		t.Errorf("the versions are %v", got)
	}
}

func TestConcurrentVersionsCountWithoutGaps(t *testing.T) {
	const writers, each = 32, 5
	r := newRegistry(t)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				if w%4 == 0 { // a rejected version uses no number
					_, err := r.Models.CreateModelVersion(ctx, domain.System, r.model, registry.NewModelVersion{IterationID: "gone"})
					if codeOf(err) != domain.CodeInvalidPayload {
						t.Error(err)
					}
				}
				if _, err := r.Models.CreateModelVersion(ctx, domain.System, r.model, registry.NewModelVersion{IterationID: r.Iteration}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := r.numbers(t, r.model)
	for i, n := range got {
		if n != int64(writers*each-i) {
			t.Fatalf("the versions are %v", got)
		}
	}
	if len(got) != writers*each {
		t.Errorf("%d versions, want %d", len(got), writers*each)
	}
	wantClean(t, r.DB)
}

func TestPromotionArchivesTheOneBefore(t *testing.T) {
	r := newRegistry(t)
	first, second := r.version(t, r.model, r.Iteration, nil), r.version(t, r.model, r.Iteration, nil)
	other := newModel(t, r.bed, r.Project, "spam")
	r.promote(t, r.version(t, other, r.Iteration, nil), registry.Production)
	r.promote(t, first, registry.Production)
	r.Clock.Add(time.Second)
	r.promote(t, second, registry.Production)
	if got := r.stages(t, r.model); !slices.Equal(got, []registry.Stage{registry.Production, registry.Archived}) {
		t.Errorf("the stages are %v", got)
	}
	if v := must(r.Models.ModelVersion(ctx, domain.System, first))(t); v.UpdatedDate != r.Clock.Time() {
		t.Errorf("the one before was changed at %v, want %v", v.UpdatedDate, r.Clock.Time())
	}
	if v := must(r.Models.ProductionVersion(ctx, domain.System, r.model))(t); v.ID != second {
		t.Errorf("in production is %+v", v)
	}
	if got := r.stages(t, other); !slices.Equal(got, []registry.Stage{registry.Production}) {
		t.Errorf("the other model has %v", got)
	}
	// A rejected promotion does not archive any version.
	wantCode(t, r.Models.UpdateModelVersion(ctx, domain.System, first,
		registry.ModelVersionPatch{Stage: new(registry.Production), ArtifactID: new("gone")}), domain.CodeInvalidPayload)
	if v := must(r.Models.ProductionVersion(ctx, domain.System, r.model))(t); v.ID != second {
		t.Errorf("after a refusal %+v is in production", v)
	}
	r.promote(t, second, registry.NoStage)
	_, err := r.Models.ProductionVersion(ctx, domain.System, r.model)
	wantCode(t, err, domain.CodeNotFound)
}

// While versions are promoted, a reader always sees exactly one version in production.
func TestConcurrentPromotionsLeaveOneInProduction(t *testing.T) {
	const writers, each = 8, 10
	r := newRegistry(t)
	var ids []string
	for range writers {
		ids = append(ids, r.version(t, r.model, r.Iteration, nil))
	}
	r.promote(t, ids[0], registry.Production)
	var wg, reads sync.WaitGroup
	done := make(chan struct{})
	reads.Go(func() {
		for {
			n := 0
			for _, s := range r.stages(t, r.model) {
				if s == registry.Production {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d versions are in production", n)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	var mu sync.Mutex
	owed := map[int64]int{} // by version: number of times it was replaced minus number of times it replaced another version
	for _, id := range ids {
		wg.Go(func() {
			for range each {
				done, err := r.Models.SetStage(ctx, domain.System, id, registry.Production)
				if err != nil {
					t.Error(err)
				}
				if done.Former != nil {
					mu.Lock()
					owed[*done.Former]++
					owed[done.Version]--
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	// Each promoted version except the last version was replaced. The first version replaced no
	// version.
	owed[must(r.Models.ProductionVersion(ctx, domain.System, r.model))(t).Version]++
	first := 0
	for version, n := range owed {
		if first += n; n < 0 || n > 1 {
			t.Errorf("version %d was replaced %d times more than it replaced another", version, n)
		}
	}
	if first != 1 {
		t.Errorf("%d versions came in place of none", first)
	}
	close(done)
	reads.Wait()
	got := r.stages(t, r.model)
	slices.Sort(got)
	want := append(slices.Repeat([]registry.Stage{registry.Archived}, writers-1), registry.Production)
	if !slices.Equal(got, want) {
		t.Errorf("the stages are %v", got)
	}
}

// The database schema rejects a second version in production.
func TestFileHasOneVersionInProduction(t *testing.T) {
	r := newRegistry(t)
	r.version(t, r.model, r.Iteration, nil)
	r.version(t, r.model, r.Iteration, nil)
	if _, err := r.file.Exec(`UPDATE model_version SET stage = 'PRODUCTION'`); err == nil {
		t.Error("two versions of a model were put into production")
	}
}

func TestVersionsAreOfTheModelsProject(t *testing.T) {
	r := newRegistry(t)
	elsewhere := must(r.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "elsewhere"}))(t).ID
	foreign := must(r.Projects.CreateExperiment(ctx, domain.System, elsewhere, projects.NewExperiment{Name: "e"}))(t).ID
	stranger := must(r.Runs.CreateIteration(ctx, domain.System, foreign, runs.NewIteration{}))(t).ID
	own, strange := r.resource(t, r.Experiment, ""), r.resource(t, foreign, "")
	removing := r.resource(t, r.Experiment, "")
	execSQL(t, r.file, `UPDATE blob SET deleting = 1 WHERE id = (SELECT blob_id FROM resource WHERE id = ?)`, removing)
	version := r.version(t, r.model, r.Iteration, &own)
	for _, c := range []struct {
		name                string
		iteration, resource string
		field               string
	}{
		{"no iteration", "", own, "iteration_id"},
		{"iteration of another project", stranger, own, "iteration_id"},
		{"an experiment", r.Experiment, own, "iteration_id"},
		{"artifact of another project", r.Iteration, strange, "resource_id"},
		{"artifact that is being removed", r.Iteration, removing, "resource_id"},
		{"no artifact", r.Iteration, "", "resource_id"},
		{"an iteration as artifact", r.Iteration, r.Iteration, "resource_id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.Models.CreateModelVersion(ctx, domain.System, r.model,
				registry.NewModelVersion{IterationID: c.iteration, ArtifactID: &c.resource})
			wantField(t, err, c.field)
			if c.field == "resource_id" {
				wantField(t, r.Models.UpdateModelVersion(ctx, domain.System, version, registry.ModelVersionPatch{ArtifactID: &c.resource}), c.field)
			}
		})
	}
	if got := r.versions(t, r.model); len(got) != 1 || *got[0].ArtifactID != own {
		t.Errorf("the versions are %+v", got)
	}
}

// wantField checks that err is an INVALID_PAYLOAD error for the given field.
func wantField(t testing.TB, err error, field string) {
	t.Helper()
	wantCode(t, err, domain.CodeInvalidPayload)
	if e := domain.AsError(err); e.Field != field {
		t.Errorf("the field is %q, want %q: %v", e.Field, field, err)
	}
}

func TestUpdatedDateIsThatOfAChange(t *testing.T) {
	r := newRegistry(t)
	made := r.Clock.Time()
	artifact := r.resource(t, r.Experiment, "")
	version := r.version(t, r.model, r.Iteration, &artifact)
	r.Clock.Add(time.Second)
	for _, same := range []registry.ModelVersionPatch{{}, {Stage: new(registry.NoStage), Description: new(""), ArtifactID: &artifact}} {
		wantOK(t, r.Models.UpdateModelVersion(ctx, domain.System, version, same))
	}
	for _, same := range []registry.ModelPatch{{}, {Name: new("fraud"), Description: new("")}} {
		wantOK(t, r.Models.UpdateModel(ctx, domain.System, r.model, same))
	}
	m, v := must(r.Models.Model(ctx, domain.System, r.model))(t), must(r.Models.ModelVersion(ctx, domain.System, version))(t)
	if m.UpdatedDate != made || v.UpdatedDate != made {
		t.Errorf("nothing has changed, and model and version are of %v and %v", m.UpdatedDate, v.UpdatedDate)
	}
	wantOK(t, r.Models.UpdateModel(ctx, domain.System, r.model, registry.ModelPatch{Description: new("new")}))
	wantOK(t, r.Models.UpdateModelVersion(ctx, domain.System, version, registry.ModelVersionPatch{Description: new("new")}))
	m, v = must(r.Models.Model(ctx, domain.System, r.model))(t), must(r.Models.ModelVersion(ctx, domain.System, version))(t)
	if now := r.Clock.Time(); m.UpdatedDate != now || v.UpdatedDate != now || m.CreatedDate != made || v.CreatedDate != made {
		t.Errorf("changed at %v, made at %v: %+v, %+v", now, made, m, v)
	}
}

func TestModelsAreFoundByName(t *testing.T) {
	r := newRegistry(t)
	for _, name := range []string{"Fraud", "card fraud", "spam", "100%", "_"} {
		newModel(t, r.bed, r.Project, name)
	}
	newModel(t, r.bed, must(r.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "elsewhere"}))(t).ID, "fraud")
	for _, c := range []struct {
		part string
		name *string
		want []string
	}{
		{"", nil, []string{"100%", "Fraud", "_", "card fraud", "fraud", "spam"}},
		{"FRAUD", nil, []string{"Fraud", "card fraud", "fraud"}},
		{"%", nil, []string{"100%"}},
		{"", new("fraud"), []string{"fraud"}},
		{"", new("frau"), nil},
		{"", new("%"), nil},
		{"", new(""), nil},
	} {
		l := must(r.Models.Models(ctx, domain.System, r.Project, registry.ModelQuery{Page: domain.FirstPage, Part: c.part, Name: c.name}))(t)
		var got []string
		for _, m := range l.Data {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, c.want) || l.Total != len(got) {
			t.Errorf("%s: %q of %d, want %q", fmt.Sprint(c), got, l.Total, c.want)
		}
	}
}
