package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tracker/blob"
	"tracker/store"
	"tracker/store/backup"
)

// backups returns the backup schedule of the settings, or nil if backups are not configured.
func (c Config) backups(db *store.DB, log *slog.Logger) *backup.Schedule {
	if c.BackupDir == "" {
		return nil
	}
	file := filepath.Base(db.Path())
	return backup.New(backup.Options{
		Dir:      c.BackupDir,
		Interval: time.Duration(c.BackupInterval),
		Keep:     int(c.BackupKeep),
		Prefix:   strings.TrimSuffix(file, filepath.Ext(file)),
		Copy:     db.Backup,
		Size: func() (int64, error) {
			size, _, err := db.Size()
			return size, err
		},
		FreeSpace: blob.FreeSpace,
		Logger:    log,
	})
}

// runInBackground starts the schedule s. It does nothing if s is nil. The returned function stops
// the schedule and waits until it has ended.
func runInBackground(ctx context.Context, s *backup.Schedule) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	if s != nil {
		running.Go(func() { s.Run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backup FILE",
		GroupID: groupDatabase,
		Short:   "Copy the database to a file",
		Long: `Copy a snapshot of the database to a new file. A server may write to the database at the
same time. The copy is verified and is a complete database: ` + "`tracker restore`" + ` restores it,
and --db-file opens it directly.

The copy includes artifacts only if their backend is inline. Otherwise also copy the
artifacts folder or the bucket, after the database, so that this copy contains all artifacts
that the copy of the database lists. docs/backup.md has the details and describes automatic
copies.`,
		Example: `  tracker backup tracker-$(date +%F).db
  tracker backup /backups/monday.db --db-file /srv/tracker/tracker.db`,
		Args: one("FILE"),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return a.withDB(cmd, func(db *store.DB) error {
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
