package registry_test

import (
	"strings"
	"sync"
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
)

// An iteration, an artifact or an experiment can't be deleted while a version refers to it or to a
// record in it.
func TestWhatAVersionPointsAtIsNotDeleted(t *testing.T) {
	r := newRegistry(t)
	second := must(r.Projects.CreateExperiment(ctx, domain.System, r.Project, projects.NewExperiment{Name: "second"}))(t).ID
	elsewhere := must(r.Runs.CreateIteration(ctx, domain.System, second, runs.NewIteration{}))(t).ID
	third := must(r.Projects.CreateExperiment(ctx, domain.System, r.Project, projects.NewExperiment{Name: "third"}))(t).ID
	artifact := r.resource(t, second, elsewhere)
	loose := r.resource(t, third, "")
	unused := r.resource(t, r.Experiment, r.Iteration)
	r.version(t, r.model, r.Iteration, nil)
	r.version(t, r.model, r.Iteration, &artifact)
	spam := newModel(t, r.bed, r.Project, "spam")
	last := r.version(t, spam, r.Iteration, &loose)

	deletes := []struct {
		what, id string
		remove   func(id string) error
		names    string
	}{
		{"iteration", r.Iteration, r.deleteIteration, "model fraud, versions 1 and 2; model spam, version 1;"},
		{"iteration of an artifact", elsewhere, r.deleteIteration, "model fraud, version 2;"},
		{"experiment of an iteration", r.Experiment, r.deleteExperiment, "model fraud, versions 1 and 2; model spam, version 1;"},
		{"experiment of an artifact", second, r.deleteExperiment, "model fraud, version 2;"},
		{"experiment of an artifact without iteration", third, r.deleteExperiment, "model spam, version 1;"},
		{"artifact", artifact, r.deleteArtifact, "model fraud, version 2;"},
		{"artifact without iteration", loose, r.deleteArtifact, "model spam, version 1;"},
	}
	before := countRows(t, r.file)
	for _, d := range deletes {
		t.Run(d.what, func(t *testing.T) {
			err := d.remove(d.id)
			wantCode(t, err, domain.CodeConflict)
			if message := domain.AsError(err).Message; !strings.Contains(message, " used by "+d.names) {
				t.Errorf("%q does not name %q", message, d.names)
			}
		})
	}
	for table, n := range countRows(t, r.file) {
		if n != before[table] && table != "audit" {
			t.Errorf("%d rows in %s, before %d", n, table, before[table])
		}
	}
	wantOK(t, r.deleteArtifact(unused))

	// After the deletion of the versions, all records can be deleted.
	wantOK(t, r.Models.DeleteModel(ctx, domain.System, r.model))
	wantOK(t, r.Models.DeleteModelVersion(ctx, domain.System, last))
	for _, d := range deletes {
		if strings.HasPrefix(d.what, "artifact") {
			wantOK(t, d.remove(d.id))
		}
	}
	for _, d := range deletes[:5] {
		if d.what != "experiment of an iteration" { // the iteration was deleted before
			wantOK(t, d.remove(d.id))
		}
	}
	wantOK(t, r.deleteExperiment(r.Experiment))
}

func (r *registryBed) deleteIteration(id string) error {
	return r.Runs.DeleteIteration(ctx, domain.System, id)
}

func (r *registryBed) deleteExperiment(id string) error {
	return r.Projects.DeleteExperiment(ctx, domain.System, id)
}

func (r *registryBed) deleteArtifact(id string) error {
	return r.Files.DeleteArtifact(ctx, domain.System, id)
}

func TestRefusalNamesAHandfulOfVersions(t *testing.T) {
	for _, c := range []struct {
		models map[string]int // number of versions, by model id
		want   string
	}{
		{map[string]int{"fraud": 1}, "by model fraud, version 1; delete"},
		{map[string]int{"fraud": 5}, "by model fraud, versions 1, 2, 3, 4 and 5; delete"},
		{map[string]int{"fraud": 7}, "by model fraud, versions 1, 2, 3, 4, 5 and 2 more; delete"},
		{map[string]int{"fraud": 4, "spam": 3}, "by model fraud, versions 1, 2, 3 and 4; model spam, versions 1 and 2 more; delete"},
		{map[string]int{"fraud": 5, "spam": 1}, "by model fraud, versions 1, 2, 3, 4, 5 and 1 more; delete"},
	} {
		t.Run(c.want, func(t *testing.T) {
			r := newRegistry(t)
			for name, n := range c.models {
				model := r.model
				if name != "fraud" {
					model = newModel(t, r.bed, r.Project, name)
				}
				for range n {
					r.version(t, model, r.Iteration, nil)
				}
			}
			err := r.deleteIteration(r.Iteration)
			wantCode(t, err, domain.CodeConflict)
			if message := domain.AsError(err).Message; !strings.Contains(message, c.want) {
				t.Errorf("%q, want %q", message, c.want)
			}
		})
	}
}

func TestDeletingAModelKeepsWhatItPointsAt(t *testing.T) {
	r := newRegistry(t)
	artifact := r.resource(t, r.Experiment, r.Iteration)
	before := countRows(t, r.file)
	model := newModel(t, r.bed, r.Project, "spam")
	for range 3 {
		r.version(t, model, r.Iteration, &artifact)
	}
	wantOK(t, r.Models.DeleteModel(ctx, domain.System, model))
	for table, n := range countRows(t, r.file) {
		if n != before[table] && table != "audit" {
			t.Errorf("%d rows in %s, before %d", n, table, before[table])
		}
	}
	wantClean(t, r.DB)
}

func TestDeletingAProjectTakesItsModelsAlong(t *testing.T) {
	r := newRegistry(t)
	artifact := r.resource(t, r.Experiment, r.Iteration)
	r.promote(t, r.version(t, r.model, r.Iteration, &artifact), registry.Production)
	wantOK(t, r.Projects.DeleteProject(ctx, domain.System, r.Project))
	for _, table := range []string{"model", "model_version", "iteration", "resource"} {
		if n := countRows(t, r.file)[table]; n != 0 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
}

// No request creates a version that refers to another project. A database file can contain such
// a version.
func TestProjectThatAnotherModelPointsIntoIsNotDeleted(t *testing.T) {
	for _, into := range []string{"iteration", "artifact"} {
		t.Run(into, func(t *testing.T) {
			r := newRegistry(t)
			other := must(r.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "other"}))(t).ID
			experiment := must(r.Projects.CreateExperiment(ctx, domain.System, other, projects.NewExperiment{Name: "e"}))(t).ID
			iteration := must(r.Runs.CreateIteration(ctx, domain.System, experiment, runs.NewIteration{}))(t).ID
			r.version(t, r.model, r.Iteration, nil)
			if into == "iteration" {
				execSQL(t, r.file, `UPDATE model_version SET iteration_num = (SELECT num FROM iteration WHERE id = ?)`, iteration)
			} else {
				execSQL(t, r.file, `UPDATE model_version SET resource_num = (SELECT num FROM resource WHERE id = ?)`, r.resource(t, experiment, ""))
			}
			err := r.Projects.DeleteProject(ctx, domain.System, other)
			wantCode(t, err, domain.CodeConflict)
			if message := domain.AsError(err).Message; !strings.Contains(message, "model fraud, version 1") {
				t.Errorf("the message is %q", message)
			}
			wantOK(t, r.Projects.DeleteProject(ctx, domain.System, r.Project))
			wantOK(t, r.Projects.DeleteProject(ctx, domain.System, other))
		})
	}
}

// If a version is created while its iteration is deleted, one of the two requests fails.
func TestVersionAndDeleteOfItsIterationAtOnce(t *testing.T) {
	r := newRegistry(t)
	for range 50 {
		iteration := r.NewIteration(t)
		var made, removed error
		var wg sync.WaitGroup
		wg.Go(func() {
			_, made = r.Models.CreateModelVersion(ctx, domain.System, r.model, registry.NewModelVersion{IterationID: iteration})
		})
		wg.Go(func() { removed = r.deleteIteration(iteration) })
		wg.Wait()
		switch {
		case made == nil && codeOf(removed) == domain.CodeConflict:
		case removed == nil && codeOf(made) == domain.CodeInvalidPayload:
		default:
			t.Errorf("the version: %v; the delete: %v", made, removed)
		}
	}
	wantClean(t, r.DB)
}
