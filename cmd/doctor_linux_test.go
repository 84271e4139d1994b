package cmd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracker/cmd/doctor"
)

// proxyCertificate writes a certificate for localhost that ends at end, and its key, to a file. It
// returns the path and the pool with the certificate.
func proxyCertificate(t *testing.T, end time.Time) (path string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: end.AddDate(-1, 0, 0), NotAfter: end, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...)
	path = filepath.Join(t.TempDir(), "certificate.pem")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return path, pool
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().String()
}

// serverBehind returns the configuration of an nginx server with TLS at address.
func serverBehind(address, certificate, rest string) string {
	return fmt.Sprintf("server { listen %s ssl; ssl_certificate %s; ssl_certificate_key %[2]s; %s }", address, certificate, rest)
}

// TestDoctor examines servers behind nginx. Each mistake in the configuration of nginx fails the
// check that names its remedy, and no other check.
func TestDoctor(t *testing.T) {
	inFullRuns(t)
	certificate, pool := proxyCertificate(t, time.Now().AddDate(0, 3, 0))
	ending, endingPool := proxyCertificate(t, time.Now().AddDate(0, 0, 3))
	const headers = "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;"
	const events = "proxy_ignore_headers X-Accel-Buffering;"
	public, plain, short, worn := freeAddress(t), freeAddress(t), freeAddress(t), freeAddress(t)
	port := func(address string) string { _, port, _ := net.SplitHostPort(address); return port }
	atPublic := "https://localhost:" + port(public) + "/tracker"
	known := startServer(t, t.TempDir(), []string{"SERVICE_PUBLIC_URL=" + atPublic})
	unknown := startServer(t, t.TempDir(), nil)
	for _, p := range []*process{known, unknown} {
		status, project := p.call("POST", "/project", "", `{"name":"p"}`)
		if status != 201 {
			t.Fatal(status, project)
		}
		if status, _ := p.call("POST", "/experiment/project/"+project["id"].(string), "", `{"name":"e"}`); status != 201 {
			t.Fatal(status)
		}
	}
	target := strings.TrimSuffix(known.UI, "/tracker")
	startNginxWith(t, strings.Join([]string{
		serverBehind(public, certificate, "location /tracker { proxy_pass "+target+"; "+headers+" }"),
		serverBehind(plain, certificate, "location / { proxy_pass "+unknown.UI+"; }"),
		serverBehind(short, certificate, "client_max_body_size 100k; location / { proxy_pass "+unknown.UI+"; "+headers+events+
			" proxy_set_header Accept-Encoding ''; location /api/graphql { return 404; } }"),
		serverBehind(worn, ending, "location /lab/ { proxy_pass "+unknown.UI+"/; "+headers+" }"),
	}, "\n"), public, plain, short, worn)
	for _, tt := range []struct {
		name, address string
		pool          *x509.CertPool
		failed        string
	}{
		{"no proxy", unknown.UI, nil, ""},
		{"no proxy, API", unknown.API, nil, ""},
		{"good", atPublic, pool, ""},
		{"good, API", atPublic + "/api", pool, ""},
		{"unknown authority", atPublic, nil, "certificate"},
		{"nginx's defaults", "https://localhost:" + port(plain), pool, "host, scheme, links"},
		{"limits", "https://localhost:" + port(short), pool, "compression, events, request of 1 MB, chunked request, resumable upload, W&B"},
		{"a path that the server does not know", "https://localhost:" + port(worn) + "/lab", endingPool, "certificate, path, links, dashboard"},
		{"nothing", "http://" + freeAddress(t), nil, "reachable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			results, err := doctor.Examine(t.Context(), tt.address, "", tt.pool)
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, r := range results {
				if r.Status == doctor.Failed {
					failed = append(failed, r.Check)
				}
				if r.Text == "" || (r.Status == doctor.Failed) != (r.Fix != "") {
					t.Errorf("%+v", r)
				}
			}
			if got := strings.Join(failed, ", "); got != tt.failed {
				t.Errorf("failed: %s, want %s\n%+v", got, tt.failed, results)
			}
		})
	}
	r := runMain(t, []string{"HOME=" + t.TempDir()}, "", "doctor", unknown.UI)
	if r.must(t); !strings.Contains(r.stdout, "MLFLOW_TRACKING_URI="+unknown.UI+"/api") {
		t.Errorf("%+v", r)
	}
	r = runMain(t, []string{"HOME=" + t.TempDir()}, "", "doctor", "--json", "http://"+freeAddress(t))
	if r.code != 1 || !strings.Contains(r.stdout, `"status": "failed"`) || !strings.Contains(r.stderr, "1 of 1 checks failed") {
		t.Errorf("%+v", r)
	}
}

// TestFormBehindAProxy sends a form through a proxy that replaces the Host header, as a browser does
// that sends no Sec-Fetch-Site. The public address allows it; without it, the page names the header.
func TestFormBehindAProxy(t *testing.T) {
	inFullRuns(t)
	address := freeAddress(t)
	for public, want := range map[string]int{"http://" + address: 303, "": 403} {
		p := startServer(t, t.TempDir(), []string{"SERVICE_PUBLIC_URL=" + public})
		r, err := http.NewRequestWithContext(t.Context(), "POST", p.UI+"/", strings.NewReader("name=new"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {"http://" + address}}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		_ = answer.Write(&page)
		answer.Body.Close()
		if answer.StatusCode != want || want == 403 && !strings.Contains(page.String(), "proxy_set_header Host") {
			t.Errorf("with the public address %q: %s\n%s", public, answer.Status, page.String())
		}
		p.kill()
	}
}
