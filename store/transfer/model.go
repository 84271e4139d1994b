package transfer

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// LoggedModel is a logged model read from a source. A logged model is a trained model in an
// experiment.
type LoggedModel struct {
	ID         string // "m-" and 32 hexadecimal digits; the same in every import
	Project    string // name
	Experiment string // name
	Trashed    bool   // whether the experiment was deleted in the source
	RunID      *uuid.UUID
	Name, Type string
	Ready      bool // whether all files of the model were written
	Failed     bool // whether creating the model failed
	Params     []Parameter
	Properties []Parameter
	Created    Time
	Uses       []ModelUse
	Metrics    []ModelMetric
}

// ModelUse records that a run created or used a logged model. Only uses by runs in the model's own
// experiment are stored.
type ModelUse struct {
	RunID uuid.UUID
	Made  bool
	Step  Step // step at which the run created the model
}

// ModelMetric is a metric point of a logged model. It was recorded by a run in the model's
// experiment.
type ModelMetric struct {
	RunID                           uuid.UUID
	Key, DatasetName, DatasetDigest string
	Step                            Step
	Value                           Value
	At                              Time
}

// RegisteredModel is a model of a model registry, with its versions.
type RegisteredModel struct {
	Project, Name, Description string
	Properties                 []Parameter
	Created                    Time
	Versions                   []ModelVersion // sorted by number
	Origin                     string         // location of the model in the source
}

// ModelOutcome is the result of importing a registered model.
type ModelOutcome struct {
	Made    int      // number of versions created
	Project string   // project in which an earlier import stored the model, if it differs from the requested project; otherwise ""
	Changes []string // messages about values that were omitted or changed
}

// ModelVersion is a version of a registered model.
type ModelVersion struct {
	Number      int64
	RunID       *uuid.UUID // run that created the version
	Source      string     // URI of the version's files
	Description string
	Stage       string // NONE, STAGING, PRODUCTION or ARCHIVED
	Aliases     []string
	Properties  []Parameter
	Created     Time
}

// ErrDeleted is returned by a Sink for a record that was deleted after an earlier import.
var ErrDeleted = errors.New("it was imported before and then deleted")

// LoggedModel imports a logged model and the files below folder. If folder is "", the model has
// no files. path is the location of the model, for messages about losses.
func (im *Import) LoggedModel(ctx context.Context, m LoggedModel, path, folder string) error {
	if im.Options.Project != "" {
		m.Project = im.Options.Project
	}
	if im.Options.Experiment != "" {
		m.Experiment, m.Trashed = im.Options.Experiment, false
	}
	for _, name := range []*string{&m.Project, &m.Experiment, &m.Name, &m.Type} {
		if *name != "" {
			*name = FitName(*name)
		}
	}
	im.fitEntries(path, m.Params)
	im.fitEntries(path, m.Properties)
	for i := range m.Metrics {
		p := &m.Metrics[i]
		p.Key, p.DatasetName, p.DatasetDigest = FitName(p.Key), FitText(p.DatasetName), FitText(p.DatasetDigest)
	}
	if err := im.flush(ctx); err != nil { // the model's run must be written first
		return err
	}
	if im.DryRun {
		im.Result.Models++
		return nil
	}
	made, err := im.sink.LoggedModel(ctx, m)
	if errors.Is(err, ErrDeleted) && m.Trashed {
		return nil // an earlier import moved the model to the trash
	}
	if errors.Is(err, ErrDeleted) {
		im.Lose(path, "The logged model was imported before and then deleted here; it is not imported again.")
		return nil
	}
	if err != nil {
		return err
	}
	if made {
		im.Result.Models++
	}
	if folder == "" {
		return nil
	}
	return im.folder(ctx, folder, nil, func(a Artifact) error {
		a.Name = FitPath(a.Name)
		a.ID, a.LoggedModel = ID("artifact", m.ID, a.Name), m.ID
		stored, err := im.put(ctx, a, path)
		if stored {
			im.Result.count(a)
		}
		return err
	})
}

// RegisteredModel imports a registered model with its versions. path is the location of the
// model, for messages about losses.
func (im *Import) RegisteredModel(ctx context.Context, m RegisteredModel, path string) error {
	if im.Options.Project != "" {
		m.Project = im.Options.Project
	}
	m.Origin = path
	m.Project, m.Name, m.Description = FitName(m.Project), FitName(m.Name), FitText(m.Description)
	im.fitEntries(path, m.Properties)
	for i := range m.Versions {
		v := &m.Versions[i]
		v.Source, v.Description = FitText(v.Source), FitText(v.Description)
		im.fitEntries(path, v.Properties)
	}
	if err := im.flush(ctx); err != nil { // the runs of the versions must be written first
		return err
	}
	if im.DryRun {
		im.Result.Models += len(m.Versions)
		return nil
	}
	out, err := im.sink.RegisteredModel(ctx, m)
	if errors.Is(err, ErrDeleted) {
		im.Lose(path, "The registered model %q was imported before and then deleted here; it is not imported again.", short(m.Name))
		return nil
	}
	if err != nil {
		return err
	}
	if out.Project != "" {
		im.Lose(path, "The registered model %q was imported before, into the project %q; it stays there.", short(m.Name), short(out.Project))
	}
	for _, sentence := range out.Changes {
		im.Lose(path, "%s", sentence)
	}
	im.Result.Models += out.Made
	return nil
}

// fitEntries replaces keys and values that the store does not accept, and records each change
// as a loss.
func (im *Import) fitEntries(path string, all []Parameter) {
	for i := range all {
		p := &all[i]
		if key, value := FitName(p.Key), FitText(p.Value); key != p.Key || value != p.Value {
			im.Lose(path, "The name or value of %q was changed to an allowed one.", short(p.Key))
			p.Key, p.Value = key, value
		}
	}
}
