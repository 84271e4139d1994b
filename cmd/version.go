package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	library "tracker/client"
)

// Version returns the version of this program.
func Version() string { return library.Version() }

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		GroupID:           groupServer,
		Short:             "Print the version of this program",
		Example:           "  tracker version",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "tracker %s %s/%s %s\n", Version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		}),
	}
}
