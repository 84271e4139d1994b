package export

import (
	"bufio"
	"context"
	"io"
	"math"
	"path/filepath"

	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
)

// writeTensorBoard writes one event file for each run, each in its own folder.
func writeTensorBoard(ctx context.Context, e Source, path string, r *transfer.Result) error {
	folders := names{}
	inside := map[string]names{}
	experiments := map[string]string{}
	err := eachRun(ctx, e, func(v *View, run run) error {
		folder, there := experiments[run.ExperimentID]
		if !there {
			folder = folders.unique(run.experiment.Name)
			experiments[run.ExperimentID], inside[folder] = folder, names{}
		}
		r.Found++
		name := filepath.Join(folder, inside[folder].unique(run.Name))
		rounded := 0
		err := create(filepath.Join(path, name, "events.out.tfevents.0."+run.ID), func(w io.Writer) error {
			buffered := bufio.NewWriter(w)
			events, err := tensorboard.NewWriter(buffered, run.CreatedDate)
			if err != nil {
				return err
			}
			err = v.Runs.EachMetric(run.ID, func(key string, step scalar.Step, value scalar.Value, at scalar.Time) error {
				if x := float64(value); !math.IsNaN(x) && float64(float32(x)) != x {
					rounded++
				}
				r.Points++
				return events.Scalar(key, step, float64(value), at)
			})
			if err != nil {
				return err
			}
			return buffered.Flush()
		})
		if rounded > 0 {
			r.Lose(name, "%d values were rounded to 32 bits, the precision of TensorBoard's scalars.", rounded)
		}
		for _, left := range []struct {
			what string
			n    int
		}{{"parameters", len(run.Parameters)}, {"tags", len(run.Tags) + len(run.Properties)}, {"artifacts", len(run.artifacts)}} {
			if left.n > 0 {
				r.Lose(name, "%d %s of the run are not in the event files.", left.n, left.what)
			}
		}
		return err
	})
	if err == nil {
		r.Lose(r.Path, "Event files can't hold the status, the notes and the end time of a run.")
	}
	return err
}
