package transfer

import (
	"context"

	"github.com/google/uuid"
)

// Experiment is an experiment, as read from its source.
type Experiment struct {
	ID            string // id in the source
	Project, Name string
	Description   string
	Properties    []Parameter
	Created       Time       // 0 if unknown
	Deleted       bool       // by the source
	RunID         *uuid.UUID // a run in it; nil if it has none
}

// Experiment imports an experiment. Its runs must have been imported before. path is its
// location, for losses.
func (im *Import) Experiment(ctx context.Context, e Experiment, path string) error {
	if im.Options.Project != "" {
		e.Project = im.Options.Project
	}
	if im.Options.Experiment != "" {
		if e.RunID == nil && e.Description == "" && len(e.Properties) == 0 {
			return nil // its name is not used, and it has no texts
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
	if err := im.flush(ctx); err != nil || im.DryRun { // its runs must be there
		return err
	}
	changes, err := im.sink.Experiment(ctx, e)
	for _, sentence := range changes {
		im.Lose(path, "%s", sentence)
	}
	return err
}

// Trash moves runs that the source has deleted to the trash. They must have been imported before.
// paths are their locations, for losses.
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
