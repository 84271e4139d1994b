package cmd

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/trash"
)

// trashSettings lists the settings that the trash commands need.
var trashSettings = append([]string{"SERVICE_TRASH_DAYS"}, artifactSettings...)

func (a *app) trashCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "trash",
		GroupID: groupDatabase,
		Short:   "List, restore and purge deleted records",
		Long: `List the records in the trash, latest deletions first: projects, experiments, runs, models,
versions, artifacts and reports, each with everything inside it. The server purges them after
SERVICE_TRASH_DAYS, by default 30. These commands also work while a server runs.`,
		Example: `  tracker trash
  tracker trash restore 01a1fd72-2c13-79ed-97b8-5face34acb11
  tracker trash empty --older-than 7d`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return a.withDB(cmd, func(db *store.DB) error { return a.listTrash(cmd.Context(), db, asJSON) })
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE", "SERVICE_TRASH_DAYS")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(a.trashRestoreCommand(), a.trashEmptyCommand())
	return cmd
}

func (a *app) trashRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore ID...",
		Short: "Restore records from the trash",
		Long: `Restore records from the trash, with everything that was deleted with them. If there is an
error, none of them is restored. An ID is in the first column of "tracker trash".`,
		Example:           `  tracker trash restore 01a1fd72-2c13-79ed-97b8-5face34acb11`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, ids []string) error {
			return a.withDB(cmd, func(db *store.DB) error {
				if err := db.Trash.Restore(cmd.Context(), domain.System, ids...); err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "Restored %s.\n", things(len(ids), "record", "records"))
				return nil
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	return cmd
}

func (a *app) trashEmptyCommand() *cobra.Command {
	var age span
	cmd := &cobra.Command{
		Use:   "empty",
		Short: "Delete the records in the trash permanently",
		Long: `Delete the records in the trash permanently, with the bytes of their artifacts. With
--older-than, delete only the records that have been in the trash for at least that long.
This also works on a full disk, to free space. It can be undone only with a backup.`,
		Example: `  tracker trash empty
  tracker trash empty --older-than 7d`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if age < 0 {
				return misuse(fmt.Sprintf("--older-than must not be negative, not %v", time.Duration(age)))
			}
			return a.withDB(cmd, func(db *store.DB) error { return a.emptyTrash(cmd.Context(), db, time.Duration(age)) })
		}),
	}
	addSettings(cmd, trashSettings...)
	cmd.Flags().Var(&age, "older-than", "keep records that were deleted less than this `time` ago, like 12h or 7d")
	return cmd
}

// maxTrashRows is the maximum number of rows in the table.
const maxTrashRows = domain.MaxLimit

func (a *app) listTrash(ctx context.Context, db *store.DB, asJSON bool) error {
	l, err := db.Trash.List(ctx, domain.System, trash.Query{Page: domain.Page{Limit: maxTrashRows}})
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.printJSON(l)
	case l.Total == 0:
		fmt.Fprintln(a.stdout, "The trash is empty.")
		return nil
	}
	if err := printTrash(a.stdout, l.Data); err != nil {
		return err
	}
	if more := l.Total - len(l.Data); more > 0 {
		fmt.Fprintf(a.stdout, "And %s.\n", things(more, "older record", "older records"))
	}
	return nil
}

func printTrash(out io.Writer, all []trash.Trashed) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKIND\tNAME\tPROJECT\tDELETED\tBY\tPURGED AFTER\tRUNS\tARTIFACTS\tBYTES")
	for _, t := range all {
		by := "-"
		if t.DeletedBy != nil {
			by = *t.DeletedBy
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Kind.Word(), clip(t.Name, 40), clip(t.ProjectName, 40),
			clockTime(t.DeletedDate.Time()), by, clockTime(t.PurgeDate.Time()), count(t.Iterations), count(t.Artifacts), size(t.SizeBytes))
	}
	return w.Flush()
}

func (a *app) emptyTrash(ctx context.Context, db *store.DB, age time.Duration) error {
	var n, kept int
	err := db.Trash.Empty(ctx, domain.System, age, func(p trash.Purged) {
		if p.Kept {
			kept++
			fmt.Fprintf(a.stdout, "Kept the %s: a version of a model in the trash refers to it.\n", p.Trashed)
			return
		}
		n++
		fmt.Fprintf(a.stdout, "Deleted the %s.\n", p.Trashed)
	})
	if err != nil {
		return err
	}
	if n == 0 && kept == 0 {
		fmt.Fprintln(a.stdout, "There is nothing to delete.")
		return nil
	}
	if _, err := db.Collect(ctx); err != nil {
		a.warn("could not delete all bytes of artifacts; the server will try again: %v", err)
	}
	fmt.Fprintf(a.stdout, "%s deleted permanently.\n", things(n, "record is", "records are"))
	return nil
}
