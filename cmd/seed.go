package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tracker/store"
)

func (a *app) seedCommand() *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use:     "seed",
		GroupID: groupDatabase,
		Short:   "Make the database and its admin, and a demo if wanted",
		Long: `Make the database when it is not there, and the admin "default" when there is none. Its
password is SERVICE_ADMIN_PASSWORD, or a random one that is shown once. Running it
again changes nothing.

With --demo it also makes three projects with experiments, sweeps, curves and a model to
look at. Those that are there already are left as they are; delete one to have it made anew.`,
		Example: `  tracker seed
  tracker seed --demo --db-file demo.db && tracker serve --db-file demo.db`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) (err error) {
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			clock := newClock(time.Now())
			db, err := store.Open(cmd.Context(), store.Options{Path: cfg.DBFile, Now: clock.now, Logger: a.logger(cfg)})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			if err := a.seed(cmd.Context(), db, cfg); err != nil {
				return err
			}
			if demo {
				if err := a.seedDemo(cmd.Context(), db, clock); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(a.stdout, "%s is ready.\n", db.Path())
			return err
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE", "SERVICE_ADMIN_PASSWORD")
	cmd.Flags().BoolVar(&demo, "demo", false, "make three projects to look at")
	return cmd
}
