package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/artifact"
)

func (a *app) artifactsGCCommand() *cobra.Command {
	var remove bool
	age := span(artifact.StagedAge)
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Find stored bytes that belong to no artifact, and remove them",
		Long: `Find orphans, stored bytes that belong to no artifact, in each configured backend: complete
blobs, remains of interrupted uploads and migrations, and expired resumable uploads. The
command lists them with their sizes; --delete removes them. The server may run at the same
time.

The folder, or the bucket with its prefix, must belong to this database alone: the artifacts
of another database would be removed. Be careful after a restore as well: bytes that were
uploaded after the backup no longer belong to any artifact.

Bytes that a command wrote or claimed less than --older-than ago are kept, because an upload
may still be running; they are listed with the time after which they can be removed. With 0s
only the server's own work is protected, so use it only while no other command runs. The
bytes of artifacts in the trash are not listed: emptying the trash removes them.`,
		Example: `  tracker artifacts gc
  tracker artifacts gc --delete
  tracker artifacts gc --delete --older-than 24h`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if age < 0 {
				return misuse(fmt.Sprintf("--older-than must not be negative, not %v", time.Duration(age)))
			}
			return a.withDB(cmd, func(db *store.DB) error { return a.collectOrphans(cmd.Context(), db, time.Duration(age), remove) })
		}),
	}
	addSettings(cmd, artifactSettings...)
	cmd.Flags().BoolVar(&remove, "delete", false, "remove them")
	cmd.Flags().Var(&age, "older-than", "keep bytes that were written less than this `time` ago, like 12h or 7d")
	return cmd
}

// orphanKinds holds the description of each kind of orphan.
var orphanKinds = map[artifact.OrphanKind]string{
	artifact.OrphanBlob:   "blob of no artifact",
	artifact.OrphanStaged: "left by an interrupted upload",
	artifact.OrphanUpload: "expired upload",
}

func printOrphan(w io.Writer, s artifact.Orphan, note string) {
	backend := s.Backend
	if backend == "" {
		backend = "upload"
	}
	fmt.Fprintf(w, "%-10s  %8s  %s  (%s)\n", backend, size(s.Size), s.Name, note)
}

// keptOrphans describes the orphans that a garbage collection does not remove.
type keptOrphans struct {
	n, servers int // number of kept orphans, and how many of them the server has claimed
	bytes      int64
	until      time.Time // time after which all orphans that the server has not claimed can be removed
	lines      strings.Builder
}

func (all *keptOrphans) add(s artifact.Orphan) {
	all.n, all.bytes = all.n+1, all.bytes+s.Size
	note := "upload in progress or interrupted"
	if s.Kind == artifact.OrphanBlob {
		note = "claimed by a command that is running or was killed"
	}
	if s.Until.IsZero() {
		all.servers++
		note = "claimed by the server; if it was killed, its next start releases it"
	} else {
		note += "; until " + clockTime(s.Until)
		if s.Until.After(all.until) {
			all.until = s.Until
		}
	}
	printOrphan(&all.lines, s, note)
}

// clockTime formats t in the local time zone.
func clockTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func (a *app) collectOrphans(ctx context.Context, db *store.DB, age time.Duration, remove bool) error {
	var n, failed int
	var bytes int64
	var spared keptOrphans
	err := db.CollectOrphans(ctx, age, remove, func(s artifact.Orphan) {
		if s.Kept {
			spared.add(s)
			return
		}
		printOrphan(a.stdout, s, orphanKinds[s.Kind])
		if s.Err != nil {
			failed++
			a.warn("it could not be removed: %v", s.Err)
			return
		}
		n, bytes = n+1, bytes+s.Size
	})
	switch {
	case n == 0 && failed == 0 && err == nil:
		fmt.Fprintln(a.stdout, "There is nothing to remove.")
	case remove:
		fmt.Fprintf(a.stdout, "Removed %s (%s).\n", things(n, "orphan", "orphans"), size(bytes))
	default:
		fmt.Fprintf(a.stdout, "%s (%s) can be removed: run this command again with --delete.\n", things(n, "orphan", "orphans"), size(bytes))
	}
	if spared.n > 0 {
		fmt.Fprintf(a.stdout, "Kept %s (%s) for now:\n%s", things(spared.n, "orphan", "orphans"), size(spared.bytes), &spared.lines)
	}
	if u, e := db.Files.ArtifactUsage(ctx); e == nil {
		printTrashUsage(a.stdout, u.Trash)
	} else if err == nil {
		err = e
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s could not be removed; run this command again later", things(failed, "orphan", "orphans"))
	}
	return err
}
