package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tracker/store"
)

func (a *app) checkCommand() *cobra.Command {
	var repair, deep bool
	cmd := &cobra.Command{
		Use:     "check",
		GroupID: groupDatabase,
		Short:   "Prove that the database and its artifacts are sound",
		Long: `Prove that the database is sound: the file itself, the references between its records, and
the statistics of each metric against its points; and that the bytes of each artifact are
where they should be, in the right size. With --deep all of them are read and compared with
their hashes. It prints "ok", or a line for each problem and ends with exit code 1.

With --repair, what can be computed again is; for the rest there is ` + "`tracker restore`" + `.
Bytes that belong to no artifact are no problem, only room that is not used: a hint on the
standard error names ` + "`tracker artifacts gc`" + `. Give it the settings of the server: where
artifacts are is not in the database.`,
		Example: `  tracker check
  tracker check --deep
  tracker check --repair`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			return a.withDB(cmd.Context(), cfg, func(db *store.DB) error {
				problems, err := a.findProblems(cmd.Context(), db, repair, deep)
				remaining := a.printProblems(problems)
				switch {
				case err != nil:
					return err
				case remaining > 0:
					return fmt.Errorf("%d of %d problems remain in %s", remaining, len(problems), db.Path())
				}
				a.hintAtStrays(cmd.Context(), db)
				_, err = fmt.Fprintln(a.stdout, "ok")
				return err
			})
		}),
	}
	addSettings(cmd, artifactSettings...)
	cmd.Flags().BoolVar(&repair, "repair", false, "compute again what can be")
	cmd.Flags().BoolVar(&deep, "deep", false, "read all artifacts and compare their hashes")
	return cmd
}

// findProblems proves the database, then the artifacts.
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

// hintAtStrays says how much room can be had, now or later. What can't be looked
// into and holds no artifact is no problem of theirs.
func (a *app) hintAtStrays(ctx context.Context, db *store.DB) {
	var n int
	var bytes int64
	var spared sparedStrays
	err := db.CollectStrays(ctx, store.StrayAge, false, func(s store.Stray) {
		if s.Spared {
			spared.add(s)
			return
		}
		n, bytes = n+1, bytes+s.Size
	})
	if err != nil {
		a.warn("not every place for artifacts could be looked into for bytes that nobody needs: %v", err)
	}
	if n > 0 {
		fmt.Fprintf(a.stderr, "tracker: %s (%s) belong to no artifact; `tracker artifacts gc` lists and removes them\n", things(n, "leftover", "leftovers"), size(bytes))
	}
	if spared.n == 0 {
		return
	}
	fmt.Fprintf(a.stderr, "tracker: %s (%s) may belong to an upload or a command that is at work, or to one that was killed; `tracker artifacts gc` lists them",
		things(spared.n, "leftover", "leftovers"), size(spared.bytes))
	if !spared.until.IsZero() {
		fmt.Fprintf(a.stderr, ", and can remove them after %s", clockTime(spared.until))
	}
	if spared.servers > 0 {
		fmt.Fprintf(a.stderr, "; what the server has claimed (%d) is free with its next start", spared.servers)
	}
	fmt.Fprintln(a.stderr)
}

// printProblems prints a line for each problem and counts those that remain.
func (a *app) printProblems(problems []store.Problem) (remaining int) {
	for _, p := range problems {
		text := p.Text
		switch {
		case p.Repaired:
			text += " Repaired."
		case p.Repairable:
			text += " --repair can mend this."
		}
		if !p.Repaired {
			remaining++
		}
		fmt.Fprintln(a.stdout, text)
	}
	return remaining
}
