package cmd

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracker/cmd/doctor"
)

// deployed returns the content of a file in the folder deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sourceDir, "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDeployedNginx runs nginx with the file that docs/operate.md shows. Only names and ports differ.
func TestDeployedNginx(t *testing.T) {
	inFullRuns(t)
	certificate, pool := proxyCertificate(t, time.Now().AddDate(0, 3, 0))
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	public := "https://localhost:" + port + "/tracker"
	p := startServer(t, t.TempDir(), []string{"SERVICE_PUBLIC_URL=" + public, "SERVICE_TRUSTED_PROXIES=127.0.0.1"})
	conf := strings.NewReplacer("listen 443 ssl", "listen "+address+" ssl", "lab.example.com;", "localhost;",
		"/etc/ssl/lab.example.com.pem", certificate, "/etc/ssl/lab.example.com.key", certificate,
		"http://127.0.0.1:9001", strings.TrimSuffix(p.UI, "/tracker")).Replace(deployed(t, "nginx.conf"))
	startNginxWith(t, conf, address)
	results, err := doctor.Examine(t.Context(), public, "", pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status == doctor.Failed {
			t.Errorf("%+v", r)
		}
	}
}

func TestDeployedUnit(t *testing.T) {
	inFullRuns(t)
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed")
	}
	unit := filepath.Join(t.TempDir(), "tracker.service")
	writeFile(t, unit, strings.Replace(deployed(t, "tracker.service"), "/usr/local/bin/tracker", buildBinary(t), 1))
	if out, err := exec.Command(program, "verify", unit).CombinedOutput(); err != nil || strings.Contains(string(out), "tracker.service") {
		t.Errorf("%v: %s", err, out)
	}
}

// Alerts use metrics that the server has. The settings of the example start a server.
func TestDeployedSettingsAndAlerts(t *testing.T) {
	dir := t.TempDir()
	settings := strings.ReplaceAll(deployed(t, "tracker.env.example"), "/var/", dir+"/")
	writeFile(t, filepath.Join(dir, "tracker.env"), settings+"SERVICE_JWT_SECRET="+strings.Repeat("k", 32)+"\n")
	for _, folder := range []string{"lib/tracker", "backups/tracker"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}
	p := startServer(t, dir, env, "--env-file", "tracker.env")
	_, token := p.signIn("default", adminPassword)
	r, err := http.NewRequestWithContext(t.Context(), "GET", p.API+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	metrics, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(err, answer.Status)
	}
	used := regexp.MustCompile(`\btracker_[a-z_]+`).FindAllString(deployed(t, "tracker-alerts.yml"), -1)
	if len(used) < 5 {
		t.Fatalf("the alerts use only %q", used)
	}
	for _, name := range used {
		if !strings.Contains(string(metrics), "\n"+name+" ") && !strings.Contains(string(metrics), "\n"+name+"{") {
			t.Errorf("the metric %s is missing", name)
		}
	}
}

// TestDeployedBackup restores a copy that the script has made.
func TestDeployedBackup(t *testing.T) {
	inFullRuns(t)
	dir := t.TempDir()
	p := startServer(t, dir, nil)
	if status, _ := p.call("POST", "/project", "", `{"name":"kept"}`); status != 201 {
		t.Fatal(status)
	}
	writeFile(t, filepath.Join(dir, "empty.env"), "SERVICE_DB_FILE="+filepath.Join(dir, "tracker.db")+"\nSERVICE_ARTIFACT_ROOT="+filepath.Join(dir, "artifacts")+"\n")
	c := exec.Command("sh", filepath.Join(sourceDir, "..", "deploy", "backup.sh"), filepath.Join(dir, "copies"), filepath.Join(dir, "empty.env"))
	c.Env = []string{"PATH=" + filepath.Dir(buildBinary(t)) + ":" + os.Getenv("PATH")}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	copies, err := filepath.Glob(filepath.Join(dir, "copies", "tracker-*.db"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	other := t.TempDir()
	runBinary(t, other, nil, "", "restore", copies[0]).must(t)
	runBinary(t, other, nil, "", "check", "--deep", "--artifact-root", filepath.Join(dir, "copies", "artifacts")).must(t)
}
