package ui_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// TestHome checks the lists of running, recently ended and best runs. Each list has only runs that
// the user can read.
func TestHome(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(3, 2)
	ctx, actor := t.Context(), s.actor("alice")
	if err := s.db.Projects.UpdateExperiment(ctx, actor, w.experiment, projects.ExperimentPatch{Objective: new("minimize val/loss")}); err != nil {
		t.Fatal(err)
	}
	for _, id := range w.runs[1:] {
		s.log(id, "val/loss", 3)
	}
	s.log(w.runs[1], "val/loss", -1)
	for _, id := range w.runs[:2] {
		if err := s.db.Runs.UpdateIteration(ctx, actor, id, runs.IterationPatch{Status: new(domain.Failed)}); err != nil {
			t.Fatal(err)
		}
	}
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	section := func(a answer, name string) string {
		_, rest, _ := strings.Cut(a.body, `data-testid="`+name+`"`)
		part, _, _ := strings.Cut(rest, "</section>")
		return part
	}
	a := s.get("/", alice)
	a.wants(t, 200, `data-testid="activity"`)
	for name, wants := range map[string]string{"running": "run 3", "news": "run 2", "best": "val/loss"} {
		if part := section(a, name); !strings.Contains(part, wants) {
			t.Errorf("%s lacks %q: %s", name, wants, part)
		}
	}
	if part := section(a, "news"); strings.Contains(part, "run 3") || !strings.Contains(part, "failed") || !strings.Contains(part, "The last 7 days") {
		t.Errorf("what has ended is %s", part)
	}
	// A lost run is not running, and several ended runs of an experiment are one line.
	s.clock.move(time.Hour)
	a = s.get("/", alice)
	if part := section(a, "running"); strings.Contains(part, "run 3") || !strings.Contains(part, "Nothing is running.") {
		t.Errorf("a lost run is among the running runs: %s", part)
	}
	if part := section(a, "news"); strings.Contains(part, "run 2") || !strings.Contains(part, "3 runs ended, 3 failed or lost") ||
		strings.Count(part, "<li>") != 1 || !strings.Contains(part, "best") {
		t.Errorf("the ended runs are %s", part)
	}
	s.get("/?q=sweep", alice).lacks(t, `data-testid="activity"`)
	s.get("/", bob).lacks(t, "run 3", `data-testid="activity"`)
	if err := s.db.Projects.DeleteExperiment(ctx, actor, w.experiment); err != nil {
		t.Fatal(err)
	}
	s.get("/", alice).lacks(t, "run 3", `data-testid="activity"`)
}

// TestHomeSeen checks that marked runs move to the earlier runs, for one account only, and that
// later runs are new.
func TestHomeSeen(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(2, 2)
	ctx, actor := t.Context(), s.actor("alice")
	must(s.db.Users.CreateUserPermission(ctx, domain.System, s.actor("bob").UserID, w.project, users.PermissionPatch{Read: new(true)}))(t)
	end := func(id string, status domain.IterationStatus) {
		t.Helper()
		if err := s.db.Runs.UpdateIteration(ctx, actor, id, runs.IterationPatch{Status: &status}); err != nil {
			t.Fatal(err)
		}
	}
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	news := func(who edit) string {
		t.Helper()
		_, rest, _ := strings.Cut(s.get("/", who).body, `data-testid="news"`)
		part, _, _ := strings.Cut(rest, "</section>")
		part, _, _ = strings.Cut(part, "<details")
		return part
	}
	until := func(part string) string {
		t.Helper()
		_, rest, ok := strings.Cut(part, `name="until" value="`)
		value, _, _ := strings.Cut(rest, `"`)
		if !ok {
			t.Fatalf("no form: %s", part)
		}
		return value
	}
	end(w.runs[0], domain.Failed)
	s.clock.move(time.Minute)
	page := until(news(alice))
	s.clock.move(time.Minute)
	end(w.runs[1], domain.Succeeded) // after the page was requested
	s.clock.move(time.Minute)
	s.post("/seen", url.Values{"until": {page}}, alice).wants(t, 303)
	if part := news(alice); !strings.Contains(part, "Since you looked") || strings.Contains(part, "run 1") || !strings.Contains(part, "run 2") {
		t.Errorf("alice sees %s", part)
	}
	if part := news(bob); !strings.Contains(part, "run 1") || !strings.Contains(part, "run 2") {
		t.Errorf("bob sees %s", part)
	}
	s.get("/", alice).wants(t, 200, `data-testid="earlier"`)
	s.post("/seen", url.Values{"until": {until(news(alice))}}, alice).wants(t, 303)
	part := news(alice)
	if !strings.Contains(part, "No run has ended or was lost.") || strings.Contains(part, "until") {
		t.Errorf("alice sees %s", part)
	}
	s.post("/seen", url.Values{"until": {"x"}}, alice).wants(t, 422)
	// A run that was seen last before the mark, but was lost after it, is new.
	s.run(w.experiment, runs.NewIteration{Name: new("late")})
	s.clock.move(time.Minute)
	s.post("/seen", url.Values{"until": {until(news(bob))}}, bob).wants(t, 303)
	if part := news(bob); strings.Contains(part, "late") {
		t.Errorf("bob sees a running run: %s", part)
	}
	s.clock.move(time.Hour)
	if part := news(bob); !strings.Contains(part, "late") || !strings.Contains(part, "lost") {
		t.Errorf("bob misses the lost run: %s", part)
	}
}

// TestPaceOnPages checks the speed and the time left on the first page and on the run's page.
func TestPaceOnPages(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	ctx, actor := t.Context(), s.actor("alice")
	must(s.db.Runs.CreateParameter(ctx, actor, w.runs[0], "max_steps", "400"))(t)
	for i := range 101 {
		s.clock.move(time.Second)
		at := scalar.TimeOf(s.clock.now())
		must(s.db.Runs.CreateMetric(ctx, actor, w.runs[0], points.Sample{Key: "loss", Step: new(scalar.Step(i)), Value: 1, RecordedAt: &at}))(t)
	}
	s.get("/").wants(t, 200, `data-testid="pace"`, "1.0 steps/s", "5m left", `value="0.250"`)
	page := "/iteration/" + w.runs[0]
	s.get(page).wants(t, 200, `data-testid="rate">1.0 steps/s<`, "100 of 400 steps", "max_steps", `data-testid="left">5m left<`)
	s.clock.move(4 * time.Minute)
	s.get(page).wants(t, 200, `data-testid="slow">No step for 4 minutes. Before, the mean speed was 1.0 steps/s.<`)
	s.clock.move(2 * time.Minute)
	s.get(page).lacks(t, `data-testid="rate"`, `data-testid="slow"`) // it is lost
}

func TestProjectRuns(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	w := s.sweep(3, 2)
	ctx, actor := t.Context(), s.actor("alice")
	if err := s.db.Projects.UpdateExperiment(ctx, actor, w.experiment, projects.ExperimentPatch{Objective: new("minimize train/loss")}); err != nil {
		t.Fatal(err)
	}
	other := must(s.db.Projects.CreateExperiment(ctx, actor, w.project, projects.NewExperiment{Name: "other"}))(t).ID
	id := s.run(other, runs.NewIteration{Name: new("elsewhere")})
	must(s.db.Runs.CreateParameter(ctx, actor, id, "lr", "0.05"))(t)
	page := "/lab/project/" + w.project + "/runs"
	a := s.get(page)
	a.wants(t, 200, `data-testid="found">4<`, "<bdi>run 1</bdi>", "<bdi>elsewhere</bdi>", "<bdi>other</bdi>", `href="/lab/experiment/`+other+`"`,
		"<bdi>train/loss.min</bdi>", "<bdi>lr</bdi>", "<bdi>0.05</bdi>")
	a = s.get(page + "?sort=param.lr")
	a.wants(t, 200, `aria-sort="ascending"`, "sort=-param.lr")
	if strings.Index(a.body, "elsewhere") > strings.Index(a.body, "run 1") {
		t.Error("the runs are not sorted by lr")
	}
	a = s.get(page + "?filter=" + url.QueryEscape("param.lr < 0.2"))
	a.wants(t, 200, `data-testid="found">2<`)
	a.lacks(t, "<bdi>run 2</bdi>")
	a = s.get(page + "?filter=elsewhere&columns=param.lr")
	a.wants(t, 200, `data-testid="found">1<`)
	a.lacks(t, "train/loss")
	s.get(page+"?filter=zebra").wants(t, 200, `data-testid="nothing"`)
	s.get(page+"?filter=x+%3C").wants(t, 200, `data-testid="filter-wrong"`)
	s.get(page+"?limit=2&offset=9").wants(t, 200, "This page is past the end of the list")
	s.get("/lab/project/none/runs").wants(t, 404)
}
