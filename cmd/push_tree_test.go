//go:build unix

package cmd

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// forest is a project whose records refer to each other, with its database in a folder.
type forest struct {
	t       *testing.T
	dir     string
	project string
	runs    []string
	parents map[string]string // parents of runs
}

// newForest fills a database with n runs in random trees, and with records that refer to these
// runs.
func newForest(t *testing.T, random *rand.Rand, n int) *forest {
	t.Helper()
	f := &forest{t: t, dir: t.TempDir(), parents: map[string]string{}}
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(f.dir, "tracker.db")})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	ctx := t.Context()
	project, err := db.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "forest"})
	must(err)
	f.project = project.ID
	experiment, err := db.Projects.CreateExperiment(ctx, domain.System, f.project, projects.NewExperiment{Name: "trees"})
	must(err)
	for i := range n {
		name := fmt.Sprintf("run %d", i)
		fields := runs.NewIteration{Name: &name}
		if i > 0 && random.IntN(4) > 0 {
			fields.ParentIterationID = &f.runs[random.IntN(i)]
		}
		run, err := db.Runs.CreateIteration(ctx, domain.System, experiment.ID, fields)
		must(err)
		f.runs = append(f.runs, run.ID)
		var samples []points.Sample
		for step := range int64(random.IntN(40)) {
			samples = append(samples, points.Sample{Key: "loss", Value: scalar.Value(random.Float64()), Step: (*scalar.Step)(&step)})
		}
		if len(samples) > 0 {
			must(db.Runs.CreateMetrics(ctx, domain.System, run.ID, samples))
		}
	}
	any := func() string { return f.runs[random.IntN(n)] }
	for range n / 10 { // some runs get a parent that was created later
		parent := f.runs[n-1-random.IntN(n/4)]
		// The store rejects a parent that is a descendant of the run.
		_ = db.Runs.LogIteration(ctx, domain.System, any(), runs.IterationLog{Parent: &parent})
	}
	for _, run := range f.runs {
		it, err := db.Runs.Iteration(ctx, domain.System, run)
		must(err)
		if it.ParentIterationID != nil {
			f.parents[run] = *it.ParentIterationID
		}
	}
	for i := range 8 {
		m, err := db.Models.CreateLoggedModel(ctx, domain.System, experiment.ID, registry.NewLoggedModel{Name: fmt.Sprint("net ", i), IterationID: any()})
		must(err)
		for range 3 {
			must(db.Runs.LogIteration(ctx, domain.System, any(), runs.IterationLog{
				Datasets:     []runs.DatasetUse{{Name: "mnist", Digest: "d1"}},
				Models:       []registry.LoggedModelUse{{ModelID: m.ID, Role: "input"}},
				ModelMetrics: []registry.LoggedModelMetric{{ModelID: m.ID, Key: "loss", Value: 0.5, Step: 3, RecordedAt: 7}},
			}))
		}
	}
	for i := range 30 {
		a, err := db.Collections.CreateVersion(ctx, domain.System, collections.NewVersion{IterationID: any(), Collection: "data", Type: "dataset",
			Digest: fmt.Sprint("digest ", i), ClientID: fmt.Sprint("client ", i), Metadata: "{}"})
		must(err)
		a, err = db.Collections.CommitVersion(ctx, domain.System, a.ID, nil)
		must(err)
		for range 4 {
			_, err := db.Collections.UseVersion(ctx, domain.System, a.ID, any())
			must(err)
		}
	}
	model, err := db.Models.CreateModel(ctx, domain.System, f.project, registry.NewModel{Name: "resnet"})
	must(err)
	for i := range 240 { // more records than in other archives
		fields := registry.NewModelVersion{IterationID: any()}
		if i%40 == 0 {
			got, err := db.Files.Receive(ctx, strings.NewReader(fmt.Sprint("weights ", i)), "")
			must(err)
			a, err := db.Files.CreateArtifact(ctx, domain.System, experiment.ID, files.NewArtifact{Name: fmt.Sprint("weights ", i), IterationID: fields.IterationID}, got)
			must(err)
			got.Discard()
			fields.ArtifactID = &a.ID
		}
		v, err := db.Models.CreateModelVersion(ctx, domain.System, model.ID, fields)
		must(err)
		if i == 3 || i == 230 {
			_, err := db.Models.SetStage(ctx, domain.System, v.ID, registry.Production)
			must(err)
			must(db.Models.AddAlias(ctx, domain.System, v.ID, "champion"))
		}
	}
	must(db.Close())
	return f
}

// sync runs push or pull and returns its result. Its exit code must be code.
func (f *forest) sync(code int, verb, url string) syncResult {
	f.t.Helper()
	flag := map[string]string{"push": "--to", "pull": "--from"}[verb]
	r := runBinary(f.t, f.dir, []string{"HOME=" + f.dir}, "", verb, "forest", flag, url, "--json")
	var result syncResult
	if err := json.Unmarshal([]byte(r.stdout), &result); err != nil || r.code != code {
		f.t.Fatalf("%s: %v, %+v", verb, err, r)
	}
	return result
}

// execIn executes a statement on the database in a folder.
func execIn(t *testing.T, dir, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "tracker.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Exec(statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s changes %d rows (%v)", statement, n, err)
	}
}

// told returns the content of the project as lines, read through the server's API.
func (f *forest) told(p *process) []string {
	f.t.Helper()
	var lines []string
	all := func(path string) (data []any) {
		for {
			status, answer := p.call("GET", fmt.Sprintf("%s?limit=100&offset=%d", path, len(data)), "", "")
			page, _ := answer["data"].([]any)
			if status != 200 {
				f.t.Fatalf("GET %s answers %d %v", path, status, answer)
			}
			data = append(data, page...)
			if len(page) == 0 || len(data) >= int(answer["total"].(float64)) {
				break
			}
		}
		for _, d := range data {
			delete(d.(map[string]any), "last_seen")
			text, err := json.Marshal(d)
			if err != nil {
				f.t.Fatal(err)
			}
			lines = append(lines, path+" "+string(text))
		}
		return data
	}
	all("/project/" + f.project + "/records")
	for _, e := range all("/experiment/project/" + f.project) {
		all("/iteration/experiment/" + e.(map[string]any)["id"].(string))
	}
	for _, m := range all("/model/project/" + f.project) {
		all("/modelversion/model/" + m.(map[string]any)["id"].(string))
	}
	return lines
}

// sameLines fails the test if two lists differ.
func sameLines(t *testing.T, what string, a, b []string) {
	t.Helper()
	if slices.Equal(a, b) {
		return
	}
	n := 0
	for i := range max(len(a), len(b)) {
		x, y := "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y && n < 5 {
			n++
			t.Errorf("%s: line %d differs:\n%.400s\n%.400s", what, i, x, y)
		}
	}
}

// After a push, the projects on both sides are equal, even if records refer to records in other
// archives and the command and the server are killed in between. A pull and another push then
// change nothing.
func TestPushTrees(t *testing.T) {
	inFullRuns(t)
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 18))
	f := newForest(t, random, 110)
	here := startServer(t, f.dir, nil)
	begin := f.told(here)
	if text := strings.Join(begin, "\n"); strings.Count(text, "parent_iteration_id\":\"") < 50 {
		t.Fatalf("the fixture has few parents: %.2000s", text)
	}
	dir := t.TempDir()
	lab := startServer(t, dir, nil)
	for range 6 {
		push := command(t, f.dir, []string{"HOME=" + f.dir}, "push", "forest", "--to", lab.API)
		if err := push.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second)))) // the pause until the random moment
		if random.IntN(2) == 0 {
			lab.kill()
			_ = push.Wait() // returns an error if the server was killed in between
			lab = startServer(t, dir, nil)
		} else {
			_ = push.Process.Kill() // returns an error if the process has ended
			_ = push.Wait()
		}
	}
	f.sync(0, "push", lab.API)
	sameLines(t, "the server", begin, f.told(lab))
	for _, verb := range []string{"push", "pull", "push"} {
		if r := f.sync(0, verb, lab.API); r.Sent+r.Newer != 0 {
			t.Errorf("%s again: %+v", verb, r)
		}
	}
	sameLines(t, "the source", begin, f.told(here))
	sameLines(t, "the server", begin, f.told(lab))

	other := t.TempDir() // a pull into a new database, which is killed once
	second := &forest{t: t, dir: other, project: f.project}
	for range 3 {
		pull := command(t, other, []string{"HOME=" + other, "SERVICE_ADMIN_PASSWORD=" + adminPassword}, "pull", "forest", "--from", lab.API)
		killAtAnyMoment(t, pull, random, 2*time.Second)
	}
	second.sync(0, "pull", lab.API)
	sameLines(t, "the pulled one", begin, f.told(startServer(t, other, nil)))
}

// A reference to a record that the other side lacks does not count as a change on either side.
func TestPushToServerThatLacksARecord(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 19))
	f := newForest(t, random, 30)
	here := startServer(t, f.dir, nil)
	dir := t.TempDir()
	lab := startServer(t, dir, nil)
	f.sync(0, "push", lab.API)

	// A parent is in the server's trash. One of its children has changed locally, another one on
	// the server.
	var parent string
	var children []string
	for _, parent = range slices.Sorted(maps.Values(f.parents)) {
		children = nil
		for _, run := range f.runs {
			if f.parents[run] == parent {
				children = append(children, run)
			}
		}
		status, _ := lab.call("GET", "/iteration/"+parent, "", "")
		if status == 200 && len(children) > 1 {
			break
		}
	}
	execIn(t, dir, `UPDATE model_version SET iteration_num = NULL, resource_num = NULL`) // model versions prevent the deletion of a run
	execIn(t, f.dir, `UPDATE model_version SET iteration_num = NULL, resource_num = NULL`)
	begin := f.told(here)
	if status, answer := lab.call("DELETE", "/iteration/"+parent, "", ""); status != 204 {
		t.Fatal(status, answer)
	}
	patch := func(p *process, run, body string) {
		t.Helper()
		if status, answer := p.call("PATCH", "/iteration/"+run, "", body); status != 204 {
			t.Fatal(status, answer)
		}
	}
	patch(here, children[0], `{"notes": "from here"}`)
	patch(lab, children[1], `{"notes": "from the lab"}`)
	for range 2 {
		if r := f.sync(3, "push", lab.API); len(r.Losses) == 0 || r.Newer != 1 || !strings.Contains(fmt.Sprint(r.Losses), "trash") {
			t.Errorf("push: %+v", r)
		}
	}
	if _, it := lab.call("GET", "/iteration/"+children[0], "", ""); it["notes"] != "from here" {
		t.Errorf("the notes did not arrive: %v", it)
	}
	if r := f.sync(0, "pull", lab.API); r.Newer != 0 || r.Runs != 1 {
		t.Errorf("pull: %+v", r)
	}
	for _, child := range children {
		if _, it := here.call("GET", "/iteration/"+child, "", ""); it["parent_iteration_id"] != parent {
			t.Errorf("the pull has taken the parent away: %v", it)
		}
	}
	patch(here, children[0], `{"notes": ""}`)
	patch(here, children[1], `{"notes": ""}`)
	f.sync(3, "push", lab.API)

	// The server's trash is emptied. The local side does not count the purged records as changes.
	if status, answer := lab.call("DELETE", "/trash", "", ""); status != 200 {
		t.Fatal(status, answer)
	}
	patch(here, children[0], `{"notes": "again"}`)
	f.sync(3, "push", lab.API)
	if _, it := lab.call("GET", "/iteration/"+children[0], "", ""); it["notes"] != "again" {
		t.Errorf("the notes did not arrive: %v", it)
	}
	patch(here, children[0], `{"notes": ""}`)
	f.sync(3, "push", lab.API)
	if r := f.sync(0, "pull", lab.API); r.Sent+r.Newer != 0 {
		t.Errorf("pull: %+v", r)
	}
	sameLines(t, "the source", begin, f.told(here))
}

// References that an earlier version of the program lost, although it recorded them as copied, are
// sent again.
func TestPushMendsLostReferences(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 20))
	f := newForest(t, random, 30)
	here := startServer(t, f.dir, nil)
	begin := f.told(here)
	dir := t.TempDir()
	lab := startServer(t, dir, nil)
	f.sync(0, "push", lab.API)
	for _, line := range begin {
		_, text, isRecord := strings.Cut(line, "/records ")
		var s struct{ Record, Fingerprint string }
		if !isRecord {
			continue
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		execIn(t, f.dir, `UPDATE source SET fingerprint = ? WHERE path = ? AND state = 'sync'`, s.Fingerprint, lab.API+" "+s.Record)
	}
	execIn(t, dir, `UPDATE iteration SET parent_num = NULL`)
	execIn(t, dir, `DELETE FROM artifact_use`)
	execIn(t, dir, `DELETE FROM logged_model_use`)
	execIn(t, dir, `UPDATE logged_model SET iteration_num = NULL`)
	execIn(t, dir, `UPDATE model_version SET iteration_num = NULL, resource_num = NULL`)
	if r := f.sync(0, "push", lab.API); r.Sent == 0 || r.Newer != 0 {
		t.Errorf("push: %+v", r)
	}
	sameLines(t, "the server", begin, f.told(lab))
	for _, verb := range []string{"pull", "push"} {
		if r := f.sync(0, verb, lab.API); r.Sent+r.Newer != 0 {
			t.Errorf("%s: %+v", verb, r)
		}
	}

	// If a run's parent was removed on the server, a pull removes it locally.
	child := slices.Sorted(maps.Keys(f.parents))[0]
	execIn(t, dir, `UPDATE iteration SET parent_num = NULL WHERE id = ?`, child)
	if r := f.sync(0, "push", lab.API); r.Sent != 0 || r.Newer != 1 {
		t.Errorf("push after a parent was removed there: %+v", r)
	}
	if r := f.sync(0, "pull", lab.API); r.Sent != 1 || r.Newer != 0 {
		t.Errorf("pull after a parent was removed there: %+v", r)
	}
	if _, it := here.call("GET", "/iteration/"+child, "", ""); it["parent_iteration_id"] != nil {
		t.Errorf("it still has the parent: %v", it)
	}
}
