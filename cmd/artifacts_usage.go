package cmd

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/files"
)

func (a *app) artifactsUsageCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Count artifacts and their bytes",
		Long: `Count artifacts and their bytes, by backend, project and experiment. Identical bytes are
stored once in a backend; the last table lists the bytes that several artifacts share, and
the space that this saves. Artifacts in the trash are counted separately, because their bytes
are still stored.`,
		Example: `  tracker artifacts usage
  tracker artifacts usage --json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return a.withDB(cmd, func(db *store.DB) error {
				u, err := db.Files.ArtifactUsage(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(u)
				}
				return a.printUsage(u)
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printTrashUsage prints the usage of the trash. It prints nothing if the trash is empty.
func printTrashUsage(out io.Writer, t files.TrashUsage) {
	if t.Artifacts > 0 {
		fmt.Fprintf(out, "%s of %s in the trash; `tracker trash empty` frees %s.\n",
			things(t.Artifacts, "artifact", "artifacts"), size(t.Bytes), size(t.FreedBytes))
	}
}

// maxSharedRows is the maximum number of shared blobs in the table.
const maxSharedRows = 10

func (a *app) printUsage(u files.ArtifactUsage) error {
	fmt.Fprintf(a.stdout, "%s of %s, stored in %s.\n", things(u.Artifacts, "artifact", "artifacts"), size(u.Bytes), size(u.StoredBytes))
	if u.Uploads > 0 {
		fmt.Fprintf(a.stdout, "%s not complete, with %s so far.\n", things(u.Uploads, "upload is", "uploads are"), size(u.UploadsBytes))
	}
	printTrashUsage(a.stdout, u.Trash)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if len(u.Backends) > 0 {
		fmt.Fprintln(w, "\nBACKEND\tCONTENTS\tBYTES")
	}
	for _, b := range u.Backends {
		fmt.Fprintf(w, "%s\t%s\t%s\n", b.Backend, count(b.Contents), size(b.StoredBytes))
	}
	if len(u.Projects) > 0 {
		fmt.Fprintln(w, "\nPROJECT, EXPERIMENT\tARTIFACTS\tBYTES")
	}
	for _, p := range u.Projects {
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, count(p.Artifacts), size(p.Bytes))
		for _, e := range p.Experiments {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", e.Name, count(e.Artifacts), size(e.Bytes))
		}
	}
	if len(u.Shared) > 0 {
		fmt.Fprintln(w, "\nSHARED CONTENT\tBACKEND\tARTIFACTS\tBYTES\tSAVES\tOLDEST")
	}
	for _, s := range u.Shared[:min(len(u.Shared), maxSharedRows)] {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Hash[:12], s.Backend, count(s.Artifacts), size(s.Size), size(s.Size*int64(s.Artifacts-1)), s.Name)
	}
	return w.Flush()
}
