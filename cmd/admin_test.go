//go:build unix

package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// Changes made on the command line take effect at once in a running server.
func TestAdminCommandsWhileServing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	dir := t.TempDir()
	secret := "SERVICE_JWT_SECRET=" + strings.Repeat("k", 32)
	env := []string{secret, "SERVICE_ENABLE_AUTH=true", "SERVICE_ADMIN_PASSWORD=" + adminPassword}
	p := startServer(t, dir, env)
	run := func(stdin string, args ...string) result { return runBinary(t, dir, []string{secret}, stdin, args...) }
	_, admin := p.signIn("default", adminPassword)
	if admin == "" {
		t.Fatal("the admin can't sign in")
	}
	status := func(method, path, token, body string) int {
		status, _ := p.call(method, path, token, body)
		return status
	}

	run("ada's own password\n", "user", "add", "ada").must(t)
	code, ada := p.signIn("ada", "ada's own password")
	if code != 200 {
		t.Fatalf("an account that was added signs in with %d", code)
	}
	if got := status("GET", "/user", ada, ""); got != 403 {
		t.Errorf("ada lists the accounts with %d before she is an admin", got)
	}
	run("", "user", "set", "ada", "--admin").must(t)
	if got := status("GET", "/user", ada, ""); got != 200 {
		t.Errorf("ada lists the accounts with %d as an admin", got)
	}
	if text := run("", "user", "list").must(t); !strings.Contains(text, "ada") {
		t.Errorf("ada is not in the list: %q", text)
	}

	token := strings.TrimSpace(run("", "token", "--user", "ada", "--expires", "720h").must(t))
	if got := status("POST", "/project", token, `{"name": "by token"}`); got != 201 {
		t.Errorf("the token from the command line gets %d", got)
	}
	foreign := strings.TrimSpace(runBinary(t, dir, []string{"SERVICE_JWT_SECRET=" + strings.Repeat("x", 32)}, "", "token", "--user", "ada").must(t))
	if got := status("GET", "/auth/me", foreign, ""); got != 401 {
		t.Errorf("a token that another secret signed gets %d", got)
	}

	run("a new one for ada\n", "reset-password", "ada").must(t)
	if code, _ := p.signIn("ada", "ada's own password"); code != 401 {
		t.Errorf("the former password signs in with %d", code)
	}
	if code, _ := p.signIn("ada", "a new one for ada"); code != 200 {
		t.Errorf("the new password signs in with %d", code)
	}

	run("", "user", "delete", "ada", "--yes").must(t)
	for name, old := range map[string]string{"sign-in": ada, "command line": token} {
		if got := status("GET", "/auth/me", old, ""); got != 401 {
			t.Errorf("the token of a deleted account, from the %s, gets %d", name, got)
		}
	}

	run("", "seed").must(t)
	if text := run("", "check").must(t); text != "ok\n" {
		t.Errorf("check says %q", text)
	}
	if got := status("POST", "/project", admin, `{"name": "still here"}`); got != 201 {
		t.Errorf("after all of it the server answers %d", got)
	}
	p.stop()
}

func TestBackupAndRestoreAroundAServer(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, dir, nil)
	create := func(name string) {
		t.Helper()
		if status, answer := p.call("POST", "/project", "", `{"name": "`+name+`"}`); status != 201 {
			t.Fatalf("creating %s answers %d %v", name, status, answer)
		}
	}
	names := func(path string) int { return queryInt(t, filepath.Join(dir, path), `SELECT count(*) FROM project`) }

	create("before")
	runBinary(t, dir, nil, "", "backup", "monday.db").must(t)
	create("after")
	if n := names("monday.db"); n != 1 {
		t.Errorf("the backup has %d projects, want the one that was there", n)
	}

	for _, args := range [][]string{{"restore", "monday.db"}, {"restore", "monday.db", "--force"}} {
		runBinary(t, dir, nil, "", args...).refused(t, 1, "already being served")
	}
	create("undisturbed")
	p.stop()

	runBinary(t, dir, nil, "", "restore", "monday.db").refused(t, 1, "already exists", "--force")
	text := runBinary(t, dir, nil, "", "restore", "monday.db", "--force").must(t)
	aside, err := filepath.Glob(filepath.Join(dir, "tracker.db.before-restore-*"))
	if err != nil || len(aside) != 1 || !strings.Contains(text, aside[0]) {
		t.Fatalf("what was there is at %v (%v), and the output says %q", aside, err, text)
	}
	if n := names(filepath.Base(aside[0])); n != 3 {
		t.Errorf("what was kept aside has %d projects, want 3", n)
	}

	p = startServer(t, dir, nil)
	if _, answer := p.call("GET", "/project", "", ""); answer["total"] != 1.0 {
		t.Errorf("after the restore the server has %v projects, want 1", answer["total"])
	}
	p.stop()
}
