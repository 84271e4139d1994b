// Package doctor examines a server from outside, through the proxies in front of it.
package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"tracker/server/web"
)

// Status is the result of a check.
type Status string

// The results of a check.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped" // the check was not possible, or what it found is not an error
)

// Result is the result of a check.
type Result struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"` // what to change if the check has failed
}

const (
	timeout      = 20 * time.Second
	streamWithin = 5 * time.Second // maximum time until the first event of a stream arrives
	maxAnswer    = 1 << 20
	// bodySize is the size of the largest request that clients send without a smaller attempt.
	// nginx's default limit, 1 MiB, allows it.
	bodySize = 1_000_000
	// clockLimit is the maximum difference of the clocks. Tokens and the times of runs depend on
	// them.
	clockLimit = 30 * time.Second
	// renewWithin is the time before the end of a certificate at which its check fails.
	renewWithin = 14 * 24 * time.Hour
)

const proxyHost = "in nginx: proxy_set_header Host $http_host; in Caddy and Traefik this is the default"

// examiner holds the state of an examination.
type examiner struct {
	token   string
	client  *http.Client
	results []Result

	typed          *url.URL // address that the user has given
	api, dashboard string   // addresses below typed; dashboard can be ""
	seen           connection
	asset          string // address of a script of the dashboard
}

// connection is the part of the response of GET /connection that the checks use.
type connection struct {
	API       string    `json:"api_url"`
	Dashboard *string   `json:"dashboard_url"`
	Public    *string   `json:"public_url"`
	Scheme    string    `json:"scheme"`
	Host      string    `json:"host"`
	Client    string    `json:"client_address"`
	Forwarded []string  `json:"forwarded"`
	Time      time.Time `json:"server_time"`
}

// Examine checks the server at address, which is the address of the dashboard or the API, and
// returns the results in the order of the checks. token can be empty. roots are the trusted
// certificates; nil means the system's certificates. Examine returns an error if address is
// invalid.
func Examine(ctx context.Context, address, token string, roots *x509.CertPool) ([]Result, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not the address of a server; write it like https://lab.example.com/tracker", address)
	}
	u.RawQuery, u.Fragment = "", ""
	e := &examiner{token: token, typed: u}
	trust := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if !e.certificate(ctx, trust) {
		// The other checks are also useful with this certificate, but the token stays here.
		trust = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
		e.token = ""
	}
	e.client = &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{TLSClientConfig: trust, DisableCompression: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer e.client.CloseIdleConnections()
	if !e.reach(ctx) {
		return e.results, nil
	}
	for _, check := range []func(context.Context){e.address, e.pages, e.compression, e.clock, e.events, e.bodies, e.mlflow, e.wandb} {
		check(ctx)
	}
	return e.results, nil
}

func (e *examiner) add(check string, status Status, fix, format string, args ...any) {
	if status != Failed {
		fix = ""
	}
	e.results = append(e.results, Result{check, status, fmt.Sprintf(format, args...), fix})
}

// certificate checks the certificate. It returns false if the certificate is not valid.
func (e *examiner) certificate(ctx context.Context, trust *tls.Config) bool {
	const check = "certificate"
	if e.typed.Scheme == "http" {
		if !isLocal(e.typed.Hostname()) {
			e.add(check, Skipped, "", "the connection is not encrypted: everybody on the network can read passwords and tokens")
		}
		return true
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: timeout}, Config: trust}
	address := net.JoinHostPort(e.typed.Hostname(), portOf(e.typed))
	conn, err := dialer.DialContext(ctx, "tcp", address)
	var invalid *tls.CertificateVerificationError
	switch {
	case errors.As(err, &invalid):
		e.add(check, Failed, "use a certificate for this name from an authority that the clients trust, with all intermediate "+
			"certificates; for your own authority, set SSL_CERT_FILE on the clients", "it is not valid: %v", invalid.Err)
		return false
	case err != nil:
		return true // the next check reports the reason
	}
	defer conn.Close()
	end := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].NotAfter
	left := time.Until(end)
	days := int(left / (24 * time.Hour))
	if left < renewWithin {
		e.add(check, Failed, "renew it, and let the proxy load the new one", "it is valid for only %d more days, until %s", days, end.UTC().Format(time.DateOnly))
	} else {
		e.add(check, OK, "", "valid for %d days, until %s", days, end.UTC().Format(time.DateOnly))
	}
	return true
}

// reach finds the API and the dashboard. It reports whether there is a server.
func (e *examiner) reach(ctx context.Context) bool {
	const check = "reachable"
	base := e.typed.String()
	a, err := e.get(ctx, base+"/connection")
	if err != nil {
		e.add(check, Failed, "start the server and the proxy, and open the port in the firewall", "%s does not answer: %v", base, err)
		return false
	}
	e.api = base
	below := ""
	if path := a.header.Get(web.APIHeader); path != "" {
		e.dashboard, e.api = base, base+"/api"
		if below = e.typed.Path + "/api"; path != below {
			e.add("path", Failed, "set SERVICE_PUBLIC_URL="+base+" and restart the server",
				"the server believes that its API is at %s, but it is at %s", path, below)
		}
		if a, err = e.get(ctx, e.api+"/connection"); err != nil {
			e.add(check, Failed, "", "%s does not answer: %v", e.api, err)
			return false
		}
	}
	switch err := json.Unmarshal(a.body, &e.seen); {
	case a.code() == "HOST_NOT_ALLOWED":
		e.add(check, Failed, "set SERVICE_PUBLIC_URL="+strings.TrimSuffix(base, "/api")+", or turn sign-in on", "%s", a.message())
		return false
	case a.status == http.StatusNotFound && a.code() == "NOT_FOUND":
		e.add(check, Failed, "upgrade the server", "the server at %s is older than this command", e.api)
		return false
	case err != nil || e.seen.API == "":
		e.add(check, Failed, "let the proxy pass on requests for this path and the paths below it to the port of the dashboard, "+
			"with their methods and paths, and without a sign-in of its own", "%s answers %s, which is not a response of the server",
			e.api, a.what())
		return false
	}
	var health struct {
		Version string `json:"version"`
	}
	if a, err = e.get(ctx, e.api+"/health"); err == nil {
		err = json.Unmarshal(a.body, &health)
	}
	if err != nil || a.status != http.StatusOK {
		e.add(check, Failed, "see the log of the server", "the server is not healthy: %s %s", a.what(), a.message())
		return true
	}
	e.add(check, OK, "", "version %s, API at %s", health.Version, e.api)
	if e.dashboard == "" && e.seen.Dashboard != nil {
		e.dashboard = *e.seen.Dashboard
	}
	return true
}

// address compares the address that was typed with the address that the server has seen.
func (e *examiner) address(context.Context) {
	public := e.seen.Public != nil
	if got, want := withPort(e.seen.Host, e.seen.Scheme), withPort(e.typed.Host, e.typed.Scheme); hostOf(got) == hostOf(want) &&
		(got == want || e.seen.Scheme != e.typed.Scheme) {
		e.add("host", OK, "", "the server sees %s", e.seen.Host)
	} else if public && e.seen.API == e.api {
		e.add("host", OK, "", "the server sees %s, and uses SERVICE_PUBLIC_URL instead", e.seen.Host)
	} else {
		e.add("host", Failed, proxyHost, "the server sees the host %s instead of %s", e.seen.Host, e.typed.Host)
	}
	if e.seen.Scheme == e.typed.Scheme {
		e.add("scheme", OK, "", "the server sees %s", e.seen.Scheme)
	} else {
		e.add("scheme", Failed, "in nginx: proxy_set_header X-Forwarded-Proto $scheme; Caddy and Traefik do this by default",
			"the server sees %s instead of %s, so its cookies are not limited to TLS", e.seen.Scheme, e.typed.Scheme)
	}
	switch {
	case e.seen.API == e.api:
		e.add("links", OK, "", "links lead to %s", e.seen.API)
	case public:
		e.add("links", Failed, "use "+*e.seen.Public+", or change SERVICE_PUBLIC_URL",
			"SERVICE_PUBLIC_URL is %s, so links do not lead to %s", *e.seen.Public, e.typed)
	default:
		e.add("links", Failed, "set SERVICE_PUBLIC_URL to the address of the dashboard",
			"the server gives %s as the address of its API, not %s", e.seen.API, e.api)
	}
	text := "the server sees this client as " + e.seen.Client
	if addr, err := netip.ParseAddr(e.seen.Client); err == nil && addr.IsLoopback() && len(e.seen.Forwarded) > 0 && !isLocal(e.typed.Hostname()) {
		text += "; if this is the proxy, set SERVICE_TRUSTED_PROXIES=" + e.seen.Client + ", so that limits on failed sign-ins count each client"
	}
	e.add("client", Skipped, "", "%s", text)
}

var script = regexp.MustCompile(`(?:src|href)="(/[^"]*/?static/[^"]+\.(?:js|css))"`)

// pages checks the first page of the dashboard, and a file that it loads.
func (e *examiner) pages(ctx context.Context) {
	const check = "dashboard"
	if e.dashboard == "" {
		e.add(check, Skipped, "", "the server has no dashboard")
		return
	}
	a, err := e.get(ctx, e.dashboard+"/")
	if err == nil && a.status == http.StatusSeeOther {
		a, err = e.get(ctx, e.dashboard+"/login")
	}
	if err != nil || a.status != http.StatusOK || a.header.Get(web.APIHeader) == "" {
		e.add(check, Failed, "let the proxy pass on requests for this path to the port of the dashboard",
			"%s answers %s", e.dashboard, orError(a, err))
		return
	}
	found := script.FindSubmatch(a.body)
	if found == nil {
		e.add(check, Failed, "let the proxy pass on pages unchanged", "the page at %s loads no files of the dashboard", e.dashboard)
		return
	}
	u, err := url.Parse(e.dashboard)
	if err != nil {
		return
	}
	u.Path, u.RawQuery = string(found[1]), ""
	e.asset = u.String()
	if a, err = e.get(ctx, e.asset); err != nil || a.status != http.StatusOK {
		e.asset = ""
		e.add(check, Failed, "set SERVICE_PUBLIC_URL="+e.dashboard+", so that pages have the path of the proxy in their links",
			"the page loads %s, which answers %s", u.Path, orError(a, err))
		return
	}
	e.add(check, OK, "", "%s and its files", e.dashboard)
}

func (e *examiner) compression(ctx context.Context) {
	const check = "compression"
	if e.asset == "" {
		e.add(check, Skipped, "", "no file was found to check it with")
		return
	}
	a, err := e.do(ctx, "GET", e.asset, nil, http.Header{"Accept-Encoding": {"gzip"}}, 0)
	switch {
	case err != nil:
		e.add(check, Failed, "", "%v", err)
	case a.header.Get("Content-Encoding") != "gzip":
		e.add(check, Failed, "let the proxy pass on the header Accept-Encoding", "files of the dashboard arrive without compression")
	default:
		if _, err := gzip.NewReader(bytes.NewReader(a.body)); err != nil {
			e.add(check, Failed, "let the proxy pass on compressed responses unchanged", "a compressed file is damaged: %v", err)
			return
		}
		e.add(check, OK, "", "files of the dashboard are compressed")
	}
}

func (e *examiner) clock(ctx context.Context) {
	begin := time.Now()
	a, err := e.get(ctx, e.api+"/connection")
	took := time.Since(begin)
	var now connection
	if err == nil {
		err = json.Unmarshal(a.body, &now)
	}
	if err != nil {
		e.add("clock", Failed, "", "%v", err)
		return
	}
	difference := now.Time.Sub(begin.Add(took / 2))
	if math.Abs(difference.Seconds()) > (clockLimit + took).Seconds() {
		e.add("clock", Failed, "synchronize both clocks, for example with systemd-timesyncd or chrony",
			"the clock of the server differs by %v from this machine's", difference.Round(time.Second))
		return
	}
	e.add("clock", OK, "", "differs by %v", difference.Round(10*time.Millisecond))
}

// isLocal reports whether a host name or address means this machine.
func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// withPort returns host in lower case with a port, by default the port of scheme.
func withPort(host, scheme string) string {
	u := url.URL{Host: strings.ToLower(host), Scheme: scheme}
	return net.JoinHostPort(u.Hostname(), portOf(&u))
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// answer is a response whose body was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// what returns the status and the type of a response.
func (a answer) what() string {
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	text := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	if to := a.header.Get("Location"); to != "" {
		return text + " to " + to
	}
	if kind != "" {
		text += " with " + kind
	}
	return text
}

func (a answer) field(name string) string {
	var fields map[string]any
	if json.Unmarshal(a.body, &fields) != nil {
		return ""
	}
	text, _ := fields[name].(string)
	return text
}

// code returns the code of an error response of the API, or "".
func (a answer) code() string    { return a.field("code") }
func (a answer) message() string { return a.field("message") }

func orError(a answer, err error) string {
	if err != nil {
		return err.Error()
	}
	return a.what()
}

func (e *examiner) get(ctx context.Context, address string) (answer, error) {
	return e.do(ctx, "GET", address, nil, http.Header{}, 0)
}

// do sends a request. length is the length of the body; -1 sends the body in chunks.
func (e *examiner) do(ctx context.Context, method, address string, body io.Reader, header http.Header, length int64) (answer, error) {
	request, err := e.request(ctx, method, address, body, header)
	if err != nil {
		return answer{}, err
	}
	request.ContentLength = length
	response, err := e.client.Do(request)
	if err != nil {
		return answer{}, plain(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return answer{response.StatusCode, response.Header, content}, err
}

func (e *examiner) request(ctx context.Context, method, address string, body io.Reader, header http.Header) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	request.Header = header
	if e.token != "" && strings.HasPrefix(address, e.api+"/") && e.api != "" {
		request.Header.Set("Authorization", "Bearer "+e.token)
	}
	return request, nil
}

// plain returns err without the method and the address.
func plain(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
