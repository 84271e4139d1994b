package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tracker/store"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backup FILE",
		GroupID: groupDatabase,
		Short:   "Copy the database to a file",
		Long: `Copy the database, as it is at one moment, to a file that is not there yet. A server may
go on writing meanwhile. The copy is verified before this ends, and is a database
itself: ` + "`tracker restore`" + ` puts it back, and --db-file opens it.

Artifacts are not in it, unless their backend is inline: copy the artifacts folder or the
bucket as well, after this and not before, so that it has everything that the copy of the
database speaks of. docs/artifacts.md says more.`,
		Example: `  tracker backup tracker-$(date +%F).db
  tracker backup /backups/monday.db --db-file /srv/tracker/tracker.db`,
		Args: one("FILE"),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return a.withDB(cmd.Context(), cfg, func(db *store.DB) error {
				if err := db.Backup(cmd.Context(), path); err != nil {
					return err
				}
				info, err := os.Stat(path)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "%s is a verified copy of %s (%d bytes).\n", path, db.Path(), info.Size())
				return err
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	return cmd
}
