//go:build unix

package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPushAndPull copies a project to a server and back while both sides change it.
func TestPushAndPull(t *testing.T) {
	l := startLab(t)
	t.Chdir(t.TempDir())
	env := append(l.env, "SERVICE_ADMIN_PASSWORD="+adminPassword)
	eventFile(t, "runs/a", 300)
	eventFile(t, "runs/bb", 3)
	runMain(t, env, "", "import", "runs", "--project", "vision").must(t)
	sync := func(code int, args ...string) syncResult {
		t.Helper()
		r := runMain(t, env, "", append(args, "--json")...)
		var result syncResult
		if err := json.Unmarshal([]byte(r.stdout), &result); err != nil || r.code != code {
			t.Fatalf("%v: %v, %+v", args, err, r)
		}
		return result
	}
	push := []string{"push", "vision", "--to", l.API}

	if r := sync(0, append(push, "--dry-run")...); r.Sent != 4 || r.Runs != 2 {
		t.Errorf("dry run: %+v", r)
	}
	r := sync(0, push...)
	if r.Sent != 4 || r.Runs != 2 || r.Points != 303 {
		t.Errorf("the first push: %+v", r)
	}
	if r := sync(0, push...); r.Same != 4 || r.Sent+r.Points != 0 {
		t.Errorf("again: %+v", r)
	}

	// A run that has grown here.
	grow(t, "runs/a", 5)
	runMain(t, env, "", "import", "runs", "--project", "vision").must(t)
	if r := sync(0, push...); r.Sent != 1 || r.Points != 305 { // all are of one step
		t.Errorf("after the run has grown: %+v", r)
	}

	// A change there.
	run := l.runNamed(t, r.Project, "a")
	l.patch(t, run, `{"notes": "from the lab"}`)
	if r := sync(0, push...); r.Newer != 1 || r.Sent != 0 {
		t.Errorf("a push before the pull: %+v", r)
	}
	pull := []string{"pull", "vision", "--from", l.API}
	if r := sync(0, pull...); r.Sent != 1 {
		t.Errorf("the pull: %+v", r)
	}
	if r := sync(0, push...); r.Same != 4 {
		t.Errorf("a push after the pull: %+v", r)
	}
	if r := sync(0, append(pull, "--db-file", "other.db")...); r.Sent != 4 || r.Points != 308 {
		t.Errorf("the pull into a new database: %+v", r)
	}

	// A change on both sides.
	l.patch(t, run, `{"notes": "again from the lab"}`)
	grow(t, "runs/a", 1)
	runMain(t, env, "", "import", "runs", "--project", "vision").must(t)
	if r := sync(3, push...); r.Sent != 0 || len(r.Losses) != 1 || !strings.Contains(r.Losses[0].Reason, "changed on both sides") {
		t.Errorf("changed on both sides: %+v", r)
	}
	if r := sync(3, pull...); r.Sent != 0 || len(r.Losses) != 1 {
		t.Errorf("changed on both sides: %+v", r)
	}

	runMain(t, env, "", "push", "nobody", "--to", l.API).refused(t, 1, "There is no such project")
	runMain(t, env, "", "push", "vision").refused(t, 2, "--to URL")
	runMain(t, env, "", "pull", "nobody", "--from", l.API).refused(t, 1, `there is no project "nobody"`)
}

// grow appends points to an event file.
func grow(t *testing.T, dir string, points int) {
	t.Helper()
	more := t.TempDir()
	eventFile(t, more, points)
	data, err := os.ReadFile(filepath.Join(more, "events.out.tfevents.1"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "events.out.tfevents.1"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) runNamed(t *testing.T, project, name string) string {
	t.Helper()
	_, experiments := l.call("GET", "/experiment/project/"+project, "", "")
	_, runs := l.call("GET", "/iteration/experiment/"+experiments["data"].([]any)[0].(map[string]any)["id"].(string), "", "")
	for _, r := range runs["data"].([]any) {
		if r := r.(map[string]any); r["name"] == name {
			return r["id"].(string)
		}
	}
	t.Fatalf("there is no run %q: %v", name, runs)
	return ""
}

func (l *lab) patch(t *testing.T, run, body string) {
	t.Helper()
	if status, answer := l.call("PATCH", "/iteration/"+run, "", body); status != 204 {
		t.Fatalf("PATCH answers %d %v", status, answer)
	}
}
