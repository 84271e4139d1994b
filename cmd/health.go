package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) healthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "health",
		GroupID: groupServer,
		Short:   "Ask a running server whether it is well",
		Long: `Ask the API on this machine, at the host, port and base path of the settings, whether
it is well. The exit code is 0 when it is, and 1 when it is not or does not answer
within five seconds. Made for health checks of containers that have no shell.`,
		Example: `  tracker health
  tracker health --port 8000`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			if cfg.Port == 0 {
				return misuse("port 0 is a different one at each start: give the port of the server with --port")
			}
			if err := checkHealth(cmd.Context(), cfg); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, "ok")
			return err
		}),
	}
	addSettings(cmd, "SERVICE_HOST", "SERVICE_PORT", "SERVICE_BASE_PATH")
	return cmd
}

func checkHealth(ctx context.Context, cfg Config) error {
	url := baseURL(net.JoinHostPort(cfg.Host.reachable(), cfg.Port.String()), cfg) + "/health"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// A transport of its own, since the usual one asks the environment for a proxy.
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1000))
		if err != nil {
			return err
		}
		return fmt.Errorf("%s answers %s: %s", url, answer.Status, bytes.TrimSpace(text))
	}
	return nil
}
