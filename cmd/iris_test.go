//go:build unix

package cmd

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// irisRecord describes the records that the example has logged, as the example prints them.
type irisRecord struct {
	ProjectID       string          `json:"project_id"`
	ExperimentID    string          `json:"experiment_id"`
	BestIterationID string          `json:"best_iteration_id"`
	Iterations      []irisIteration `json:"iterations"`
}

type irisIteration struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Parent       string            `json:"parent_iteration_id"`
	Status       string            `json:"status"`
	ErrorMessage string            `json:"error_message"`
	Parameters   map[string]string `json:"parameters"`
	Metrics      []point           `json:"metrics"`
	Tags         []string          `json:"tags"`
}

// runIris runs the example and returns the logged data.
func runIris(t *testing.T, p *process, args ...string) irisRecord {
	t.Helper()
	path := filepath.Join(t.TempDir(), "record.json")
	args = append([]string{filepath.Join("..", "client", "examples", "iris.py"), "--url", p.API, "--record", path}, args...)
	c := exec.Command("python3", args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "TRACKER_UI_URL=" + p.UI}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %v\n%s%s", c.Args, err, &stdout, &stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var record irisRecord
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	at := p.UI + "/experiment/" + record.ExperimentID
	if !strings.Contains(stdout.String(), at+"\n") {
		t.Errorf("the output does not say %s:\n%s", at, &stdout)
	}
	page, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if kind := page.Header.Get("Content-Type"); page.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
		t.Errorf("%s answers %d with %s, want a page", at, page.StatusCode, kind)
	}
	return record
}

// By default, the example uses the default dashboard address of `tracker serve`.
func TestIrisKnowsTheDashboard(t *testing.T) {
	for api, want := range map[string]string{
		"http://127.0.0.1:9000":             "http://127.0.0.1:9001",
		"http://[::1]:9000/lab":             "http://[::1]:9001/lab",
		"https://tracker.example.org":       "https://tracker.example.org",
		"https://tracker.example.org/track": "https://tracker.example.org/track",
	} {
		c := exec.Command("python3", "-B", "-c", "import iris, sys; print(iris.dashboard(sys.argv[1]))", api)
		c.Dir = filepath.Join("..", "client", "examples")
		c.Env = []string{"PATH=" + os.Getenv("PATH")}
		if got, err := c.Output(); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("the dashboard of %s is %q, %v; want %s", api, got, err, want)
		}
	}
}

// verify checks that the server has exactly the logged data.
func (r irisRecord) verify(t *testing.T, w *conn) {
	t.Helper()
	var project, experiment struct {
		Name    string `json:"name"`
		Project string `json:"project_id"`
	}
	if !w.read(t, "/project/"+r.ProjectID, &project) || project.Name != "iris" {
		t.Errorf("the project is %+v", project)
	}
	if !w.read(t, "/experiment/"+r.ExperimentID, &experiment) || experiment.Name != "softmax" || experiment.Project != r.ProjectID {
		t.Errorf("the experiment is %+v", experiment)
	}
	type record struct {
		ID           string `json:"id"`
		ErrorMessage string `json:"error_message"`
	}
	var ids, children []string
	for _, i := range r.Iterations {
		ids = append(ids, i.ID)
		want := newBook(i.ID)
		want.there, want.name, want.status, want.points = true, i.Name, i.Status, i.Metrics
		if i.Parent != "" {
			want.parent = &book{id: i.Parent, there: true}
			children = append(children, i.ID)
		}
		for _, tag := range i.Tags {
			want.tags[tag] = true
		}
		for key, v := range i.Parameters {
			want.parameters[key] = parameter{value: v}
		}
		if wrong := want.differs(readBook(t, w, i.ID)); wrong != "" {
			t.Errorf("iteration %q: %s", i.Name, wrong)
		}
		var got record
		if w.read(t, "/iteration/"+i.ID, &got); got.ErrorMessage != i.ErrorMessage {
			t.Errorf("iteration %q: error message %q, want %q", i.Name, got.ErrorMessage, i.ErrorMessage)
		}
		var snapshot struct{ Entrypoint, Command string }
		if !w.read(t, "/iteration/"+i.ID+"/snapshot", &snapshot) || snapshot.Entrypoint != "iris.py" ||
			w.Token != "" && strings.Contains(snapshot.Command, w.Token) {
			t.Errorf("iteration %q: snapshot %+v", i.Name, snapshot)
		}
	}
	for path, want := range map[string][]string{
		"/iteration/experiment/" + r.ExperimentID:        ids,
		"/iteration/" + r.Iterations[0].ID + "/children": children,
	} {
		all, _ := readAll[record](t, w, path)
		var got []string
		for _, i := range all {
			got = append(got, i.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("GET %s gives %v, want %v", path, got, want)
		}
	}
}

// counts returns the number of iterations by status, the number of points, and the number of points
// whose value is not finite.
func (r irisRecord) counts() (status map[string]int, points, notFinite int) {
	status = map[string]int{}
	for _, i := range r.Iterations {
		status[i.Status]++
		points += len(i.Metrics)
		for _, p := range i.Metrics {
			if v := float64(p.Value); math.IsNaN(v) || math.IsInf(v, 0) {
				notFinite++
			}
		}
	}
	return status, points, notFinite
}

// TestIris runs the sweep on Fisher's measurements: a parent, and a child for each learning rate
// with 100 epochs of four metrics.
func TestIris(t *testing.T) {
	p := startServer(t, t.TempDir(), nil)
	r := runIris(t, p)
	r.verify(t, dial(t, p))
	status, points, notFinite := r.counts()
	if len(r.Iterations) != 4 || status["SUCCEEDED"] != 4 || points != 3*100*4 || notFinite != 0 {
		t.Errorf("%d iterations, %v, %d points, of which %d are not finite", len(r.Iterations), status, points, notFinite)
	}
	for _, i := range r.Iterations {
		if best := i.ID == r.BestIterationID; best != slices.Equal(i.Tags, []string{"best"}) || best && i.Parent == "" {
			t.Errorf("%q with the parent %q has the tags %q; the best is %s", i.Name, i.Parent, i.Tags, r.BestIterationID)
		}
	}
	p.stop()
}

func TestIrisWithSignIn(t *testing.T) {
	p := startServer(t, t.TempDir(), []string{"SERVICE_ENABLE_AUTH=true", "SERVICE_JWT_SECRET=" + strings.Repeat("k", 32),
		"SERVICE_ADMIN_PASSWORD=" + adminPassword})
	_, token := p.signIn("default", adminPassword)
	r := runIris(t, p, "--token", token, "--epochs", "10")
	w := dial(t, p)
	w.Token = token
	r.verify(t, w)
	p.stop()
}

func TestIrisBehindABasePath(t *testing.T) {
	p := startServer(t, t.TempDir(), []string{"SERVICE_BASE_PATH=/lab/tracker"})
	r := runIris(t, p, "--epochs", "10")
	r.verify(t, dial(t, p))
	p.stop()
}

// With a far too large learning rate, the loss becomes NaN. The child has the status FAILED and all
// of its points, and the sweep continues.
func TestIrisDiverges(t *testing.T) {
	p := startServer(t, t.TempDir(), nil)
	r := runIris(t, p, "--rates", "0.1,1e9")
	r.verify(t, dial(t, p))
	status, _, notFinite := r.counts()
	if len(r.Iterations) != 3 || status["SUCCEEDED"] != 2 || status["FAILED"] != 1 || notFinite == 0 {
		t.Errorf("%d iterations, %v, %d points are not finite", len(r.Iterations), status, notFinite)
	}
	p.stop()
}
