package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
)

// followPause is the time between two polls of a folder. It makes new points visible within two
// seconds.
const followPause = 1500 * time.Millisecond

func (a *app) followCommand() *cobra.Command {
	var o transfer.Options
	var steps string
	cmd := &cobra.Command{
		Use:     "follow DIR",
		GroupID: groupDatabase,
		Short:   "Import TensorBoard event files while they are written",
		Long: `Import the TensorBoard event files below a folder, then import new data and new files within
two seconds, until Ctrl-C. The folder is polled, which also works on network file systems,
and no file is kept open.

The runs are written to the database, which a server may use at the same time.
` + "`tracker serve --logdir DIR`" + ` does the same in the server. The
command can be stopped and started again safely, as ` + "`tracker import`" + ` can.`,
		Example: `  tracker follow runs/
  tracker follow /mnt/cluster/logs --project vision`,
		Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) (err error) {
			if err := checkSteps(steps); err != nil {
				return err
			}
			o.KeepAll = steps == "all"
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			db, err := a.openOrCreate(cmd.Context(), cfg, cfg.backends(), false)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			im := transfer.New(db.Imports.Sink(domain.System), o)
			f, err := tensorboard.NewFollower(im, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "Following %s. Ctrl-C ends it.\n", args[0])
			follow(cmd.Context(), f, func(err error) { a.warn("%v; will try again", err) }, func() { a.printFollowed(im) })
			return nil
		}),
	}
	addSettings(cmd, append([]string{"SERVICE_DB_FILE"}, artifactSettings...)...)
	f := cmd.Flags()
	f.StringVar(&o.Project, "project", "", "`name` of the project (default TensorBoard)")
	f.StringVar(&o.Experiment, "experiment", "", "`name` of the experiment (default the name of the folder)")
	f.StringArrayVar(&o.Only, "only", nil, "only runs whose names match `pattern`, such as resnet*; can be repeated")
	f.BoolVar(&o.NoArtifacts, "no-artifacts", false, "leave out images, text, audio and histograms")
	f.StringVar(&steps, "steps", "rewind", "`which` points of a restarted run to keep: rewind (repeated steps of the last start only) or all")
	return cmd
}

func checkSteps(steps string) error {
	if steps != "rewind" && steps != "all" {
		return misuse(fmt.Sprintf("--steps must be rewind or all, not %q", steps))
	}
	return nil
}

// printFollowed prints the data that im has imported since the last call.
func (a *app) printFollowed(im *transfer.Import) {
	r := im.Result
	if r.Points > 0 {
		fmt.Fprintf(a.stdout, "%s  %s in %s\n", time.Now().Format(time.TimeOnly), things(r.Points, "point", "points"), things(r.Found, "run", "runs"))
	}
	for _, l := range r.Losses {
		fmt.Fprintf(a.stdout, "  %s: %s\n", l.Path, l.Reason)
	}
	r.Points, r.Losses = 0, r.Losses[:0]
}

// follow polls until ctx ends. It calls failed for each error that the previous poll did not have,
// and polled after each poll that imported data.
func follow(ctx context.Context, f *tensorboard.Follower, failed func(error), polled func()) {
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	last := ""
	for {
		something, err := f.Poll(ctx)
		if ctx.Err() != nil {
			return
		}
		text := ""
		if err != nil {
			if text = err.Error(); text != last {
				failed(err)
			}
		}
		if last = text; something {
			polled()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// followInBackground imports new data from the folder dir until the returned function is
// called. The folder does not need to exist yet.
func followInBackground(ctx context.Context, db *store.DB, dir string, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		im := transfer.New(db.Imports.Sink(domain.System), transfer.Options{})
		f, err := tensorboard.NewFollower(im, dir)
		if err != nil {
			log.Warn("could not read the folder of event files; will try again", "folder", dir, "error", err)
		}
		for ; err != nil; f, err = tensorboard.NewFollower(im, dir) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(followPause):
			}
		}
		follow(ctx, f,
			func(err error) {
				log.Error("could not import event files; will try again", "folder", dir, "error", err)
			},
			func() {
				for _, l := range im.Result.Losses {
					log.Warn("some data in the event files was not imported", "path", l.Path, "reason", l.Reason)
				}
				im.Result.Losses = im.Result.Losses[:0]
			})
	})
	return func() {
		cancel()
		running.Wait()
	}
}
