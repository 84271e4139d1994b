package ui_test

import (
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/users"
)

// alone is the environment variable that is set in a process that runs a single test.
const alone = "TRACKER_TEST_ALONE"

// fillDisk prevents the files of this process from growing until the returned function is called.
func fillDisk(t *testing.T) (free func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: unix.RLIM_INFINITY}, &before); err != nil {
		t.Fatal(err)
	}
	free = func() {
		if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, &before, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(free)
	return free
}

// On a full disk, every change is rejected with a message and the input, and pages can still be
// read.
func TestFullDisk(t *testing.T) {
	if os.Getenv(alone) == "" { // other tests in this process need disk space
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$")
		c.Env = append(os.Environ(), alone+"=yes")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	s := start(t, setup{auth: true, base: "/lab", blobs: t.TempDir()})
	forms := s.forms(t)
	ctx, admin := t.Context(), s.actor("alice")
	h := s.shelf()
	model, version := s.register(h.project, h.run, h.artifacts["model.pt"])
	other := s.run(h.experiment, runs.NewIteration{})
	// No model version prevents the deletion of this run.
	empty := must(s.db.Projects.CreateExperiment(ctx, admin, h.project, projects.NewExperiment{Name: "empty"}))(t).ID
	must(s.db.Runs.CreateTag(ctx, admin, runs.IterationTag, h.run, "best"))(t)
	member := must(s.db.Users.CreateUserPermission(ctx, admin, s.actor("bob").UserID, h.project, users.PermissionPatch{Read: new(true)}))(t).ID
	carol := s.actor("carol").UserID
	alice := with(s.signIn("alice"))
	pages := []string{"/", "/project/" + h.project, "/project/" + h.project + "/settings", "/project/" + h.project + "/members", "/project/" + h.project + "/models",
		"/experiment/" + h.experiment, "/experiment/" + h.experiment + "/settings", "/experiment/" + h.experiment + "/artifacts",
		"/experiment/" + h.experiment + "?filter=metric.train/loss+%3C+1&sort=metric.train/loss", "/iteration/" + h.run, "/artifact/" + h.artifacts["report.md"],
		"/model/" + model, "/change?i=" + h.run, "/delete?i=" + h.run, "/account", "/users", "/user/" + carol}
	const full = "disk is full"

	free := fillDisk(t)
	for _, f := range forms {
		a := s.post("/lab"+f.page, f.fields, alice)
		a.wants(t, 507, full)
		f.kept(t, a, "/lab", f.fields)
	}
	experiment := "/experiment/" + h.experiment
	for _, c := range []struct {
		name, page string
		fields     url.Values
	}{
		{"a tag is taken off", "/iteration/" + h.run + "/tag", url.Values{"remove": {"best"}}},
		{"a tag is taken off runs", "/change", url.Values{"i": {h.run}, "do": {"remove"}, "tag": {"best"}}},
		{"a member is removed", "/project/" + h.project + "/members", url.Values{"permission": {member}, "do": {"remove"}}},
		{"a version is promoted", "/modelversion/" + version + "/stage", url.Values{"stage": {"PRODUCTION"}}},
		{"a version is deleted", "/modelversion/" + version, url.Values{"do": {"delete"}}},
		{"a run is opened again", "/iteration/" + other + "/status", url.Values{"status": {"RUNNING"}}},
		{"a model is deleted", "/model/" + model + "/delete", url.Values{}},
		{"an artifact is deleted", "/artifact/" + h.artifacts["report.md"] + "/delete", url.Values{}},
		{"a run is deleted", "/delete", url.Values{"i": {other}}},
		{"a user is deleted", "/user/" + carol, url.Values{"do": {"delete"}}},
		{"an experiment is deleted", "/experiment/" + empty + "/settings", url.Values{"do": {"delete"}}},
		{"a project is deleted", "/project/" + h.project + "/settings", url.Values{"do": {"delete"}}},
	} {
		a := s.post("/lab"+c.page, c.fields, alice)
		if a.StatusCode != 507 || !strings.Contains(a.body, full) {
			t.Errorf("%s: %s %.3000s", c.name, a.Status, a.body)
		}
	}
	body, kind := fileForm(t, map[string]string{"iteration_id": h.run}, "a.txt")
	s.do("POST", "/lab"+experiment+"/artifacts", body, kind, alice).wants(t, 507, "The artifact storage is full", `data-testid="wrong-upload"`)
	body, kind = fileForm(t, nil, "a.txt")
	s.do("POST", "/lab/data"+experiment+"/artifacts", body, kind, alice).wants(t, 507, "The artifact storage is full", "STORAGE_FULL")
	script := header("Content-Type", "application/json")
	s.do("POST", "/lab/data/tags", strings.NewReader(`{"iterations":["`+h.run+`"],"value":"worst","attach":true}`), script, alice).wants(t, 507, full)
	s.do("POST", "/lab/data"+experiment+"/views", strings.NewReader(`{"name":"mine","query":"top=3"}`), script, alice).wants(t, 507, full)
	for _, page := range pages {
		s.get("/lab"+page, alice).wants(t, 200)
	}
	s.get("/lab/artifact/"+h.artifacts["report.md"]+"/data", alice).wants(t, 200)
	s.signIn("alice")

	free()
	for _, f := range forms {
		if a := s.post("/lab"+f.page, f.fields, alice); a.StatusCode != 303 {
			t.Errorf("%s: %s when there is room again", f.name, a.Status)
		}
	}
	for _, page := range pages {
		s.get("/lab"+page, alice).wants(t, 200)
	}
}
