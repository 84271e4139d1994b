// Package bench is the load generator of `tracker bench`. It starts a server on a new file or
// connects to a running server, and sends the requests that training runs and the dashboard would
// send over HTTP. It reports rates, latencies, memory and bytes written.
//
// Some work can also be done by the bare SQLite driver. For this work the benchmark alternates
// between the server and the driver, so that other load on the machine affects both equally.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parts lists the measurements in the order in which they run. "disk" needs a file that holds only
// bulk points; "late" and "memory" need the full file.
var parts = []struct {
	name    string
	measure func(*benchmark, context.Context) error
}{
	{name: "ingest", measure: (*benchmark).measureIngest},
	{name: "disk", measure: (*benchmark).measureDisk},
	{name: "single", measure: (*benchmark).measureSingle},
	{name: "steady", measure: (*benchmark).measureSteady},
	{name: "listing", measure: (*benchmark).measureListing},
	{name: "series", measure: (*benchmark).measureSeries},
	{name: "late", measure: (*benchmark).measureLate},
	{name: "memory", measure: (*benchmark).measureMemory},
}

// Parts returns the names that Options.Only accepts, in the order in which the parts run.
func Parts() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// Options selects the measurements and the server.
type Options struct {
	Points     int // number of points written by bulk requests; 1,000 to 1,000,000,000
	Iterations int // number of iterations in the list; 1 to 1,000,000
	Series     int // number of curves in one chart; 1 to 1,000
	Steady     time.Duration
	Wide       bool     // whether to also measure a list of iterations with many metrics
	Only       []string // names of the parts to measure; empty for all parts

	Dir string // empty or missing folder for the database, which is not removed; "" for a temporary folder

	URL   string // base URL of the API of a running server; "" to start a server
	Token string // bearer token for URL
	Keep  bool   // whether to keep the project on the server at URL

	Version string // version of this program, for the report
}

// Check returns an error for the first invalid option. The error names the flag of `tracker
// bench`.
func (o Options) Check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"points", o.Points, 1000, 1_000_000_000},
		{"iterations", o.Iterations, 1, 1_000_000},
		{"series", o.Series, 1, 1000},
	} {
		if n.value < n.min || n.value > n.max {
			return fmt.Errorf("--%s must be from %d to %d, not %d", n.flag, n.min, n.max, n.value)
		}
	}
	if o.Steady < time.Second || o.Steady > time.Hour {
		return fmt.Errorf("--steady must be from 1s to 1h, not %v", o.Steady)
	}
	for _, name := range o.Only {
		if !slices.Contains(Parts(), name) {
			return fmt.Errorf("there is no part %q for --only; the parts are %s", name, strings.Join(Parts(), ", "))
		}
	}
	if o.URL == "" {
		switch {
		case o.Token != "":
			return errors.New("--token is for a running server: name it with --url")
		case o.Keep:
			return errors.New("--keep is for a running server: name it with --url, or keep the file of a new one with --dir")
		}
		return nil
	}
	if o.Dir != "" {
		return errors.New("--dir is for a new server: leave out --dir or --url")
	}
	if !validURL(o.URL) {
		return fmt.Errorf("--url must be the address of an API, like http://127.0.0.1:9000, not %q", o.URL)
	}
	return nil
}

// validURL reports whether text is an http or https URL with a host and no
// user, query or fragment.
func validURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

// wants reports whether o selects the given part.
func (o Options) wants(part string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, part) }

// Run measures the parts that o selects and returns the report. If stderr is a terminal, Run
// shows its progress there. When ctx ends or a part fails, Run returns the error and an empty
// report. Run always removes its temporary files. It deletes the project from a server at o.URL
// unless o.Keep is set.
func Run(ctx context.Context, o Options, stderr io.Writer) (report Report, err error) {
	// Collect garbage less often: the client shares the processor with the measured server.
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	b := &benchmark{Options: o, stderr: stderr}
	defer func() { err = errors.Join(err, b.cleanUp(ctx)) }()
	if err := b.setUp(ctx); err != nil {
		return report, b.explain(ctx, err)
	}
	for _, p := range parts {
		if !o.wants(p.name) {
			continue
		}
		b.part = p.name
		if err := p.measure(b, ctx); err != nil {
			return report, b.explain(ctx, err)
		}
	}
	b.endProgress()
	return b.report(), nil
}

// explain returns the cause of err if ctx or a server has ended. Otherwise it returns err,
// prefixed with the name of the current part.
func (b *benchmark) explain(ctx context.Context, err error) error {
	b.endProgress()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The connection can break shortly before the server process ends.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, s := range b.servers {
		if reason := s.unexpectedEnd(ctx); reason != "" {
			return fmt.Errorf("the server stopped unexpectedly: %s", reason)
		}
	}
	if b.part == "" { // errors of setUp are complete sentences
		return err
	}
	return fmt.Errorf("%s: %w", b.part, err)
}
