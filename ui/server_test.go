package ui_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracker/store/backup"
	"tracker/store/domain"
	"tracker/store/users"
	"tracker/ui"
)

func TestServerPage(t *testing.T) {
	s := start(t, setup{auth: true})
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	s.get("/server", bob).wants(t, 403)
	s.get("/server", alice).wants(t, 200, "tracker.db", `data-testid="no-backups"`, "SERVICE_BACKUP_DIR")

	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	st := backup.Status{Dir: "/backups", Interval: 24 * time.Hour, Keep: 7, Next: now.Add(5 * time.Hour)}
	s = start(t, setup{edit: func(o *ui.Options) { o.Backups = func() backup.Status { return st } }})
	s.get("/server").wants(t, 200, "/backups", "5 hours from now", `data-testid="no-copies"`)
	st.Files = []backup.File{{Name: "tracker-20261121T080000Z.db", Time: now.Add(-90 * time.Minute), Size: 3 << 20}}
	st.Err, st.ErrTime = errors.New("the disk <b>is</b> gone"), now.Add(-time.Minute)
	s.get("/server").wants(t, 200, "tracker-20261121T080000Z.db", "3.0 MiB", "1 hour ago", "The last attempt failed", "1 minute ago", "the disk &lt;b&gt;is&lt;/b&gt; gone")
}

// TestServerPageInABrowser checks the page in the states of backups.
func TestServerPageInABrowser(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	none := backup.Status{Dir: "/srv/" + strings.Repeat("a long path without a place to break/", 5), Interval: 24 * time.Hour, Keep: 7, Running: true}
	failed := none
	failed.Running, failed.Next = false, now.Add(5*time.Hour)
	failed.Err, failed.ErrTime = errors.New("open /srv/"+strings.Repeat("x", 300)+": no space left on device"), now.Add(-time.Minute)
	for i := range 7 {
		failed.Files = append(failed.Files, backup.File{Name: fmt.Sprintf("tracker-2026112%dT080000Z.db", i), Time: now.AddDate(0, 0, -i), Size: 3 << (20 + i)})
	}
	for name, st := range map[string]backup.Status{"server without a copy": none, "server whose backup failed": failed} {
		s := start(t, setup{edit: func(o *ui.Options) { o.Backups = func() backup.Status { return st } }})
		b := s.openBrowser(t)
		b.check(shown{name: name, path: "/server"})
	}
}

// TestAuditPage checks the filters, links and pages of the audit trail.
func TestAuditPage(t *testing.T) {
	s := start(t, setup{auth: true})
	alice := with(s.signIn("alice"))
	project := s.project("alice", "<b>iris", "", 0, 0)
	if err := s.db.Projects.DeleteProject(t.Context(), s.actor("alice"), project); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Trash.Restore(t.Context(), s.actor("alice"), project); err != nil {
		t.Fatal(err)
	}
	s.post("/login", credentials("alice", "wrong password", "/")).wants(t, 401)
	s.post("/logout", nil, alice).redirects(t, "/login")
	s.get("/server", alice).wants(t, 200, `href="/audit"`)
	all := s.get("/audit", alice)
	all.wants(t, 200, "&lt;b&gt;iris", `href="/project/`+project+`"`, "restored", "failed to sign in", "signed out", "not signed in")
	all.lacks(t, "<b>iris", "wrong password")
	restored := s.get("/audit?action=restore&actor=alice&kind=project&record="+project+"&since=2026-11-01&until=2026-11-21", alice)
	restored.wants(t, 200, "restored", `value="alice"`, `value="restore" selected`)
	restored.lacks(t, "deleted</td>", "<td>signed")
	s.get("/audit?until=2026-11-20", alice).wants(t, 200, `data-testid="nothing"`)
	s.get("/audit?since=yesterday", alice).wants(t, 200, `data-testid="wrong-audit"`)
	for range 60 {
		if _, err := s.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: rand.Text(), Password: password}); err != nil {
			t.Fatal(err)
		}
	}
	first := s.get("/audit?kind=user&actor=", alice)
	next := regexp.MustCompile(`href="(/audit\?cursor=[0-9]+&amp;kind=user)"`).FindStringSubmatch(first.body)
	if next == nil {
		t.Fatalf("there is no link to older entries in %s", first.body)
	}
	s.get(strings.ReplaceAll(next[1], "&amp;", "&"), alice).wants(t, 200, ">Newest</a>", "<bdi>bob</bdi>")
	s.get("/audit", with(s.signIn("bob"))).wants(t, 403)
}
