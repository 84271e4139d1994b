package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tracker/store"
)

func (a *app) artifactsGCCommand() *cobra.Command {
	var remove bool
	age := span(store.StrayAge)
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Find bytes that nobody needs, and remove them",
		Long: `Find what takes room and belongs to no artifact, in each backend that is set up: whole
contents, what interrupted uploads and migrations have left, and resumable uploads that
have expired. It only prints them, with their sizes; --delete removes them. The server may
run meanwhile.

A folder, or a bucket with its prefix, must belong to one database only: what others keep
there belongs to no artifact of this one. Beware also after restoring a backup: what was
uploaded since it was made is not known any more.

What was last written less than --older-than ago is spared, for it can be an upload that
goes on, and so are bytes that a command has claimed since: each is listed with the time
from which it can be removed. With 0s only the server's own work is safe: give it when no
other command runs.`,
		Example: `  tracker artifacts gc
  tracker artifacts gc --delete
  tracker artifacts gc --delete --older-than 24h`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if age < 0 {
				return misuse(fmt.Sprintf("--older-than must not be negative, like %v", time.Duration(age)))
			}
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			return a.withDB(cmd.Context(), cfg, func(db *store.DB) error { return a.collectStrays(cmd.Context(), db, time.Duration(age), remove) })
		}),
	}
	addSettings(cmd, artifactSettings...)
	cmd.Flags().BoolVar(&remove, "delete", false, "remove them")
	cmd.Flags().Var(&age, "older-than", "spare what interrupted uploads have left for less than this `time`, like 12h or 7d")
	return cmd
}

// strayKinds say what a stray is.
var strayKinds = map[store.StrayKind]string{
	store.StrayContent: "content of no artifact",
	store.StrayStaged:  "left by an interrupted upload",
	store.StrayUpload:  "expired upload",
}

func printStray(w io.Writer, s store.Stray, note string) {
	backend := s.Backend
	if backend == "" {
		backend = "upload"
	}
	fmt.Fprintf(w, "%-10s  %8s  %s  (%s)\n", backend, size(s.Size), s.Name, note)
}

// sparedStrays are those that a collection leaves where they are.
type sparedStrays struct {
	n, servers int // servers of them are the server's
	bytes      int64
	until      time.Time // the latest of the others
	lines      strings.Builder
}

func (all *sparedStrays) add(s store.Stray) {
	all.n, all.bytes = all.n+1, all.bytes+s.Size
	note := "upload that goes on or was interrupted"
	if s.Kind == store.StrayContent {
		note = "claimed by a command that is at work or was killed"
	}
	if s.Until.IsZero() {
		all.servers++
		note = "claimed by the server; if it was killed, its next start frees it"
	} else {
		note += "; until " + clockTime(s.Until)
		if s.Until.After(all.until) {
			all.until = s.Until
		}
	}
	printStray(&all.lines, s, note)
}

// clockTime is a time for somebody at this machine.
func clockTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func (a *app) collectStrays(ctx context.Context, db *store.DB, age time.Duration, remove bool) error {
	var n, failed int
	var bytes int64
	var spared sparedStrays
	err := db.CollectStrays(ctx, age, remove, func(s store.Stray) {
		if s.Spared {
			spared.add(s)
			return
		}
		printStray(a.stdout, s, strayKinds[s.Kind])
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
		fmt.Fprintf(a.stdout, "Removed %s (%s).\n", things(n, "leftover", "leftovers"), size(bytes))
	default:
		fmt.Fprintf(a.stdout, "%s (%s) can be removed: run it again with --delete.\n", things(n, "leftover", "leftovers"), size(bytes))
	}
	if spared.n > 0 {
		fmt.Fprintf(a.stdout, "Spared %s (%s) for now:\n%s", things(spared.n, "leftover", "leftovers"), size(spared.bytes), &spared.lines)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s could not be removed; run it again later", things(failed, "leftover", "leftovers"))
	}
	return err
}
