package cmd

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tracker/store/backup"
)

// The errors of UnmarshalText methods complete the sentence "NAME …, not VALUE".

// host is the name or IP address on which a server listens.
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

// reachable returns the address with which a browser on this machine reaches h.
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

// port is a TCP port. 0 selects a free port.
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

// basePath is empty or a path that begins with a slash and does not end with a slash.
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

// origins holds origins of web pages in the form that browsers send.
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

// hostNames holds host names. A name that begins with a dot matches every name with that
// suffix.
type hostNames []string

func (h *hostNames) UnmarshalText(text []byte) error {
	var all []string
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		if part == "" {
			continue
		}
		if name, number, err := net.SplitHostPort(part); err == nil && new(port).UnmarshalText([]byte(number)) == nil {
			part = name
		}
		part = strings.TrimSuffix(strings.TrimPrefix(part, "["), "]")
		if _, err := netip.ParseAddr(part); err != nil && !hostName.MatchString(strings.TrimPrefix(part, ".")) {
			return errors.New("must be host names like hub.example.com, or .example.com for all subdomains, separated by commas")
		}
		all = append(all, part)
	}
	*h = all
	return nil
}

// networks holds IP addresses and networks.
type networks []netip.Prefix

func (n *networks) UnmarshalText(text []byte) error {
	var all []netip.Prefix
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		network, err := netip.ParsePrefix(part)
		if addr, isAddr := netip.ParseAddr(part); isAddr == nil && addr.Zone() == "" {
			network, err = addr.Unmap().Prefix(addr.Unmap().BitLen())
		}
		if err != nil {
			return errors.New("must be IP addresses or networks like 127.0.0.1 or 10.0.0.0/8, separated by commas")
		}
		all = append(all, network.Masked())
	}
	*n = all
	return nil
}

func parseOrigin(s string) (string, error) {
	if strings.Contains(s, "*") {
		return "", errors.New("must name each origin: with *, every web page that a user opens could write in their name")
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || !strings.EqualFold(s, u.Scheme+"://"+u.Host) || !validPort(u) {
		return "", errors.New("must be origins like https://lab.example.com or http://10.0.0.7:3000, without a path, separated by commas")
	}
	// Browsers omit the scheme's default port from an origin.
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

// webAddress is an http or https URL of a server.
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

// publicURL is the URL of the dashboard behind a proxy. Its path is a basePath.
type publicURL string

func (p *publicURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(strings.TrimSuffix(string(text), "/"))
	if err == nil {
		_, err = parseOrigin(u.Scheme + "://" + u.Host)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		u.EscapedPath() != "" && !basePathForm.MatchString(u.EscapedPath()) {
		return errors.New("must be the address of the dashboard like https://lab.example.com/tracker, with a path of letters, digits and - . _ ~ or none")
	}
	origin, _ := parseOrigin(u.Scheme + "://" + u.Host)
	*p = publicURL(origin + u.Path)
	return nil
}

// path returns the path of p, which is "" for the root.
func (p publicURL) path() basePath {
	_, rest, _ := strings.Cut(string(p), "://")
	at := strings.IndexByte(rest, '/')
	if at < 0 {
		return ""
	}
	return basePath(rest[at:])
}

// origin returns the origin of p in the form that browsers send, or "".
func (p publicURL) origin() string { return strings.TrimSuffix(string(p), string(p.path())) }

// byteSize is a number of bytes. It can be written with K, M or G for KiB, MiB or GiB.
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

// interval is the time between two backups.
type interval time.Duration

func (i *interval) UnmarshalText(text []byte) error {
	var d span
	if err := d.Set(string(text)); err != nil || time.Duration(d) < backup.MinInterval {
		return errors.New("must be a time like 90m, 12h or 7d, and at least 1m")
	}
	*i = interval(d)
	return nil
}

// copies is the number of backups to keep.
type copies int

func (c *copies) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > backup.MaxKeep {
		return fmt.Errorf("must be a number from 1 to %d", backup.MaxKeep)
	}
	*c = copies(n)
	return nil
}

// days is a duration in whole days.
type days int

const maxDays = 36500

func (d *days) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 || n > maxDays {
		return fmt.Errorf("must be a number of days from 0 to %d", maxDays)
	}
	*d = days(n)
	return nil
}

func (d days) duration() time.Duration { return time.Duration(d) * 24 * time.Hour }

// auditDays is a number of days for which entries of the audit trail are kept; 0 means forever.
type auditDays int

// minAuditDays is the minimum of auditDays. The database does not delete younger entries.
const minAuditDays = 30

func (d *auditDays) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n != 0 && n < minAuditDays || n > maxDays {
		return fmt.Errorf("must be a number of days from %d to %d, or 0", minAuditDays, maxDays)
	}
	*d = auditDays(n)
	return nil
}

func (d auditDays) duration() time.Duration { return days(d).duration() }

// logLevel is the name of a slog.Level.
type logLevel string

// level returns the slog.Level with the name l. It returns slog.LevelInfo for an invalid name.
func (l logLevel) level() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l))
	return level
}

// settingFlag is a flag that stores its unparsed value, which is parsed later, together with the
// settings from other sources.
type settingFlag struct{ text, kind string }

func (f *settingFlag) String() string     { return f.text }
func (f *settingFlag) Set(s string) error { f.text = s; return nil }
func (f *settingFlag) Type() string       { return f.kind }

// addSettings adds a flag to cmd for each named setting. If names is empty, it adds flags for
// all settings.
func addSettings(cmd *cobra.Command, names ...string) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	cmd.Flags().SortFlags = false // related flags stay together
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
			// RegisterFlagCompletionFunc returns an error only if the flag does not exist.
			_ = cmd.RegisterFlagCompletionFunc(s.flag, complete)
		}
	}
}

// showEffective makes the help text of cmd show the effective settings as the defaults of its
// flags, with secrets masked.
func (a *app) showEffective(cmd *cobra.Command) {
	values, _, err := a.readSettings(cmd)
	if err != nil {
		return // the command reports the error when it runs
	}
	for _, v := range values {
		if f := cmd.Flags().Lookup(v.flag); f != nil && !f.Changed {
			f.DefValue = v.masked()
		}
	}
}

// nearest returns the setting whose name has the smallest edit distance to name.
func nearest(name string) string {
	best, least := "", math.MaxInt
	for _, s := range settings {
		if d := levenshtein.ComputeDistance(name, s.name); d < least {
			best, least = s.name, d
		}
	}
	return best
}
