package transfer

import (
	"context"

	"github.com/google/uuid"
)

// Experiment is an experiment read from a source.
type Experiment struct {
	ID            string // id of the experiment in the source
	Project, Name string
	Description   string
	Properties    []Parameter
	Created       Time       // 0 if unknown
	Deleted       bool       // whether the experiment was deleted in the source
	RunID         *uuid.UUID // id of a run in the experiment; nil if the experiment is empty
}

// Experiment imports an experiment. The caller must import the runs of the experiment first.
// path is the location of the experiment, for messages about losses.
func (im *Import) Experiment(ctx context.Context, e Experiment, path string) error {
	if im.Options.Project != "" {
		e.Project = im.Options.Project
	}
	if im.Options.Experiment != "" {
		if e.RunID == nil && e.Description == "" && len(e.Properties) == 0 {
			return nil // nothing to store: the name is replaced, and there are no other values
		}
		e.Name, e.Deleted = im.Options.Experiment, false
	}
	for _, name := range []*string{&e.Project, &e.Name} {
		if fits := FitName(*name); fits != *name {
			im.Lose(path, "The name %q was changed to %q.", short(*name), short(fits))
			*name = fits
		}
	}
	if fits := FitText(e.Description); fits != e.Description {
		im.Lose(path, "The description was cut to 1 MiB of UTF-8.")
		e.Description = fits
	}
	im.fitEntries(path, e.Properties)
	if err := im.flush(ctx); err != nil || im.DryRun { // the experiment's runs must be written first
		return err
	}
	changes, err := im.sink.Experiment(ctx, e)
	for _, sentence := range changes {
		im.Lose(path, "%s", sentence)
	}
	return err
}

// Trash moves runs that were deleted in the source to the trash. The caller must import the runs
// first. paths holds the location of each run, for messages about losses.
func (im *Import) Trash(ctx context.Context, ids []uuid.UUID, paths []string) error {
	if err := im.flush(ctx); err != nil || im.DryRun {
		return err
	}
	for i, id := range ids {
		refused, err := im.sink.Trash(ctx, id)
		if err != nil {
			return err
		}
		if refused != "" {
			im.Lose(paths[i], "%s", refused)
		}
	}
	return nil
}
