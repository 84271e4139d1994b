package cmd

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tracker/store/json"
)

func (a *app) configCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "config",
		GroupID: groupServer,
		Short:   "Show the effective settings and their sources",
		Long: `Show every setting with its value and its source: a flag, the environment, the environment
file or the default. Secrets are masked. If settings are invalid, the command lists the
errors below them and ends with exit code 1.`,
		Example: `  tracker config
  SERVICE_PORT=8000 tracker config --json
  tracker config --env-file lab.env`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			values, unknown, err := a.readSettings(cmd)
			if err != nil {
				return err
			}
			if err := a.printConfig(values, asJSON); err != nil {
				return err
			}
			cfg, err := a.checkSettings(cmd, values, unknown)
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

// masked returns the text to print for v, in which a mask of fixed length replaces a secret.
func (v value) masked() string {
	switch {
	case v.secret() && v.text != "":
		return mask
	case v.kind == "url" || v.kind == "list":
		return maskedURL(v.text)
	}
	return v.text
}

const mask = "********"

// maskedURL masks the parts of a URL that might be secret: the user, the password and the query.
// URLs with these parts are invalid, but the error message quotes them.
func maskedURL(text string) string {
	if at := strings.LastIndex(text, "@"); at >= 0 {
		scheme, _, ok := strings.Cut(text[:at], "://")
		if ok {
			text = scheme + "://" + mask + text[at:]
		} else {
			text = mask + text[at:]
		}
	}
	if address, _, ok := strings.Cut(text, "?"); ok {
		text = address + "?" + mask
	}
	return text
}

func (a *app) printJSON(v any) error {
	err := json.MarshalWrite(a.stdout, v, json.WithIndent("  "))
	if err == nil {
		_, err = fmt.Fprintln(a.stdout)
	}
	return err
}
