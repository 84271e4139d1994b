package cmd

import (
	"errors"
	"log/slog"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The errors of the types here complete the sentence "NAME …, not VALUE".

// host is a name or an IP address to listen on.
type host string

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func (h *host) UnmarshalText(text []byte) error {
	s := strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]")
	if _, err := netip.ParseAddr(s); err != nil && !hostName.MatchString(s) {
		return errors.New("must be a host name or an IP address without a port")
	}
	*h = host(s)
	return nil
}

func (h host) loopback() bool {
	addr, err := netip.ParseAddr(string(h))
	return err == nil && addr.IsLoopback() || strings.EqualFold(string(h), "localhost")
}

// reachable is the address at which a browser on this machine finds h.
func (h host) reachable() string {
	addr, err := netip.ParseAddr(string(h))
	switch {
	case err != nil || !addr.IsUnspecified():
		return string(h)
	case addr.Is4():
		return "127.0.0.1"
	}
	return "::1"
}

// port is a TCP port; 0 stands for a free one.
type port uint16

func (p *port) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return errors.New("must be a port from 0 to 65535")
	}
	*p = port(n)
	return nil
}

func (p port) String() string { return strconv.Itoa(int(p)) }

// basePath is "", or a path that begins with a slash and does not end with one.
type basePath string

var basePathForm = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

func (b *basePath) UnmarshalText(text []byte) error {
	if string(text) == "/" {
		*b = ""
		return nil
	}
	if !basePathForm.Match(text) {
		return errors.New("must be a path like /tracker, with a slash before each part and none at the end, of letters, digits and - . _ ~")
	}
	*b = basePath(text)
	return nil
}

// origins are the origins of web pages, as browsers write them.
type origins []string

func (o *origins) UnmarshalText(text []byte) error {
	var all []string
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		origin, err := parseOrigin(part)
		if err != nil {
			return err
		}
		all = append(all, origin)
	}
	*o = all
	return nil
}

func parseOrigin(s string) (string, error) {
	if strings.Contains(s, "*") {
		return "", errors.New("must name each origin: with * every web page that a user opens could write here in their name")
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || !strings.EqualFold(s, u.Scheme+"://"+u.Host) || !validPort(u) {
		return "", errors.New("must be origins like https://lab.example.com or http://10.0.0.7:3000, without a path, with commas between")
	}
	// Browsers leave out the port that the scheme implies.
	scheme, at := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "http":
		at = strings.TrimSuffix(at, ":80")
	case "https":
		at = strings.TrimSuffix(at, ":443")
	}
	return scheme + "://" + at, nil
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// webAddress is the http or https URL of a server.
type webAddress string

func (w *webAddress) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !validPort(u) ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be an address like https://s3.example.com, without a user")
	}
	*w = webAddress(strings.TrimSuffix(string(text), "/"))
	return nil
}

// byteSize is a number of bytes; K, M and G behind it mean 1024, its square
// and its cube.
type byteSize int64

func (b *byteSize) UnmarshalText(text []byte) error {
	digits, unit := strings.ToUpper(string(text)), int64(1)
	for suffix, size := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if rest, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = rest, size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return errors.New("must be a number of bytes like 1500000, 500M or 2G, or 0 for no limit")
	}
	*b = byteSize(n * unit)
	return nil
}

// logLevel is the name of a slog.Level.
type logLevel string

// level returns the level; the names that can't be one mean info.
func (l logLevel) level() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l))
	return level
}

// settingFlag is a flag that keeps its text, to be read with the other sources.
type settingFlag struct{ text, kind string }

func (f *settingFlag) String() string     { return f.text }
func (f *settingFlag) Set(s string) error { f.text = s; return nil }
func (f *settingFlag) Type() string       { return f.kind }

// addSettings gives cmd a flag for each of the settings with these names; for
// every setting when there are none.
func addSettings(cmd *cobra.Command, names ...string) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	cmd.Flags().SortFlags = false // those that belong together stand together
	for _, s := range settings {
		if len(names) > 0 && !wanted[s.name] {
			continue
		}
		f := &pflag.Flag{Name: s.flag, Usage: s.usage + " [" + s.name + "]",
			Value: &settingFlag{s.fallback, s.kind}, DefValue: s.fallback}
		complete := cobra.NoFileCompletions
		switch {
		case s.kind == "bool":
			f.NoOptDefVal = "true"
			complete = cobra.FixedCompletions([]string{"true", "false"}, cobra.ShellCompDirectiveNoFileComp)
		case len(s.choices) > 0:
			complete = cobra.FixedCompletions(s.choices, cobra.ShellCompDirectiveNoFileComp)
		case s.kind == "file":
			complete = nil
		case s.kind == "folder":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		}
		cmd.Flags().AddFlag(f)
		if complete != nil {
			// It fails for a flag that does not exist only.
			_ = cmd.RegisterFlagCompletionFunc(s.flag, complete)
		}
	}
}

// showInForce makes the help of cmd show as defaults what is in force without
// its flags, save secrets.
func (a *app) showInForce(cmd *cobra.Command) {
	values, _, err := a.inForce(cmd)
	if err != nil {
		return // the command itself will say so
	}
	for _, v := range values {
		if f := cmd.Flags().Lookup(v.flag); f != nil && !f.Changed {
			f.DefValue = v.masked()
		}
	}
}

// nearest returns the name of the setting that is written most like name.
func nearest(name string) string {
	best, least := "", math.MaxInt
	for _, s := range settings {
		if d := distance(name, s.name); d < least {
			best, least = s.name, d
		}
	}
	return best
}

// distance is Levenshtein's: how many letters must be changed, added or left
// out to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
