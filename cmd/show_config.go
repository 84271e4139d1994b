package cmd

import (
	"fmt"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "config",
		GroupID: groupServer,
		Short:   "Show the settings in force, and where each comes from",
		Long: `Show every setting: its value, and whether a flag, the environment, the environment
file or the default gives it. Secrets are masked. What is wrong with the settings is
said below them, and the exit code is then 1.`,
		Example: `  tracker config
  SERVICE_PORT=8000 tracker config --json
  tracker config --env-file lab.env`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			values, unknown, err := a.inForce(cmd)
			if err != nil {
				return err
			}
			if err := a.printConfig(values, asJSON); err != nil {
				return err
			}
			cfg, err := a.settle(cmd, values, unknown)
			for _, w := range cfg.warnings() {
				a.warn("%s", w)
			}
			return err
		}),
	}
	addSettings(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printConfig(values []value, asJSON bool) error {
	if asJSON {
		type shown struct {
			Name   string `json:"name"`
			Value  string `json:"value"`
			Source string `json:"source"`
		}
		all := []shown{}
		for _, v := range values {
			all = append(all, shown{v.name, v.masked(), v.source})
		}
		return a.printJSON(all)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tSOURCE")
	for _, v := range values {
		text := v.masked()
		if text == "" {
			text = "(none)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.name, text, v.source)
	}
	return w.Flush()
}

// masked is the text for people: that of a secret does not even show its length.
func (v value) masked() string {
	if v.secret() && v.text != "" {
		return "********"
	}
	return v.text
}

func (a *app) printJSON(v any) error {
	err := json.MarshalWrite(a.stdout, v, jsontext.WithIndent("  "))
	if err == nil {
		_, err = fmt.Fprintln(a.stdout)
	}
	return err
}
