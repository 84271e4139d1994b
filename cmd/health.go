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
		Short:   "Check the health of a running server",
		Long: `Request /health from the API on this machine, at the host, port and base path of the
settings. The exit code is 0 if the server is healthy, and 1 if it is not or does not answer
within five seconds. Use it for health checks of containers without a shell.`,
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
				return misuse("port 0 stands for a different port at each start: give the port of the server with --port")
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
	// The default transport would use a proxy from the environment.
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
