package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/artifact"
)

var backendNames = []string{string(artifact.Inline), string(artifact.Filesystem), string(artifact.S3)}

func (a *app) artifactsMigrateCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "migrate --to BACKEND",
		Short: "Move the bytes of all artifacts to one backend",
		Long: `Move the bytes of all artifacts to one backend: inline, filesystem or s3. Each blob is
copied, read back and compared with its hash. Then its artifacts are switched to the copy,
and only then is the original removed. The server may run at the same time. Ctrl-C stops the
command at any time; run it again to continue.

The command moves the artifacts that exist when it starts. The server stores new ones in
SERVICE_ARTIFACT_BACKEND, so change that setting first, restart the server with the settings
of both backends, and then migrate. Blobs that are missing or damaged stay where they are
and are listed, and the exit code is 1.`,
		Example: `  tracker artifacts migrate --to s3
  tracker artifacts migrate --to filesystem --artifact-root /srv/tracker/artifacts`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) (err error) {
			if !slices.Contains(backendNames, to) {
				return misuse(fmt.Sprintf("--to must be one of %s, not %q", strings.Join(backendNames, ", "), to))
			}
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			if err := mustExist(cfg.DBFile); err != nil {
				return err
			}
			backends := cfg.existing()
			if artifact.Backend(to) == artifact.Filesystem {
				backends = cfg.backends() // also creates the artifacts folder
			}
			db, err := store.Open(cmd.Context(), store.Options{Path: cfg.DBFile, MustExist: true, Logger: a.logger(cfg), Backends: backends})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			return a.migrateArtifacts(cmd.Context(), db, artifact.Backend(to))
		}),
	}
	addSettings(cmd, artifactSettings...)
	cmd.Flags().StringVar(&to, "to", "", "`backend` to move the artifacts to: inline, filesystem or s3")
	// These calls return an error only if the flag does not exist.
	_ = cmd.MarkFlagRequired("to")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(backendNames, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) migrateArtifacts(ctx context.Context, db *store.DB, to artifact.Backend) error {
	m, err := db.PlanMigration(ctx, to)
	if err != nil {
		return err
	}
	if m.Blobs == 0 {
		_, err := fmt.Fprintf(a.stdout, "All artifacts are in %s.\n", to)
		return err
	}
	fmt.Fprintf(a.stdout, "Moving %s (%s) to %s.\n", things(m.Blobs, "blob", "blobs"), size(m.Bytes), to)
	var moved, failed int
	var movedBytes, finished int64 // finished also counts blobs that could not be moved
	bar := a.newByteProgress("Moving to "+string(to), m.Bytes)
	current := int64(0)
	err = db.MigrateArtifacts(ctx, m,
		func(n int64) {
			current += n
			bar.set(finished + current)
		},
		func(c artifact.Moved) {
			finished, current = finished+c.Size, 0
			switch {
			case c.Err != nil:
				failed++
				bar.clear()
				fmt.Fprintf(a.stdout, "%s stays in %s: %v\n", c.Hash, c.From, c.Err)
			case !c.Gone:
				moved++
				movedBytes += c.Size
			}
			bar.set(finished)
		})
	bar.end()
	fmt.Fprintf(a.stdout, "Moved %s (%s) to %s.\n", things(moved, "blob", "blobs"), size(movedBytes), to)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(a.stdout, "Run this command again to move the rest.")
		return err
	case err != nil:
		return fmt.Errorf("%w; run this command again to move the rest", err)
	case failed > 0:
		return fmt.Errorf("%s could not be moved; `tracker check` names their artifacts", things(failed, "blob", "blobs"))
	}
	left, err := db.PlanMigration(ctx, to)
	if err == nil && left.Blobs > 0 {
		_, err = fmt.Fprintf(a.stdout, "%s were stored elsewhere in the meantime: set SERVICE_ARTIFACT_BACKEND=%s for the server, restart it, and run this again.\n",
			things(left.Blobs, "content", "contents"), to)
	}
	return err
}
