package cmd

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/scalar"
)

// auditOptions holds the flags of the command audit.
type auditOptions struct {
	since  span
	limit  int
	actor  string
	action string
	record string
	asJSON bool
}

func (a *app) auditCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:     "audit",
		GroupID: groupDatabase,
		Short:   "Show who did what: sign-ins, rights, keys, deletions, exports",
		Long: `Show the audit trail, newest entries first: sign-ins, changes of accounts, keys and rights, and
deleted, restored, purged and exported records. The command reads the database file, even while
a server runs. The server deletes entries after SERVICE_AUDIT_DAYS, by default 365.`,
		Example: `  tracker audit --since 7d
  tracker audit --since 7d --json
  tracker audit --actor ada --action delete`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if o.limit < 1 || o.limit > maxAuditEntries {
				return misuse(fmt.Sprintf("--limit must be from 1 to %d, not %d", maxAuditEntries, o.limit))
			}
			if o.since < 0 {
				return misuse(fmt.Sprintf("--since must not be negative, not %v", time.Duration(o.since)))
			}
			return a.withDB(cmd, func(db *store.DB) error { return a.audit(cmd.Context(), db, o) })
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	cmd.Flags().Var(&o.since, "since", "only entries of the last `time`, like 12h or 7d")
	cmd.Flags().IntVar(&o.limit, "limit", 1000, "maximum `number` of entries")
	cmd.Flags().StringVar(&o.actor, "actor", "", "only entries of this account; a user `name`")
	cmd.Flags().StringVar(&o.action, "action", "", "only entries with this action, a `word` like delete or sign_in_failed")
	cmd.Flags().StringVar(&o.record, "record", "", "only entries about the record with this `id`")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	// These calls return an error only if the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("actor", a.completeUser)
	_ = cmd.RegisterFlagCompletionFunc("action", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var words []string
		for _, action := range domain.Actions {
			words = append(words, string(action))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// maxAuditEntries is the maximum number of entries that the command audit prints.
const maxAuditEntries = 100_000

// audit prints the entries that o selects.
func (a *app) audit(ctx context.Context, db *store.DB, o auditOptions) error {
	q := audit.Query{Actor: o.actor, Action: domain.Action(o.action), Record: o.record}
	if o.since > 0 {
		q.Since = new(scalar.TimeOf(time.Now().Add(-time.Duration(o.since))))
	}
	all := []audit.Entry{}
	for len(all) < o.limit {
		q.Limit = min(o.limit-len(all), domain.MaxLimit)
		page, err := db.Audit.Entries(ctx, domain.System, q)
		if err != nil {
			return err
		}
		all = append(all, page.Data...)
		if page.Next == nil {
			break
		}
		q.Cursor = *page.Next
	}
	if o.asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "No entries were found.")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DATE\tBY\tKEY\tADDRESS\tACTION\tKIND\tNAME\tDETAIL\tCOUNT")
	for _, e := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clockTime(e.Date.Time()), cmp.Or(e.By(), "-"), cmp.Or(clip(e.Key, 20), "-"), cmp.Or(e.Address, "-"),
			e.Action, cmp.Or(string(e.Kind), "-"), cmp.Or(clip(e.Name, 40), "-"), cmp.Or(clip(e.Detail, 60), "-"), count(e.Count))
	}
	return w.Flush()
}
