//go:build unix

package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPushAndPull copies a project to a server and back. Both sides change the project in between.
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

	// A run grows in the local database.
	grow(t, "runs/a", 5)
	runMain(t, env, "", "import", "runs", "--project", "vision").must(t)
	if r := sync(0, push...); r.Sent != 1 || r.Points != 305 { // all points have the same step, so all are sent again
		t.Errorf("after the run has grown: %+v", r)
	}

	// A run is changed on the server.
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

	// A run is changed on both sides.
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

// A push or pull that is killed at a random moment can be continued. At the end, the projects on
// both sides are equal.
func TestKillPush(t *testing.T) {
	inFullRuns(t)
	l := startLab(t)
	dir := t.TempDir()
	t.Chdir(dir)
	env := append(l.env, "SERVICE_ADMIN_PASSWORD="+adminPassword, "SERVICE_LOG_LEVEL=warn")
	for i := range 50 { // three archives
		eventFile(t, fmt.Sprintf("runs/run-%0*d", i+1, i), 500)
	}
	runMain(t, env, "", "import", "runs", "--project", "vision").must(t)
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 17))
	for _, args := range [][]string{{"push", "vision", "--to", l.API}, {"pull", "vision", "--from", l.API, "--db-file", "other.db"}} {
		lasts := 3 * time.Second // normal duration of the command
		killed := 0
		for range 8 {
			took, ended := killAtAnyMoment(t, command(t, dir, env, args...), random, lasts)
			if !ended {
				killed++
			} else {
				lasts = took
			}
		}
		t.Logf("%v: %d of 8 killed", args, killed)
		runMain(t, env, "", args...).must(t)
		runMain(t, env, "", args...).must(t)
	}
	runMain(t, env, "", "export", "first.zip", "--project", "vision").must(t)
	runMain(t, env, "", "export", "second.zip", "--project", "vision", "--db-file", "other.db").must(t)
	if !bytes.Equal(bytesOf(t, "first.zip"), bytesOf(t, "second.zip")) {
		t.Error("the archives differ")
	}
}
