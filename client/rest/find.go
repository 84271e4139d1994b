package rest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// maxSearched is the maximum number of experiments in which a run is searched by name.
const maxSearched = 1000

// Find returns the run with the given id, page address or name. It returns an error if several runs
// have the name.
func (c *Client) Find(ctx context.Context, typed string) (Run, error) {
	id := runID(typed)
	r, err := c.Run(ctx, id)
	if !Is(err, "NOT_FOUND") || uuid.Validate(id) == nil {
		return r, err
	}
	found, err := c.named(ctx, typed)
	switch {
	case err != nil:
		return Run{}, err
	case len(found) == 0:
		return Run{}, fmt.Errorf("there is no run %q", typed)
	case len(found) > 1:
		return Run{}, fmt.Errorf("%d runs have the name %q; use an id instead, such as %s or %s", len(found), typed, found[0].ID, found[1].ID)
	}
	return found[0], nil
}

// named returns the runs with the given name, at most ten from each experiment.
func (c *Client) named(ctx context.Context, name string) ([]Run, error) {
	search := Search{Filter: "name = '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "'", Sort: "-created", Limit: 10}
	projects, err := c.Projects(ctx, maxSearched)
	if err != nil {
		return nil, err
	}
	var all []Run
	searched := 0
	for _, p := range projects {
		experiments, err := c.Experiments(ctx, p.ID, maxSearched)
		if err != nil {
			return nil, err
		}
		for _, e := range experiments {
			if searched++; searched > maxSearched {
				return nil, fmt.Errorf("there are too many experiments to search for a run with the name %q; use its id", name)
			}
			runs, _, err := c.Runs(ctx, e.ID, search)
			if err != nil {
				return nil, err
			}
			all = append(all, runs...)
		}
	}
	return all, nil
}

// runID returns the run id in typed, which is an id or the address of a run's page.
func runID(typed string) string {
	typed, _, _ = strings.Cut(typed, "?")
	typed = strings.TrimRight(typed, "/")
	return typed[strings.LastIndex(typed, "/")+1:]
}
