package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/artifact"
)

func (a *app) checkCommand() *cobra.Command {
	var repair, deep bool
	cmd := &cobra.Command{
		Use:     "check",
		GroupID: groupDatabase,
		Short:   "Check the database and its artifacts for damage",
		Long: `Check the database file, the references between its records, the points of each metric
against their checksum and statistics, and the presence and size of each artifact's bytes.
--deep also reads these bytes and compares their hashes. The command prints "ok", or a line
for each problem, and then ends with exit code 1.

While SQLite checks its own structures, which takes about a third of a second per million
points, the write-ahead log of a running server grows, because it can't be reset.

--repair recomputes derived data and rebuilds an index that differs from its table. The check
prints the values of both sides, because it can't know which one is damaged. A repair can't
restore a changed point, so it accepts the points as they are now. For other damage use
` + "`tracker restore`" + `.

Bytes that belong to no artifact are not an error but take space: a hint on standard error
names ` + "`tracker artifacts gc`" + `. Use the settings of the server: the database does
not record where the artifacts are stored.`,
		Example: `  tracker check
  tracker check --deep
  tracker check --repair`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return a.withDB(cmd, func(db *store.DB) error {
				problems, err := a.findProblems(cmd.Context(), db, repair, deep)
				remaining := a.printProblems(problems)
				switch {
				case err != nil:
					return err
				case remaining > 0:
					return fmt.Errorf("%s of %d in %s", things(remaining, "problem remains", "problems remain"), len(problems), db.Path())
				}
				a.reportOrphans(cmd.Context(), db)
				_, err = fmt.Fprintln(a.stdout, "ok")
				return err
			})
		}),
	}
	addSettings(cmd, artifactSettings...)
	cmd.Flags().BoolVar(&repair, "repair", false, "recompute derived data and rebuild indexes")
	cmd.Flags().BoolVar(&deep, "deep", false, "read all artifacts and compare their hashes")
	return cmd
}

// findProblems checks the database first and then the artifacts.
func (a *app) findProblems(ctx context.Context, db *store.DB, repair, deep bool) ([]store.Problem, error) {
	problems, err := db.Check(ctx, repair)
	if err != nil {
		return problems, err
	}
	var bar *byteProgress
	show := func(done, total int64) {
		if bar == nil {
			bar = a.newByteProgress("Reading artifacts", total)
		}
		bar.set(done)
	}
	if !deep {
		show = nil
	}
	more, err := db.CheckArtifacts(ctx, deep, show)
	if bar != nil {
		bar.end()
	}
	return append(problems, more...), err
}

// reportOrphans prints the space that `tracker artifacts gc` can free now, and the space that
// it might free later.
func (a *app) reportOrphans(ctx context.Context, db *store.DB) {
	var n int
	var bytes int64
	var spared keptOrphans
	err := db.CollectOrphans(ctx, artifact.StagedAge, false, func(s artifact.Orphan) {
		if s.Kept {
			spared.add(s)
			return
		}
		n, bytes = n+1, bytes+s.Size
	})
	if err != nil {
		a.warn("not every artifact backend could be searched for bytes that belong to no artifact: %v", err)
	}
	if n > 0 {
		verb := "belong"
		if n == 1 {
			verb = "belongs"
		}
		fmt.Fprintf(a.stderr, "tracker: %s (%s) %s to no artifact; `tracker artifacts gc` lists and removes them\n", things(n, "orphan", "orphans"), size(bytes), verb)
	}
	if spared.n == 0 {
		return
	}
	fmt.Fprintf(a.stderr, "tracker: %s (%s) may belong to an upload or a command that is running, or was killed; `tracker artifacts gc` lists them",
		things(spared.n, "orphan", "orphans"), size(spared.bytes))
	if !spared.until.IsZero() {
		fmt.Fprintf(a.stderr, ", and can remove them after %s", clockTime(spared.until))
	}
	if spared.servers > 0 {
		fmt.Fprintf(a.stderr, "; of these, %s claimed by the server until its next start", things(spared.servers, "is", "are"))
	}
	fmt.Fprintln(a.stderr)
}

// printProblems prints a line for each problem. It returns the number of problems that were not
// repaired.
func (a *app) printProblems(problems []store.Problem) (remaining int) {
	for _, p := range problems {
		text := p.Text
		switch {
		case p.Lost && p.Repaired:
			text += " Accepted unchanged."
		case p.Lost:
			text += " Restore a backup, or accept them unchanged with --repair."
		case p.Repaired:
			text += " Repaired."
		case p.Repairable:
			text += " --repair can fix this."
		}
		if !p.Repaired {
			remaining++
		}
		fmt.Fprintln(a.stdout, text)
	}
	return remaining
}
