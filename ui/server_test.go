package ui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tracker/store/backup"
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
