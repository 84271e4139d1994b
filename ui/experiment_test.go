package ui_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// sweep is an experiment with runs.
type sweep struct {
	project, experiment string
	runs                []string // ids
}

// sweep creates runs named "run 1" and so on, with the parameter lr and points of train/loss, in a
// project of alice.
func (s *site) sweep(found, points int) sweep {
	s.t.Helper()
	w := sweep{project: s.project("alice", "digits", "", 0, 0)}
	ctx, actor := s.t.Context(), s.actor("alice")
	e, err := s.db.Projects.CreateExperiment(ctx, actor, w.project, projects.NewExperiment{Name: "sweep"})
	if err != nil {
		s.t.Fatal(err)
	}
	w.experiment = e.ID
	// The experiment has no objective, so the newest runs come first.
	if err := s.db.Projects.UpdateExperiment(ctx, actor, e.ID, projects.ExperimentPatch{Objective: new(goal.None)}); err != nil {
		s.t.Fatal(err)
	}
	for i := range found {
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprint("run ", i+1))})
		if _, err := s.db.Runs.CreateParameter(ctx, actor, id, "lr", scalar.Text(fmt.Sprintf("0.%d", i+1))); err != nil {
			s.t.Fatal(err)
		}
		s.log(id, "train/loss", points)
		w.runs = append(w.runs, id)
		s.clock.move(time.Second)
	}
	return w
}

func (s *site) run(experiment string, n runs.NewIteration) string {
	s.t.Helper()
	i, err := s.db.Runs.CreateIteration(s.t.Context(), s.actor("alice"), experiment, n)
	if err != nil {
		s.t.Fatal(err)
	}
	return i.ID
}

// log appends points to a metric. The value of a point is its step.
func (s *site) log(iteration, key string, samples int) {
	s.t.Helper()
	var all []points.Sample
	for i := range samples {
		all = append(all, points.Sample{Key: key, Value: scalar.Value(i)})
	}
	if err := s.db.Runs.CreateMetrics(s.t.Context(), s.actor("alice"), iteration, all); err != nil {
		s.t.Fatal(err)
	}
}

// json decodes a response with a JSON body.
func (a answer) json(t *testing.T, status int, v any) {
	t.Helper()
	if a.StatusCode != status || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s %s: %s, %s", a.Request.Method, a.Request.URL, a.Status, a.Header.Get("Content-Type"))
	}
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

func (s *site) curves(body string, edits ...edit) answer {
	return s.do("POST", "/data/curves", strings.NewReader(body), append([]edit{header("Content-Type", "application/json")}, edits...)...)
}

func TestProjectPage(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(2, 1)
	empty := s.project("alice", "empty", "", 0, 0)
	alice := with(s.signIn("alice"))
	s.get("/project/"+w.project, alice).wants(t, 200, `href="/experiment/`+w.experiment+`"`, `data-label="Runs">2<`,
		`aria-current="page"`)
	s.get("/project/"+w.project+"?q=nothing", alice).wants(t, 200, "No experiment has “<bdi>nothing</bdi>” in its name.")
	s.get("/project/"+empty, alice).wants(t, 200, `data-testid="lesson"`, "PROJECT="+empty, "tracker.init(&#34;empty&#34;, &#34;First experiment&#34;")
	s.get("/project/none", alice).wants(t, 404, "There is no such project.")
}

func TestExperimentPage(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(3, 2)
	alice := with(s.signIn("alice"))
	page := "/experiment/" + w.experiment

	a := s.get(page, alice)
	a.wants(t, 200, `data-columns="param.lr, metric.train/loss"`, `<bdi>run 3</bdi>`, `data-testid="total">3<`, ">0.3<",
		`data-delete="yes"`)
	if strings.Index(a.body, "run 3") > strings.Index(a.body, "run 1") {
		t.Error("the newest run is not the first")
	}
	a = s.get(page+"?filter="+url.QueryEscape("param.lr < 0.25")+"&sort=param.lr&limit=1", alice)
	a.wants(t, 200, "run 1", `value="param.lr &lt; 0.25"`, `data-testid="total">2<`, `rel="next"`)
	a.lacks(t, "run 3")
	s.get(page+"?filter=param.lr+%3C%3C+1", alice).wants(t, 200, "filter is wrong at character 11", `aria-invalid="true"`,
		`value="param.lr &lt;&lt; 1"`)
	s.get("/experiment/none", alice).wants(t, 404)

	s.clock.move(5*time.Minute + time.Second)
	s.get(page, alice).wants(t, 200, `class="status lost">lost<`)
	s.log(w.runs[0], "train/loss", 1)
	s.get(page, alice).wants(t, 200, `class="status running">running<`, `class="status lost">lost<`)
}

// TestDefaultColumns checks that the default columns are parameters that differ, and results.
func TestDefaultColumns(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(2, 1)
	for i, run := range w.runs {
		for key, value := range map[string]string{"batch": "64", "a seed": fmt.Sprint(i), "opt": "adam"} {
			if _, err := s.db.Runs.CreateParameter(t.Context(), domain.System, run, key, scalar.Text(value)); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{"a_rate", "system/cpu", "summary/best", "val/acc"} {
			s.log(run, key, 1)
		}
	}
	page := "/experiment/" + w.experiment
	s.get(page).wants(t, 200, `data-columns="param.lr, param.`+"`a seed`"+`, metric.val/acc, metric.train/loss, metric.a_rate"`)
	s.get(page+"?columns=param.opt").wants(t, 200, `data-columns="param.opt"`)
	// The best value of the objective comes first, and the last value beside it.
	if err := s.db.Projects.UpdateExperiment(t.Context(), domain.System, w.experiment, projects.ExperimentPatch{Objective: new("")}); err != nil {
		t.Fatal(err)
	}
	s.get(page).wants(t, 200, `data-columns="metric.val/acc.max, param.lr, param.`+"`a seed`"+`, metric.val/acc, metric.train/loss"`)
}

// TestManyParameters checks that a run with hundreds of parameters, as Hugging Face's trainer logs
// them, first shows the parameters that matter, and that a wide table has more columns.
func TestManyParameters(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 1)
	for i, run := range w.runs {
		params := map[string]string{"optim": fmt.Sprint("adam", i), "weight_decay": fmt.Sprint(i), "batch_size": fmt.Sprint(i), "zeta": fmt.Sprint(i),
			"label_smoothing_factor": fmt.Sprint(i), "output_dir": fmt.Sprint("/out/", i), "warmup_steps": "100"}
		for n := range 120 {
			params[fmt.Sprintf("accelerator_config/option_%d", n)] = "None"
		}
		for key, value := range params {
			must(s.db.Runs.CreateParameter(t.Context(), domain.System, run, key, scalar.Text(value)))(t)
		}
	}
	a := s.get("/iteration/" + w.runs[0])
	a.wants(t, 200, "Show 116 more")
	shown, _, _ := strings.Cut(a.body[strings.Index(a.body, `id="params"`):], "more-params")
	for _, key := range []string{"lr", "optim", "batch_size", "warmup_", "zeta"} {
		if !strings.Contains(shown, "<bdi>"+key) {
			t.Errorf("%s is not among the first parameters", key)
		}
	}
	s.get("/experiment/"+w.experiment).wants(t, 200, `data-columns="param.lr, param.optim, param.batch_size, metric.train/loss"`,
		`data-wide="param.weight_decay, param.label_smoothing_factor, param.zeta, param.output_dir"`)

	b := s.openBrowser(t)
	heads := `[...document.querySelectorAll('#table thead [data-column^="param."]')].map((e) => e.dataset.column.slice(6))`
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	b.is(heads, "lr,optim,batch_size")
	b.do(chromedp.EmulateViewport(2560, 1200))
	b.is(heads, "lr,optim,batch_size,weight_decay,label_smoothing_factor,zeta,output_dir")
	b.is(`document.querySelector('#table tbody td:nth-child(6)').textContent.length > 0`, "true")
	b.fits()
	b.do(chromedp.Navigate(s.url + "/iteration/" + w.runs[0]))
	b.do(chromedp.SendKeys(chromedp.CSS(`[data-filters="params"]`), "option_7"))
	b.is(`[...document.querySelectorAll('#params tr')].filter((e) => e.checkVisibility()).length`, "11")
	b.quiet()
}

func TestExperimentLesson(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(0, 0)
	a := s.get("/experiment/"+w.experiment, with(s.signIn("alice")))
	a.wants(t, 200, `data-testid="lesson"`, "EXPERIMENT="+w.experiment, "http://127.0.0.1:9000",
		"export MLFLOW_TRACKING_URI=&#39;http://127.0.0.1:9000/mlflow/", "export MLFLOW_EXPERIMENT_NAME=")
	lines := find(a.body, `(?s)data-testid="python">(.*?)</pre>`)
	a.wants(t, 200, "pip install --index-url "+s.url+"/client/python/ runtracker", "--username &#39;alice&#39;")
	for _, want := range []string{`url="http://127.0.0.1:9000"`, `tracker.init("digits", "sweep", `} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, lines)
		}
	}
}

// Each page and each response requires the right to read the project.
func TestPagesOfOthers(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(2, 2)
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	body := `{"iterations":["` + w.runs[0] + `"],"keys":["train/loss"],"points":10,"x":"step","scale":"linear"}`
	paths := []string{"/project/" + w.project, "/experiment/" + w.experiment, "/iteration/" + w.runs[0],
		"/change?i=" + w.runs[0], "/delete?i=" + w.runs[0],
		"/compare?i=" + w.runs[0] + "&i=" + w.runs[1], "/data/compare?i=" + w.runs[0] + "&i=" + w.runs[1], "/data/experiment/" + w.experiment + "/iterations",
		"/data/experiment/" + w.experiment + "/keys", "/data/iteration/" + w.runs[0] + "/summary",
		"/data/events?on=experiment/" + w.experiment + "/", "/data/events?on=iteration/" + w.runs[0] + "/"}
	for _, path := range paths {
		if !strings.HasPrefix(path, "/data/events") {
			s.get(path, alice).wants(t, 200)
		}
		a := s.get(path, bob)
		a.wants(t, 403, "read permission")
		a.lacks(t, "digits", "sweep", "run 1")
		if strings.HasPrefix(path, "/data/") {
			s.get(path).wants(t, 401, "TOKEN_MISSING")
		} else {
			s.get(path).redirects(t, "/login?next="+url.QueryEscape(path))
		}
	}
	s.curves(body, alice).wants(t, 200)
	s.curves(body, bob).wants(t, 403)
	s.curves(body).wants(t, 401)

	// A user who can only read sees no other actions, and other requests are rejected.
	_, err := s.db.Users.CreateUserPermission(t.Context(), domain.System, s.actor("bob").UserID, w.project, users.PermissionPatch{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths[:10] {
		a := s.get(path, bob)
		a.wants(t, 200)
		if path != paths[4] {
			a.lacks(t, `data-delete="yes"`, `data-testid="delete"`, `data-testid="edit"`, `value="add"`, `data-testid="reopen"`)
		}
	}
	for path, fields := range map[string]url.Values{
		paths[2]:             {"name": {"x"}, "notes": {""}},
		paths[2] + "/status": {"status": {"FAILED"}},
		"/change":            {"i": w.runs, "do": {"add"}, "tag": {"x"}},
		"/delete":            {"i": w.runs},
	} {
		s.post(path, fields, bob).wants(t, 403, "permission on the project")
	}
}

func TestRunsAsData(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(3, 4)
	var list struct {
		Data []struct {
			ID, Name, Status string
			Params           map[string]string
			Metrics          map[string]float64
		}
		Total int
		Wrong *struct{ Field, Message string }
	}
	path := "/data/experiment/" + w.experiment + "/iterations?"
	s.get(path+"limit=2&columns=param.lr,metric.train/loss.min&sort=param.lr").json(t, 200, &list)
	if list.Total != 3 || len(list.Data) != 2 || list.Data[0].ID != w.runs[0] || list.Data[0].Params["lr"] != "0.1" ||
		list.Data[0].Metrics["train/loss.min"] != 0 || list.Data[0].Status != "running" {
		t.Errorf("the runs are %+v", list)
	}
	s.get(path+"filter=oops+%3D").json(t, 200, &list)
	if list.Wrong == nil || list.Wrong.Field != "filter" || !strings.Contains(list.Wrong.Message, "at character 7") {
		t.Errorf("a wrong filter answers %+v", list.Wrong)
	}
	var keys struct {
		Data []struct{ Kind, Key string }
	}
	s.get("/data/experiment/"+w.experiment+"/keys?q=LOSS&kind=metric").json(t, 200, &keys)
	if len(keys.Data) != 1 || keys.Data[0].Key != "train/loss" {
		t.Errorf("the keys are %+v", keys)
	}
	s.get("/data/experiment/"+w.experiment+"/keys?kind=none").wants(t, 422)
}

func TestCurvesAsData(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(2, 1)
	s.clock.move(time.Minute)
	s.log(w.runs[1], "train/loss", 100)
	type curves struct {
		Curves []struct {
			ID    string
			Count int
			X     []int64
			Y     []float64
			Low   []*float64
		}
	}
	ask := func(rest string) (c curves) {
		t.Helper()
		ids, _ := json.Marshal(w.runs)
		s.curves(`{"iterations":`+string(ids)+`,"keys":["train/loss"],"scale":"linear",`+rest+`}`).json(t, 200, &c)
		return c
	}
	all := ask(`"x":"step","points":500`).Curves
	if len(all) != 2 || all[1].Count != 101 || len(all[1].X) != 101 || all[1].X[100] != 100 || all[1].Low != nil {
		t.Errorf("all points are %+v", all)
	}
	few := ask(`"x":"step","points":10`).Curves[1]
	if few.Count != 101 || len(few.X) > 10 || len(few.Low) != len(few.X) {
		t.Errorf("ten points are %+v", few)
	}
	part := ask(`"x":"step","points":10,"from":20,"to":24`).Curves[1]
	if part.Count != 5 || part.X[0] != 20 {
		t.Errorf("a part is %+v", part)
	}
	// The second run began a second after the first, and its next point came a minute later.
	relative := ask(`"x":"relative","points":500,"from":1000`).Curves
	if len(relative[0].X) != 0 || relative[1].Count != 100 || relative[1].X[0] != 61_000 {
		t.Errorf("by relative time it is %+v", relative)
	}
	byTime := ask(`"x":"time","points":500`).Curves[1]
	if want := s.clock.now().UnixMilli(); byTime.X[100] != want {
		t.Errorf("the last time is %d, not %d", byTime.X[100], want)
	}
	s.curves(`{`).wants(t, 400, "MALFORMED_BODY")
	s.curves(`{"iterations":[],"keys":[]}`).wants(t, 422)
	s.curves(`{"iterations":["none"],"keys":["a"],"points":10,"x":"step","scale":"linear"}`).wants(t, 404)
	s.curves(`{}`, header("Sec-Fetch-Site", "cross-site")).wants(t, 403)
}

// All input of users is shown as text.
func TestMarkupEverywhere(t *testing.T) {
	const bad = `</bdi></textarea><script>alert(1)</script>"'><img src=x onerror=alert(1)>&amp;`
	s := start(t, setup{auth: true})
	ctx, actor := t.Context(), s.actor("alice")
	project := s.project("alice", bad, bad, 0, 0)
	e, err := s.db.Projects.CreateExperiment(ctx, actor, project, projects.NewExperiment{Name: bad, Description: bad})
	if err != nil {
		t.Fatal(err)
	}
	parent := s.run(e.ID, runs.NewIteration{Name: new(bad), Notes: bad + "\n\n[x](javascript:alert(1)) <b onclick=x>b</b>"})
	child := s.run(e.ID, runs.NewIteration{Name: new(bad), ParentIterationID: &parent})
	s.log(parent, bad, 2)
	_, tagged := s.db.Runs.CreateTag(ctx, actor, runs.IterationTag, parent, bad)
	_, set := s.db.Runs.CreateParameter(ctx, actor, parent, bad, bad)
	_, snapped := s.db.Runs.CreateSnapshot(ctx, actor, parent, runs.NewSnapshot{GitSHA: bad, GitRemote: bad, GitDiff: bad,
		Entrypoint: bad, Command: bad, Hostname: bad, Runtime: bad, Dependencies: bad})
	failed := s.db.Runs.UpdateIteration(ctx, actor, parent, runs.IterationPatch{Status: new(domain.Failed), ErrorMessage: new(bad)})
	for _, err := range []error{tagged, set, snapped, failed} {
		if err != nil {
			t.Fatal(err)
		}
	}
	alice := with(s.signIn("alice"))
	for _, a := range []answer{
		s.get("/", alice), s.get("/project/"+project, alice), s.get("/project/"+project+"?q="+url.QueryEscape(bad), alice),
		s.get("/experiment/"+e.ID, alice), s.get("/experiment/"+e.ID+"?filter="+url.QueryEscape(bad), alice),
		s.get("/experiment/"+e.ID+"?columns="+url.QueryEscape(bad)+"&sort="+url.QueryEscape(bad), alice),
		s.get("/iteration/"+parent, alice), s.get("/iteration/"+child, alice),
		s.get("/compare?i="+parent+"&i="+child, alice), s.get("/change?i="+parent, alice), s.get("/delete?i="+parent+"&i="+child, alice),
		s.post("/iteration/"+parent, url.Values{"name": {bad + strings.Repeat("x", 300)}, "notes": {bad}}, alice),
		s.post("/iteration/"+child+"/status", url.Values{"status": {bad}, "error_message": {bad}}, alice),
		s.post("/change", url.Values{"i": {parent}, "do": {"add"}, "tag": {bad + strings.Repeat("x", 300)}}, alice),
	} {
		if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %s", a.Request.Method, a.Request.URL, a.Status)
		}
		if !strings.Contains(a.body, html.EscapeString(bad)) {
			t.Errorf("%s %s does not show it", a.Request.Method, a.Request.URL)
		}
		a.lacks(t, "<script>alert", "<img", `href="javascript:`, "<b onclick")
	}
}
