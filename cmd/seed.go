package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tracker/cmd/demo"
	"tracker/store"
)

func (a *app) seedCommand() *cobra.Command {
	var withDemo bool
	cmd := &cobra.Command{
		Use:     "seed",
		GroupID: groupDatabase,
		Short:   "Create the database and its admin, and optionally a demo",
		Long: `Create the database if it does not exist, with the admin "default". If this admin has no
password, it gets SERVICE_ADMIN_PASSWORD, or a random password that is shown once. Running
the command again changes nothing.

With --demo, the command also creates three projects with experiments, sweeps, curves and a
model to look at. An existing demo project is not changed; delete it to create it again.`,
		Example: `  tracker seed
  tracker seed --demo --db-file demo.db && tracker serve --db-file demo.db`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) (err error) {
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			clock := demo.NewClock(time.Now())
			db, err := store.Open(cmd.Context(), store.Options{Path: cfg.DBFile, Now: clock.Now, Logger: a.logger(cfg)})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			if err := a.seed(cmd.Context(), db, cfg, true); err != nil {
				return err
			}
			if withDemo {
				if err := demo.Seed(cmd.Context(), db, clock, a.printDemo); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(a.stdout, "%s is ready.\n", db.Path())
			return err
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE", "SERVICE_ADMIN_PASSWORD")
	cmd.Flags().BoolVar(&withDemo, "demo", false, "create three projects to look at")
	return cmd
}

func (a *app) printDemo(r demo.Result) {
	if r.Existed {
		fmt.Fprintf(a.stdout, "The demo project %q exists already.\n", r.Project)
		return
	}
	fmt.Fprintf(a.stdout, "Created the demo project %q: %d runs, %d points.\n", r.Project, r.Iterations, r.Points)
}
