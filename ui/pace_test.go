package ui_test

import (
	"testing"

	"tracker/server/servertest"
	"tracker/server/web/auth"
	"tracker/ui"
)

// A form that needs no sign-in must arrive in time.
func TestFormsHaveADeadline(t *testing.T) {
	s := start(t, setup{auth: true})
	h, err := ui.New(ui.Options{DB: s.db, Auth: auth.New(s.db, auth.Options{Enabled: true, Secret: "a secret of this test"})})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/login", "/project/new"} {
		servertest.WantDeadline(t, h, path, "username=alice")
	}
}
