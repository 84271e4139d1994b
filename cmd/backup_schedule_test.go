//go:build unix

package cmd

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// scrape returns the response body for a URL of the API or the dashboard.
func scrape(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", url, res.StatusCode, text, err)
	}
	return string(text)
}

// A server with a backup folder makes a backup without being asked and reports it.
func TestServeMakesBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runBinary(t, dir, nil, "", "seed").must(t)
	copies := filepath.Join(t.TempDir(), "copies")
	p := startServer(t, dir, []string{"SERVICE_BACKUP_DIR=" + copies, "SERVICE_BACKUP_INTERVAL=1h"})
	dial(t, p).create(t, "/project", `{"name": "kept"}`)
	p.waitFor("made a backup")
	found, err := filepath.Glob(filepath.Join(copies, "*"))
	if err != nil || len(found) != 1 || !regexp.MustCompile(`/tracker-\d{8}T\d{6}Z\.db$`).MatchString(found[0]) {
		t.Fatalf("the folder has %q, %v", found, err)
	}
	metrics := scrape(t, p.API+"/metrics")
	for _, want := range []string{`tracker_backup_age_seconds \d`, `tracker_backup_bytes [1-9]`, "tracker_backup_failing 0", "tracker_backup_failures_total 0",
		"tracker_backup_last_error_timestamp_seconds 0"} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(metrics) {
			t.Errorf("no %s in /metrics", want)
		}
	}
	if page := scrape(t, p.UI+"/server"); !strings.Contains(page, filepath.Base(found[0])) || strings.Contains(page, "backup-failed") {
		t.Errorf("the page does not list the copy:\n%s", page)
	}
	p.stop()
	runBinary(t, dir, nil, "", "check", "--db-file", found[0]).must(t)

	// After a restart, the server waits for the rest of the hour before the next backup.
	p = startServer(t, dir, []string{"SERVICE_BACKUP_DIR=" + copies, "SERVICE_BACKUP_INTERVAL=1h"})
	for !strings.Contains(scrape(t, p.UI+"/server"), filepath.Base(found[0])) {
		time.Sleep(10 * time.Millisecond)
	}
	p.stop()
	if entries, err := os.ReadDir(copies); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// A failed backup is logged and shown, and the server stays healthy.
func TestServeReportsAFailedBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runBinary(t, dir, nil, "", "seed").must(t)
	p := startServer(t, dir, []string{"SERVICE_BACKUP_DIR=" + filepath.Join(dir, "missing", "copies")})
	p.waitFor("the backup failed")
	metrics := scrape(t, p.API+"/metrics")
	for _, want := range []string{"tracker_backup_age_seconds -1", "tracker_backup_failing 1", "tracker_backup_failures_total 1", `tracker_backup_last_error_timestamp_seconds [1-9]`} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(metrics) {
			t.Errorf("no %s in /metrics", want)
		}
	}
	if page := scrape(t, p.UI+"/server"); !strings.Contains(page, "backup-failed") || !strings.Contains(page, "can&#39;t be created") {
		t.Errorf("the page does not show the failure:\n%s", page)
	}
	scrape(t, p.API+"/health")
	scrape(t, p.UI+"/health")
	p.stop()
}
