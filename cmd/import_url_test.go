//go:build unix

package cmd

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tracker/store/transfer"
)

// TestImportIntoServer imports into a remote server, and again after the source has grown and after
// the runs have been changed on the server.
func TestImportIntoServer(t *testing.T) {
	l := startLab(t)
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	eventFile(t, "runs/a", 300)
	eventFile(t, "runs/bb", 3)
	bring := func(code int, more ...string) transfer.Result {
		t.Helper()
		r := runMain(t, l.env, "", append([]string{"import", "runs", "--project", "iris", "--experiment", "sweep", "--json"}, more...)...)
		var result transfer.Result
		if err := json.Unmarshal([]byte(r.stdout), &result); err != nil || r.code != code {
			t.Fatalf("%v: %+v", err, r)
		}
		return result
	}
	url := []string{"--url", l.API}
	if r := bring(0, append(url, "--dry-run")...); r.Created != 2 || r.Points != 303 {
		t.Errorf("dry run: %+v", r)
	}
	if r := bring(0, append(url, "--dry-run")...); r.Created != 2 {
		t.Errorf("the dry run has changed something: %+v", r)
	}
	if r := bring(0, url...); r.Created != 2 || r.Points != 303 || r.Found != 2 {
		t.Errorf("the first import: %+v", r)
	}
	if r := bring(0, url...); r.Unchanged != 2 || r.Points != 0 || r.Created+r.Grown != 0 {
		t.Errorf("again: %+v", r)
	}
	_, projects := l.call("GET", "/project", "", "")
	if projects["total"] != 1.0 {
		t.Errorf("there is a second project: %v", projects)
	}
	project := projects["data"].([]any)[0].(map[string]any)["id"].(string)
	_, experiments := l.call("GET", "/experiment/project/"+project, "", "")
	if experiments["total"] != 2.0 {
		t.Errorf("there is another experiment: %v", experiments)
	}

	grow(t, "runs/a", 5)
	if r := bring(0, url...); r.Grown != 1 || r.Unchanged != 1 {
		t.Errorf("after it has grown: %+v", r)
	}
	var run string
	for _, e := range experiments["data"].([]any) {
		_, runs := l.call("GET", "/iteration/experiment/"+e.(map[string]any)["id"].(string), "", "")
		for _, r := range runs["data"].([]any) {
			if r := r.(map[string]any); r["name"] == "a" {
				run = r["id"].(string)
			}
		}
	}
	l.patch(t, run, `{"notes": "mine"}`)
	if r := bring(0, url...); r.Unchanged != 2 {
		t.Errorf("after notes were written there: %+v", r)
	}
	if _, got := l.call("GET", "/iteration/"+run, "", ""); got["notes"] != "mine" {
		t.Errorf("the notes are %v", got["notes"])
	}
	grow(t, "runs/a", 5)
	if r := bring(3, url...); r.LeftOut != 1 || !strings.Contains(r.Losses[0].Reason, "changed on both sides") {
		t.Errorf("changed on both sides: %+v", r)
	}

	runMain(t, []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}, "", "import", "runs").must(t)
	runMain(t, nil, "", "export", "all.zip").must(t)
	if out := runMain(t, l.env, "", "import", "all.zip", "--url", l.API, "--json").stdout; !strings.Contains(out, `"created":2`) && !strings.Contains(out, `"left_out":2`) {
		t.Errorf("an archive: %s", out)
	}
	runMain(t, l.env, "", "import", "runs", "--url", "http://127.0.0.1:1").refused(t, 1, "does not answer")
	runMain(t, l.env, "", "import", "all.zip", "--url", l.API, "--dry-run").refused(t, 2, "sent to a server unchanged")
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
