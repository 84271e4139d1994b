package runs_test

import (
	"slices"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
)

func TestChangesTellWhatHappened(t *testing.T) {
	b := newBed(t)
	other := must(b.Projects.CreateExperiment(ctx, domain.System, b.Project, projects.NewExperiment{Name: "other"}))(t).ID
	begin := must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, ""))(t)
	if !begin.Empty() {
		t.Fatalf("changes before the beginning: %+v", begin)
	}
	one, two := b.NewIteration(t), b.NewIteration(t)
	must(b.Runs.CreateIteration(ctx, domain.System, other, runs.NewIteration{}))(t)
	must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, one, "best"))(t)
	for step := range int64(3) {
		must(b.Runs.CreateMetric(ctx, domain.System, one, point("loss", step, 1)))(t)
		must(b.Runs.CreateMetric(ctx, domain.System, b.Iteration, point("acc", step, 1)))(t)
	}
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, two, runs.IterationPatch{Status: new(domain.Failed)}))
	if _, err := b.Runs.CreateMetric(ctx, domain.System, two, point("late", 0, 1)); err == nil {
		t.Fatal("an ended iteration took a point")
	}
	c := must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, begin.Cursor))(t)
	if len(c.Iterations) != 2 || c.Iterations[0].ID != one || c.Iterations[0].Tags[0] != "best" || c.Iterations[1].Status != domain.Failed {
		t.Errorf("iterations: %+v", c.Iterations)
	}
	if len(c.Series) != 2 || c.Series[0].Key != "loss" || *c.Series[0].LastStep != 2 || c.Series[1].IterationID != b.Iteration {
		t.Errorf("series: %+v", c.Series)
	}
	mine := must(b.Runs.IterationChanges(ctx, domain.System, b.Iteration, begin.Cursor))(t)
	if len(mine.Iterations) != 0 || len(mine.Series) != 1 || mine.Series[0].Key != "acc" {
		t.Errorf("of one iteration: %+v", mine)
	}
	if again := must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, c.Cursor))(t); !again.Empty() {
		t.Errorf("told twice: %+v", again)
	}
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, one))
	c = must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, c.Cursor))(t)
	if !slices.Equal(c.Deleted, []string{one}) || len(c.Iterations) != 0 {
		t.Errorf("after the delete: %+v", c)
	}
}

// A change to a record of a run counts as a change of the run.
func TestChangesTellWhatIsRecorded(t *testing.T) {
	b := newBed(t)
	run, project := b.Iteration, b.Project
	var parameter, artifact, child, model, version string
	steps := []struct {
		name string
		do   func() error
	}{
		{"a parameter", func() (err error) {
			c, err := b.Runs.CreateParameter(ctx, domain.System, run, "lr", "0.1")
			parameter = c.ID
			return err
		}},
		{"its new value", func() error {
			return b.Runs.UpdateParameter(ctx, domain.System, parameter, runs.ParameterPatch{Value: new(scalar.Text("0.2"))})
		}},
		{"its end", func() error { return b.Runs.DeleteParameter(ctx, domain.System, parameter) }},
		{"the environment", func() error {
			_, err := b.Runs.CreateSnapshot(ctx, domain.System, run, runs.NewSnapshot{Hostname: "gpu-01"})
			return err
		}},
		{"an artifact", func() error {
			artifact = b.Keep(t, b.Experiment, files.NewArtifact{Name: "a.txt", IterationID: run}, "a")
			return nil
		}},
		{"its new name", func() error {
			return b.Files.UpdateArtifact(ctx, domain.System, artifact, files.ArtifactPatch{Name: new("b.txt")}, nil)
		}},
		{"its going to no run", func() error {
			return b.Files.UpdateArtifact(ctx, domain.System, artifact, files.ArtifactPatch{IterationID: new("")}, nil)
		}},
		{"its coming back", func() error {
			return b.Files.UpdateArtifact(ctx, domain.System, artifact, files.ArtifactPatch{IterationID: &run}, nil)
		}},
		{"its end", func() error { return b.Files.DeleteArtifact(ctx, domain.System, artifact) }},
		{"a child", func() error {
			c, err := b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{ParentIterationID: &run})
			child = c.ID
			return err
		}},
		{"the end of the child", func() error {
			return b.Runs.UpdateIteration(ctx, domain.System, child, runs.IterationPatch{Status: new(domain.Failed)})
		}},
		{"its deletion", func() error { return b.Runs.DeleteIteration(ctx, domain.System, child) }},
		{"a version of a model", func() error {
			m, err := b.Models.CreateModel(ctx, domain.System, project, registry.NewModel{Name: "fraud"})
			if err != nil {
				return err
			}
			model = m.ID
			v, err := b.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: run})
			version = v.ID
			return err
		}},
		{"its stage", func() error {
			_, err := b.Models.SetStage(ctx, domain.System, version, registry.Production)
			return err
		}},
		{"the stage that it loses", func() error {
			v, err := b.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: b.NewIteration(t)})
			if err == nil {
				_, err = b.Models.SetStage(ctx, domain.System, v.ID, registry.Production)
			}
			return err
		}},
		{"the end of the version", func() error { return b.Models.DeleteModelVersion(ctx, domain.System, version) }},
	}
	cursor := must(b.Runs.IterationChanges(ctx, domain.System, run, ""))(t).Cursor
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		c := must(b.Runs.IterationChanges(ctx, domain.System, run, cursor))(t)
		if len(c.Iterations) != 1 || c.Iterations[0].ID != run {
			t.Errorf("%s: told were %+v", step.name, c)
		}
		cursor = c.Cursor
	}
}

func TestChangesOfAnotherLifeAreReset(t *testing.T) {
	b := newBed(t)
	now := must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, ""))(t).Cursor
	for _, cursor := range []string{"x", "-", "-1", "0123456789ab-0", now + "0", now + "x"} {
		if c := must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, cursor))(t); !c.Reset || c.Cursor != now {
			t.Errorf("%q: %+v", cursor, c)
		}
	}
	// Changes by another process are not in the result.
	second := open(t, store.Options{Path: b.Path()})
	must(second.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "elsewhere"}))(t)
	b.Log(t, "loss", 0, 1)
	if c := must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, now))(t); !c.Reset {
		t.Errorf("not reset: %+v", c)
	}
}
