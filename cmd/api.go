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
	// probeTimeout is the maximum time for a connection to this machine.
	probeTimeout = 2 * time.Second
)

// api holds the flags of the commands that read through the API.
type api struct {
	app    *app
	url    string
	asJSON bool
}

// flags adds the flags of p to cmd.
func (p *api) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.url, "url", "", "`address` of the API (default: TRACKER_URL, else the server on this machine)")
	cmd.Flags().BoolVar(&p.asJSON, "json", false, "print JSON")
}

// client returns a client of the server that the flags and the environment
// name, with the token for it.
func (p *api) client() (*rest.Client, error) {
	address := p.url
	if address == "" {
		address = p.app.getenv("TRACKER_URL")
	}
	if address == "" {
		address = p.app.ownServer()
	}
	c, err := rest.New(address, "")
	if err != nil {
		return nil, misuse(err.Error())
	}
	return rest.New(c.URL(), p.app.token(c.URL()))
}

// find returns the run that an argument names, and the client that found it.
func (p *api) find(ctx context.Context, typed string) (*rest.Client, rest.Run, error) {
	c, err := p.client()
	if err != nil {
		return nil, rest.Run{}, err
	}
	r, err := c.Find(ctx, typed)
	return c, r, err
}

// getenv returns a variable of the environment, "" when it is not set.
func (a *app) getenv(name string) string {
	for _, pair := range a.env {
		if text, ok := strings.CutPrefix(pair, name+"="); ok {
			return text
		}
	}
	return ""
}

// folder returns the path in the environment variable name. If it is not set, folder joins parts to
// the home folder.
func (a *app) folder(name string, parts ...string) string {
	if given := a.getenv(name); given != "" {
		return given
	}
	home := a.getenv("HOME")
	if home == "" {
		home, _ = os.UserHomeDir() // "" is the working directory
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// ownServer returns the address of the API on this machine: the default address when a server
// listens there, otherwise the address of the server that the Python client has started, see
// client/python/tracker/_embed.py. If that server has ended, the client starts it again.
func (a *app) ownServer() string {
	if listens(defaultAPI) {
		return defaultAPI
	}
	var server struct{ URL, Host string }
	name, err := os.Hostname()
	if err != nil {
		return defaultAPI
	}
	data, err := os.ReadFile(filepath.Join(a.folder("TRACKER_HOME", ".tracker"), "server.json"))
	if err != nil || json.Unmarshal(data, &server) != nil || server.Host != name {
		return defaultAPI
	}
	if u, err := url.Parse(server.URL); err != nil || u.Hostname() != "127.0.0.1" {
		return defaultAPI
	}
	if !listens(server.URL) {
		if again, err := a.answer(findServer); err == nil {
			return again
		}
	}
	return server.URL
}

// listens reports whether a server accepts connections at an address on this
// machine.
func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(address, "http://"), probeTimeout)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// token returns the token for the API at address: TRACKER_TOKEN, otherwise the token that `tracker
// login` has stored, or "".
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

// clip returns text with at most n characters.
func clip(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ") // one line
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
