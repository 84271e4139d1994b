package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) stopCommand() *cobra.Command {
	p := api{app: a}
	cmd := &cobra.Command{
		Use:     "stop RUN",
		GroupID: groupRuns,
		Short:   "Ask a run to stop",
		Long: `Ask a run to stop, as "Stop" on its page does. The client of the run interrupts its script:
the Python client within seconds, W&B's clients within about half a minute. The command does
not wait for that. RUN is an id, the address of a page, or a unique name.`,
		Example:           `  tracker stop quiet-otter`,
		Args:              one("RUN"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			c, r, err := p.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.Stop(cmd.Context(), r.ID); err != nil {
				return err
			}
			if p.asJSON {
				return a.printJSON(map[string]string{"id": r.ID})
			}
			_, err = fmt.Fprintf(a.stdout, "Asked the run %s to stop.\n", clip(r.Name, 60))
			return err
		}),
	}
	p.flags(cmd)
	return cmd
}
