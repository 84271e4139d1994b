package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set with -ldflags "-X tracker/cmd.version=…" where a release is built.
var version string

// Version is the version of this program: that of the release, else what the
// go command knows about the build, else "dev".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

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
