package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tracker/store"
)

func (a *app) restoreCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "restore FILE",
		GroupID: groupDatabase,
		Short:   "Replace the database with a backup",
		Long: `Verify a backup and replace the database with it. An existing database is replaced only with
--force, and is then kept under another name. Stop the server first: while it runs, the
command fails.`,
		Example: `  tracker restore monday.db
  tracker restore monday.db --force --db-file /srv/tracker/tracker.db`,
		Args: one("FILE"),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			aside, err := store.Restore(cmd.Context(), args[0], cfg.DBFile, force, time.Now())
			if aside != "" {
				fmt.Fprintf(a.stdout, "The previous database is now %s.\n", aside)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s is restored from %s.\n", cfg.DBFile, args[0])
			return err
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing database and keep it under another name")
	return cmd
}
