package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	library "tracker/client"
)

func (a *app) clientCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "client",
		GroupID: groupServer,
		Short:   "Write the client library for a language",
		Example: "  tracker client python --out dist",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.clientPythonCommand())
	return cmd
}

func (a *app) clientPythonCommand() *cobra.Command {
	var folder string
	var withProgram bool
	cmd := &cobra.Command{
		Use:   "python",
		Short: "Write the wheel of the Python client",
		Long: `Write the wheel of the Python client and print its path. The client is pure Python and needs
no other package, so it can be installed on a machine without a network. The dashboard's
port serves the same file: pip install --index-url http://HOST:9001/client/python/ runtracker

With --with-program, the wheel is for machines like this one and also installs this program,
as the command tracker.`,
		Example: `  tracker client python --out dist
  pip install "$(tracker client python --with-program)"`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(*cobra.Command, []string) error {
			var program *library.Program
			if withProgram {
				var err error
				if program, err = thisProgram(); err != nil {
					return fmt.Errorf("this program can't be read: %w", err)
				}
			}
			wheel, err := library.PythonWheel(program)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			path := filepath.Join(folder, wheel.Name)
			if err := os.WriteFile(path, wheel.Body, 0o644); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, path)
			return err
		}),
	}
	cmd.Flags().StringVar(&folder, "out", ".", "`folder` to write to; created if it does not exist")
	cmd.Flags().BoolVar(&withProgram, "with-program", false, "include this program in the wheel")
	return cmd
}

// thisProgram returns the running program as a library.Program.
func thisProgram() (*library.Program, error) {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, errors.New("it has no build information")
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	return &library.Program{Content: content, Build: build}, err
}
