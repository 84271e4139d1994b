package store_test

import (
	"slices"
	"testing"

	"tracker/store"
)

func TestChangesTellWhatHappened(t *testing.T) {
	b := newBed(t)
	other := must(b.CreateExperiment(ctx, store.System, b.project, store.NewExperiment{Name: "other"}))(t).ID
	begin := must(b.ExperimentChanges(ctx, store.System, b.experiment, ""))(t)
	if !begin.Empty() {
		t.Fatalf("changes before the beginning: %+v", begin)
	}
	one, two := b.newIteration(t), b.newIteration(t)
	must(b.CreateIteration(ctx, store.System, other, store.NewIteration{}))(t)
	must(b.CreateTag(ctx, store.System, store.IterationTag, one, "best"))(t)
	for step := range int64(3) {
		must(b.CreateMetric(ctx, store.System, one, point("loss", step, 1)))(t)
		must(b.CreateMetric(ctx, store.System, b.iteration, point("acc", step, 1)))(t)
	}
	wantOK(t, b.UpdateIteration(ctx, store.System, two, store.IterationPatch{Status: new(store.Failed)}))
	if _, err := b.CreateMetric(ctx, store.System, two, point("late", 0, 1)); err == nil {
		t.Fatal("an ended iteration took a point")
	}
	c := must(b.ExperimentChanges(ctx, store.System, b.experiment, begin.Cursor))(t)
	if len(c.Iterations) != 2 || c.Iterations[0].ID != one || c.Iterations[0].Tags[0] != "best" || c.Iterations[1].Status != store.Failed {
		t.Errorf("iterations: %+v", c.Iterations)
	}
	if len(c.Series) != 2 || c.Series[0].Key != "loss" || *c.Series[0].LastStep != 2 || c.Series[1].IterationID != b.iteration {
		t.Errorf("series: %+v", c.Series)
	}
	mine := must(b.IterationChanges(ctx, store.System, b.iteration, begin.Cursor))(t)
	if len(mine.Iterations) != 0 || len(mine.Series) != 1 || mine.Series[0].Key != "acc" {
		t.Errorf("of one iteration: %+v", mine)
	}
	if again := must(b.ExperimentChanges(ctx, store.System, b.experiment, c.Cursor))(t); !again.Empty() {
		t.Errorf("told twice: %+v", again)
	}
	wantOK(t, b.DeleteIteration(ctx, store.System, one))
	c = must(b.ExperimentChanges(ctx, store.System, b.experiment, c.Cursor))(t)
	if !slices.Equal(c.Deleted, []string{one}) || len(c.Iterations) != 0 {
		t.Errorf("after the delete: %+v", c)
	}
}

// A record that belongs to a run is a change of the run.
func TestChangesTellWhatIsRecorded(t *testing.T) {
	b := newBed(t)
	run, project := b.iteration, b.project
	var parameter, artifact, child, model, version string
	steps := []struct {
		name string
		do   func() error
	}{
		{"a parameter", func() (err error) {
			c, err := b.CreateParameter(ctx, store.System, run, "lr", "0.1")
			parameter = c.ID
			return err
		}},
		{"its new value", func() error {
			return b.UpdateParameter(ctx, store.System, parameter, store.ParameterPatch{Value: new(store.Text("0.2"))})
		}},
		{"its end", func() error { return b.DeleteParameter(ctx, store.System, parameter) }},
		{"the environment", func() error {
			_, err := b.CreateSnapshot(ctx, store.System, run, store.NewSnapshot{Hostname: "gpu-01"})
			return err
		}},
		{"an artifact", func() error {
			artifact = b.keep(t, b.experiment, store.NewArtifact{Name: "a.txt", IterationID: run}, "a")
			return nil
		}},
		{"its new name", func() error {
			return b.UpdateArtifact(ctx, store.System, artifact, store.ArtifactPatch{Name: new("b.txt")}, nil)
		}},
		{"its going to no run", func() error {
			return b.UpdateArtifact(ctx, store.System, artifact, store.ArtifactPatch{IterationID: new("")}, nil)
		}},
		{"its coming back", func() error {
			return b.UpdateArtifact(ctx, store.System, artifact, store.ArtifactPatch{IterationID: &run}, nil)
		}},
		{"its end", func() error { return b.DeleteArtifact(ctx, store.System, artifact) }},
		{"a child", func() error {
			c, err := b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{ParentIterationID: &run})
			child = c.ID
			return err
		}},
		{"the end of the child", func() error {
			return b.UpdateIteration(ctx, store.System, child, store.IterationPatch{Status: new(store.Failed)})
		}},
		{"its deletion", func() error { return b.DeleteIteration(ctx, store.System, child) }},
		{"a version of a model", func() error {
			m, err := b.CreateModel(ctx, store.System, project, store.NewModel{Name: "fraud"})
			if err != nil {
				return err
			}
			model = m.ID
			v, err := b.CreateModelVersion(ctx, store.System, model, store.NewModelVersion{IterationID: run})
			version = v.ID
			return err
		}},
		{"its stage", func() error {
			_, err := b.SetStage(ctx, store.System, version, store.Production)
			return err
		}},
		{"the stage that it loses", func() error {
			v, err := b.CreateModelVersion(ctx, store.System, model, store.NewModelVersion{IterationID: b.newIteration(t)})
			if err == nil {
				_, err = b.SetStage(ctx, store.System, v.ID, store.Production)
			}
			return err
		}},
		{"the end of the version", func() error { return b.DeleteModelVersion(ctx, store.System, version) }},
	}
	cursor := must(b.IterationChanges(ctx, store.System, run, ""))(t).Cursor
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		c := must(b.IterationChanges(ctx, store.System, run, cursor))(t)
		if len(c.Iterations) != 1 || c.Iterations[0].ID != run {
			t.Errorf("%s: told were %+v", step.name, c)
		}
		cursor = c.Cursor
	}
}

func TestChangesOfAnotherLifeAreReset(t *testing.T) {
	b := newBed(t)
	now := must(b.ExperimentChanges(ctx, store.System, b.experiment, ""))(t).Cursor
	for _, cursor := range []string{"x", "-", "-1", "0123456789ab-0", now + "0", now + "x"} {
		if c := must(b.ExperimentChanges(ctx, store.System, b.experiment, cursor))(t); !c.Reset || c.Cursor != now {
			t.Errorf("%q: %+v", cursor, c)
		}
	}
	// Changes of another process are not known here.
	second := open(t, store.Options{Path: b.Path()})
	must(second.CreateProject(ctx, store.System, store.NewProject{Name: "elsewhere"}))(t)
	b.log(t, "loss", 0, 1)
	if c := must(b.ExperimentChanges(ctx, store.System, b.experiment, now))(t); !c.Reset {
		t.Errorf("not reset: %+v", c)
	}
}
