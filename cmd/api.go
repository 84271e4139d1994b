package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tracker/client/rest"
)

const (
	defaultAPI = "http://127.0.0.1:9000"
	// probeTimeout is the time limit for connecting to a server on this machine.
	probeTimeout = 2 * time.Second
)

// api holds the flags of commands that read from a server through its API.
type api struct {
	app    *app
	url    string
	asJSON bool
}

// flags adds the flags of p to cmd.
func (p *api) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.url, "url", "", "`address` of the API (default: TRACKER_URL, or else the server on this machine)")
	cmd.Flags().BoolVar(&p.asJSON, "json", false, "print JSON")
}

// client returns a client, with its token, for the server that the flags or the environment select.
func (p *api) client() (*rest.Client, error) {
	address := p.url
	if address == "" {
		address = p.app.getenv("TRACKER_URL")
	}
	if address == "" {
		address = p.app.ownServer(defaultAPI)
	}
	c, err := rest.New(address, "")
	if err != nil {
		return nil, misuse(err.Error())
	}
	return rest.New(c.URL(), p.app.token(c.URL()))
}

// find returns the run whose id, page address or name is typed, and the client that found the run.
func (p *api) find(ctx context.Context, typed string) (*rest.Client, rest.Run, error) {
	c, err := p.client()
	if err != nil {
		return nil, rest.Run{}, err
	}
	r, err := c.Find(ctx, typed)
	return c, r, err
}

// getenv returns the value of an environment variable, or "" if it is not set.
func (a *app) getenv(name string) string {
	for _, pair := range a.env {
		if text, ok := strings.CutPrefix(pair, name+"="); ok {
			return text
		}
	}
	return ""
}

// folder returns the path in the named environment variable. If the variable is not set, folder
// returns the home folder joined with parts.
func (a *app) folder(name string, parts ...string) string {
	if given := a.getenv(name); given != "" {
		return given
	}
	home := a.getenv("HOME")
	if home == "" {
		home, _ = os.UserHomeDir() // if the home folder is unknown, the path is relative
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// ownServer returns usual if a server listens at that address. Otherwise it returns the address of
// the last server that the Python client started, see client/python/tracker/_embed.py. If that
// server has stopped, the Python client starts it again.
func (a *app) ownServer(usual string) string {
	if listens(usual) {
		return usual
	}
	var server struct{ URL, Host string }
	name, err := os.Hostname()
	if err != nil {
		return usual
	}
	data, err := os.ReadFile(filepath.Join(a.folder("TRACKER_HOME", ".tracker"), "server.json"))
	if err != nil || json.Unmarshal(data, &server) != nil || server.Host != name {
		return usual
	}
	if u, err := url.Parse(server.URL); err != nil || u.Hostname() != "127.0.0.1" {
		return usual
	}
	if !listens(server.URL) {
		if again, err := a.answer(findServer); err == nil {
			return again
		}
	}
	return server.URL
}

// listens reports whether a server on this machine accepts connections at the given address.
func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(address, "http://"), probeTimeout)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// token returns the token for the API at address. TRACKER_TOKEN has precedence over the token
// that `tracker login` stored. token returns "" if neither exists.
func (a *app) token(address string) string {
	if given := a.getenv("TRACKER_TOKEN"); given != "" {
		return strings.TrimSpace(given)
	}
	path := a.getenv("TRACKER_CREDENTIALS")
	if path == "" {
		path = filepath.Join(a.folder("XDG_CONFIG_HOME", ".config"), "tracker", "credentials.json")
	}
	tokens := map[string]string{}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &tokens) != nil {
		return ""
	}
	return tokens[address]
}

// printLine prints v as JSON on one line.
func (a *app) printLine(v any) error { return json.NewEncoder(a.stdout).Encode(v) }

// clip joins the lines of text and shortens the result to at most n characters.
func clip(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ") // joins all lines
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

// took formats a duration in at most seven characters.
func took(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/day)
	case d >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}
