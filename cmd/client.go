package cmd

import (
	"fmt"
	"os"
	"path/filepath"

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
	cmd := &cobra.Command{
		Use:   "python",
		Short: "Write the wheel of the Python client",
		Long: `Write the wheel of the Python client and print its path. It is pure Python and needs no
other package, so it can be carried to a machine without a network. The dashboard's
port offers the same file: pip install --index-url http://HOST:9001/client/python/ tracker-client`,
		Example: `  tracker client python --out dist
  pip install "$(tracker client python)"`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(*cobra.Command, []string) error {
			wheel, err := library.PythonWheel()
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
	cmd.Flags().StringVar(&folder, "out", ".", "`folder` to write to; it is made when it is not there")
	return cmd
}
