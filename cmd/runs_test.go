//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tracker/client/rest"
)

// lab is a server with the runs for these tests.
type lab struct {
	*process
	env  []string // environment of commands that read from the server
	runs []string // ids of the runs
}

// startLab starts a server with a project, two experiments and three runs. The last run is running.
func startLab(t *testing.T) *lab {
	t.Helper()
	p := startServer(t, t.TempDir(), nil)
	l := &lab{process: p, env: []string{"TRACKER_URL=" + p.API, "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}}
	project := l.create("/project", `{"name": "iris"}`)
	sweep := l.create("/experiment/project/"+project, `{"name": "sweep"}`)
	final := l.create("/experiment/project/"+project, `{"name": "final"}`)
	for i, experiment := range []string{sweep, sweep, final} {
		run := l.create("/iteration/experiment/"+experiment, fmt.Sprintf(`{"name": "run %d"}`, i))
		l.create("/parameter/iteration/"+run, fmt.Sprintf(`{"key": "lr", "value": %d.5}`, i))
		l.create("/parameter/iteration/"+run, `{"key": "same", "value": "yes"}`)
		for step, value := range []string{"1.5", `"NaN"`, fmt.Sprintf("0.%d", i+1)} {
			l.create("/metric/iteration/"+run, fmt.Sprintf(`{"key": "loss", "step": %d, "value": %s}`, step, value))
		}
		l.create("/metric/iteration/"+run, `{"key": "system/cpu_percent", "value": 5}`)
		if i < 2 {
			l.end(run, "SUCCEEDED")
		}
		l.runs = append(l.runs, run)
	}
	return l
}

func (l *lab) create(path, body string) string {
	l.t.Helper()
	status, answer := l.call("POST", path, "", body)
	if status != 201 {
		l.t.Fatalf("POST %s answers %d %v", path, status, answer)
	}
	id, _ := answer["id"].(string)
	return id
}

func (l *lab) end(run, status string) {
	l.t.Helper()
	if got, answer := l.call("PATCH", "/iteration/"+run, "", fmt.Sprintf(`{"status": %q}`, status)); got != 204 {
		l.t.Fatalf("ending %s answers %d %v", run, got, answer)
	}
}

// wants checks that text contains each of parts, and that no line is longer than 80 characters.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("a line has %d characters:\n%s", n, line)
		}
	}
}

// decode reads the JSON that a command has printed.
func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func TestRuns(t *testing.T) {
	l := startLab(t)
	t.Chdir(t.TempDir())
	text := runMain(t, l.env, "", "runs").must(t)
	wants(t, text, "iris/final\n", "iris/sweep\n", "run 0", "run 1", "run 2", "RUNNING", l.runs[1])
	if strings.Index(text, "run 1") > strings.Index(text, "run 0") {
		t.Errorf("the newest does not come first:\n%s", text)
	}
	text = runMain(t, l.env, "", "runs", "--project", "iris", "--experiment", "sweep", "--filter", "param.lr > 1",
		"--columns", "param.lr,metric.loss").must(t)
	wants(t, text, "LR", "LOSS", "1.5", "0.2", "run 1")
	if strings.Contains(text, "run 0") {
		t.Errorf("the filter lets all through:\n%s", text)
	}
	wants(t, runMain(t, l.env, "", "runs", "--limit", "1", "--experiment", "sweep").must(t), "(1 of 2 runs)")
	all := decode[[]listed](t, runMain(t, l.env, "", "runs", "--json").must(t))
	if len(all) != 2 || all[0].Experiment != "final" || len(all[1].Runs) != 2 || all[1].Runs[1].ID != l.runs[0] {
		t.Errorf("the runs are %+v", all)
	}
	runMain(t, l.env, "", "runs", "--project", "tulips").refused(t, 1, `no project "tulips"`)
	runMain(t, l.env, "", "runs", "--experiment", "other").refused(t, 1, `no experiment "other"`)
	runMain(t, l.env, "", "runs", "--filter", "lr >").refused(t, 1)
	wants(t, runMain(t, l.env, "", "runs", "--url", l.UI).must(t), "iris/final\n") // the dashboard's address is enough
	runMain(t, l.env, "", "runs", "--url", "http://127.0.0.1:1").refused(t, 1, "http://127.0.0.1:1 does not answer")
	l.create("/project", `{"name": "tulips"}`)
	runMain(t, l.env, "", "runs").refused(t, 2, "tulips, iris")
}

func TestShowAndCompare(t *testing.T) {
	l := startLab(t)
	t.Chdir(t.TempDir())
	text := runMain(t, l.env, "", "show", l.UI+"/iteration/"+l.runs[0]).must(t)
	wants(t, text, "run 0", "iris / sweep", "SUCCEEDED", "PARAMETER", "lr", "0.5", "METRIC", "loss", "0.1", "1.5")
	shown := decode[map[string]any](t, runMain(t, l.env, "", "show", l.runs[0], "--json").must(t))
	if shown["project"] != "iris" || shown["id"] != l.runs[0] {
		t.Errorf("the run is %v", shown)
	}
	bad := l.create("/iteration/experiment/"+shown["experiment_id"].(string), `{"name": "bad"}`)
	for step, value := range []string{"1.5", `"NaN"`} {
		l.create("/metric/iteration/"+bad, fmt.Sprintf(`{"key": "train/loss", "step": %d, "value": %s}`, step, value))
	}
	l.end(bad, "FAILED")
	text = runMain(t, l.env, "", "show", "bad").must(t)
	wants(t, text, "WHAT HAPPENED\nThe run failed without an error message.\ntrain/loss is NaN from step 1 on.\n")
	runMain(t, l.env, "", "show", "no-such-run").refused(t, 1, "no")
	text = runMain(t, l.env, "", append([]string{"compare"}, l.runs...)...).must(t)
	wants(t, text, "run 0", "run 1", "run 2", "0.5", "1.5", "2.5", "loss", "0.1", "0.3", "RUNNING")
	if strings.Contains(text, "same") || strings.Contains(text, "system/") {
		t.Errorf("what is the same is shown:\n%s", text)
	}
	text = runMain(t, l.env, "", "compare", l.runs[0], l.runs[1], "--all").must(t)
	wants(t, text, "same", "system/cpu_percent")
	if first, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(first, "lr × 3: loss +0.1, worse; one run each") {
		t.Errorf("the first line is %q", first)
	}
	compared := decode[[]compared](t, runMain(t, l.env, "", "compare", l.runs[0], l.runs[1], "--json").must(t))
	if len(compared) != 2 || compared[1].Params["lr"] != "1.5" || compared[1].Metrics["loss"] != 0.2 {
		t.Errorf("the comparison is %+v", compared)
	}
}

func TestLogFollowsARunToItsEnd(t *testing.T) {
	l := startLab(t)
	t.Chdir(t.TempDir())
	runMain(t, l.env, "", "log", l.runs[0]).refused(t, 1, "no output")
	done := make(chan result, 1)
	go func() { done <- runBinary(t, ".", l.env, "", "log", "--follow", l.runs[2]) }()
	l.create("/metric/iteration/"+l.runs[2], `{"key": "loss", "step": 9, "value": "Infinity"}`)
	l.end(l.runs[2], "SUCCEEDED")
	r := <-done
	wants(t, r.must(t), "step 9  loss=+Inf\n", "SUCCEEDED\n")
	if strings.Contains(r.stdout, "system/") {
		t.Errorf("the machine is followed:\n%s", r.stdout)
	}
	line := decode[news](t, runMain(t, l.env, "", "log", "-f", "--json", l.runs[0]).must(t))
	if line.Status != "SUCCEEDED" || line.Metrics["loss"].Value != 0.1 {
		t.Errorf("the line is %+v", line)
	}
	if status, _ := l.call("PATCH", "/iteration/"+l.runs[1], "", `{"status": "RUNNING"}`); status != 204 {
		t.Fatal("the run is not opened again")
	}
	l.end(l.runs[1], "KILLED")
	if r := runMain(t, l.env, "", "log", "-f", l.runs[1]); r.code != 1 || !strings.Contains(r.stderr, "KILLED") {
		t.Errorf("a run that was killed: %+v", r)
	}
}

func TestRunsAreFoundByName(t *testing.T) {
	l := startLab(t)
	t.Chdir(t.TempDir())
	d := decode[rest.Detail](t, runMain(t, l.env, "", "show", "run 1", "--json").must(t))
	if d.ID != l.runs[1] {
		t.Errorf("run 1 is %s, not %s", d.ID, l.runs[1])
	}
	odd := l.create("/iteration/experiment/"+d.ExperimentID, `{"name": "it's a/b\\c?"}`)
	if d := decode[rest.Detail](t, runMain(t, l.env, "", "show", `it's a/b\c?`, "--json").must(t)); d.ID != odd {
		t.Errorf("the run with an odd name is %s, not %s", d.ID, odd)
	}
	wants(t, runMain(t, l.env, "", "compare", "run 0", l.runs[1], l.API+"/iteration/"+l.runs[2]).must(t), "run 0", "run 1", "run 2")
	l.create("/iteration/experiment/"+d.ExperimentID, `{"name": "run 2"}`)
	runMain(t, l.env, "", "show", "run 2").refused(t, 1, `2 runs have the name "run 2"`, l.runs[2])
	runMain(t, l.env, "", "log", "nobody").refused(t, 1, `there is no run "nobody"`)
	runMain(t, l.env, "", "show", strings.ToUpper(l.runs[0][:35])+"0").refused(t, 1, "no such run")
}

func TestTokenAndAddressAreFound(t *testing.T) {
	home := t.TempDir()
	for _, file := range []struct{ path, text string }{
		{".config/tracker/credentials.json", `{"http://lab:9000": "kept"}`},
		{".tracker/server.json", `{"url": "http://127.0.0.1:9123", "pid": 1, "base": "", "host": "elsewhere"}`},
	} {
		path := filepath.Join(home, file.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, file.text)
	}
	a := &app{env: []string{"HOME=" + home}}
	if got := a.token("http://lab:9000"); got != "kept" {
		t.Errorf("the token is %q", got)
	}
	if got := a.token("http://other:9000"); got != "" {
		t.Errorf("the token of another server is %q", got)
	}
	unused := httptest.NewServer(nil)
	unused.Close()
	if got := a.ownServer(unused.URL); got != unused.URL {
		t.Errorf("the server of another machine is found: %s", got)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(nil)
	defer server.Close()
	writeFile(t, filepath.Join(home, ".tracker/server.json"), fmt.Sprintf(`{"url": %q, "host": %q}`, server.URL, host))
	a.env = append(a.env, "TRACKER_TOKEN=given")
	if got := a.ownServer(unused.URL); got != server.URL {
		t.Errorf("the server is %s", got)
	}
	if got := a.token("http://lab:9000"); got != "given" {
		t.Errorf("the token is %q", got)
	}
}

// TestAssistant calls the real program through the client of the SDK.
func TestAssistant(t *testing.T) {
	l := startLab(t)
	connect := func(args ...string) *mcp.ClientSession {
		t.Helper()
		c := command(t, t.TempDir(), l.env, append([]string{"mcp"}, args...)...)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
			Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		return session
	}
	call := func(s *mcp.ClientSession, name string, arguments map[string]any) (text string, failed bool) {
		t.Helper()
		answer, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, content := range answer.Content {
			if one, ok := content.(*mcp.TextContent); ok {
				text += one.Text
			}
		}
		return text, answer.IsError
	}
	names := func(s *mcp.ClientSession) (all []string) {
		t.Helper()
		answer, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range answer.Tools {
			all = append(all, tool.Name)
			if reads := !slices.Contains([]string{"tag_run", "stop_run", "write_notes"}, tool.Name); tool.Annotations.ReadOnlyHint != reads {
				t.Errorf("%s says that it only reads: %t", tool.Name, tool.Annotations.ReadOnlyHint)
			}
		}
		slices.Sort(all)
		return all
	}
	reading := connect()
	tools := []string{"compare_runs", "list_experiments", "list_projects", "list_runs", "read_curve", "read_output", "show_run"}
	if got := names(reading); !slices.Equal(got, tools) {
		t.Errorf("the tools are %v", got)
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		part      string
		failed    bool
	}{
		{"list_projects", nil, `"iris"`, false},
		{"list_experiments", map[string]any{"project": "iris"}, `"sweep"`, false},
		{"list_experiments", map[string]any{"project": "no"}, `no project "no"`, true},
		{"list_runs", map[string]any{"project": "iris", "filter": "metric.loss < 0.15", "columns": "metric.loss"}, l.runs[0], false},
		{"list_runs", map[string]any{"project": "iris", "filter": "metric.loss <"}, "character", true},
		{"show_run", map[string]any{"run": l.runs[0]}, `"run 0"`, false},
		{"compare_runs", map[string]any{"runs": l.runs}, `"2.5"`, false},
		{"read_curve", map[string]any{"run": l.runs[0], "keys": []string{"loss"}}, `"NaN"`, false},
		{"read_output", map[string]any{"run": l.runs[0]}, "no output", true},
	} {
		text, failed := call(reading, c.tool, c.arguments)
		if failed != c.failed || !strings.Contains(text, c.part) {
			t.Errorf("%s %v answers (failed: %t) %s", c.tool, c.arguments, failed, text)
		}
	}
	if _, err := reading.CallTool(t.Context(), &mcp.CallToolParams{Name: "tag_run",
		Arguments: map[string]any{"run": l.runs[0], "tag": "best"}}); err == nil {
		t.Error("a tool that writes can be called without --allow-write")
	}
	writing := connect("--allow-write")
	if got := names(writing); len(got) != len(tools)+3 {
		t.Errorf("the tools are %v", got)
	}
	for tool, arguments := range map[string]map[string]any{
		"tag_run":     {"run": l.runs[0], "tag": "best"},
		"write_notes": {"run": l.runs[0], "notes": "Take **this**."},
		"stop_run":    {"run": l.runs[2]},
	} {
		if text, failed := call(writing, tool, arguments); failed {
			t.Errorf("%s answers %s", tool, text)
		}
	}
	_, run := l.call("GET", "/iteration/"+l.runs[0], "", "")
	if run["notes"] != "Take **this**." || fmt.Sprint(run["tags"]) != "[best]" {
		t.Errorf("the run is %v", run)
	}
}

// TestStopARun requests a stop of a run. For an ended run, the request is rejected.
func TestStopARun(t *testing.T) {
	l := startLab(t)
	if text := runBinary(t, t.TempDir(), l.env, "", "stop", "run 2").must(t); text != "Asked the run run 2 to stop.\n" {
		t.Errorf("the command prints %q", text)
	}
	if _, run := l.call("GET", "/iteration/"+l.runs[2], "", ""); run["status"] != "RUNNING" || run["stop_requested"] == nil {
		t.Errorf("the run is %v", run)
	}
	if text := runBinary(t, t.TempDir(), l.env, "", "show", "run 2").must(t); !strings.Contains(text, "stop requested") {
		t.Errorf("the run is shown as %s", text)
	}
	if r := runBinary(t, t.TempDir(), l.env, "", "stop", "run 0"); r.code != 1 || !strings.Contains(r.stderr, "Already ended") {
		t.Errorf("it exits with %d: %s", r.code, r.stderr)
	}
}

// TestClientCommandsArePythons checks that these commands run the embedded Python client.
func TestClientCommandsArePythons(t *testing.T) {
	l := startLab(t)
	dir := t.TempDir()
	// Another module with the client's name must not be imported.
	writeFile(t, filepath.Join(dir, "tracker.py"), "raise SystemExit('not this one')")
	text := runBinary(t, dir, l.env, "", "status").must(t)
	if !strings.Contains(text, "server     "+l.API) || !strings.Contains(text, "tracker "+Version()) {
		t.Errorf("the status is %s", text)
	}
	if text := runBinary(t, dir, l.env, "", "sync").must(t); !strings.HasPrefix(text, "no unsent data") {
		t.Errorf("the spool: %s", text)
	}
	r := runBinary(t, dir, l.env, "", "run", "--project", "shell", "--", "sh", "-c", "echo hello; exit 4")
	if r.code != 4 || r.stdout != "hello\n" {
		t.Errorf("the program ended as %+v", r)
	}
	found := decode[[]listed](t, runBinary(t, dir, l.env, "", "runs", "--project", "shell", "--json").must(t))
	if len(found) != 1 || found[0].Runs[0].Status != "FAILED" {
		t.Fatalf("the runs are %+v", found)
	}
	if text := runBinary(t, dir, l.env, "", "log", found[0].Runs[0].ID).must(t); text != "hello\n" {
		t.Errorf("the output is %q", text)
	}
	if r := runBinary(t, dir, append(l.env[:2:2], "PATH="+t.TempDir()), "", "status"); r.code != 1 || !strings.Contains(r.stderr, "needs Python") {
		t.Errorf("without Python: %+v", r)
	}
}
