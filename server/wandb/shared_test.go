package wandb_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tracker/store/console"
	"tracker/store/domain"
)

// asWriter marks a request of one of several clients that write to a run.
func asWriter(client string) opt {
	return func(r *http.Request) {
		r.Header.Set("X-WANDB-USE-ASYNC-FILESTREAM", "true")
		r.Header.Set("X-WANDB-CLIENT-ID", client)
		r.Header.Set("X-WANDB-ASYNC-CLIENT-ID", client)
	}
}

const upsertShared = `mutation ($c: JSONString, $h: String, $p: String) { upsertBucket(input: {modelName: "p", name: "r", config: $c, host: $h, jobProgram: $p}) { inserted bucket { config } } }`

// sharedConfig returns variables with the configuration of a client in shared mode.
func sharedConfig(members string) map[string]any {
	if members != "" {
		members += ","
	}
	return map[string]any{"c": `{` + members + `"_wandb":{"value":{"t":{"3":[14,67,69],"5":"0.31.0"}}}}`}
}

// part returns a stream part. Each of its arguments is a file name, an offset and lines.
func part(t *testing.T, more string, files ...any) string {
	t.Helper()
	all := map[string]any{}
	for i := 0; i < len(files); i += 3 {
		b, err := json.Marshal(files[i+2])
		if err != nil {
			t.Fatal(err)
		}
		all[files[i].(string)] = json.RawMessage(fmt.Sprintf(`{"offset":%d,"content":%s}`, files[i+1], b))
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return `{"files":` + string(b) + more + `}`
}

func (b bed) state(project, name string) string {
	b.Helper()
	it, err := b.db.Runs.Iteration(b.Context(), domain.System, b.id(project, name))
	b.must(err)
	return strings.TrimSpace(string(it.Status) + " " + it.ErrorMessage)
}

func (b bed) printed(project, name string) []string {
	b.Helper()
	all, err := b.db.Runs.Console(b.Context(), domain.System, b.id(project, name), console.Query{From: new(int64(0)), Limit: 1000})
	b.must(err)
	lines := []string{}
	for _, l := range all.Lines {
		lines = append(lines, l.Text)
	}
	return lines
}

// Rows of several writers get the steps of the run in the order in which they arrive, whatever step
// the client has counted. A part that is sent again adds nothing.
func TestRowsOfSeveralWriters(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	for _, w := range []string{"a", "b"} {
		b.query(upsertShared, sharedConfig(""), asWriter(w)).wants(200)
	}
	send := func(w string, offset int, rows ...string) {
		t.Helper()
		b.stream("p", "r", part(t, "", "wandb-history.jsonl", offset, rows), asWriter(w)).wants(200)
	}
	for range 2 {
		send("a", 0, `{"_step":0,"loss":1,"_timestamp":1}`, `{"_step":1,"loss":2,"_timestamp":2}`)
	}
	send("b", 0, `{"_step":0,"loss":1,"_timestamp":1}`, `{"_step":1,"note":"text"}`) // equal to a row of a
	send("a", 2, `{"_step":2,"loss":3}`)
	send("b", 0, `{"_step":0,"loss":1,"_timestamp":1}`, `{"_step":1,"note":"text"}`)
	send("b", 1, `{"_step":1,"note":"text"}`, `nonsense`, `{"_step":2,"acc":5}`)
	send("b", 2, `nonsense`, `{"_step":2,"acc":5}`)
	if got, want := b.points("p", "r"), "acc 5 5, loss 0 1, loss 1 2, loss 2 1, loss 4 3"; got != want {
		t.Errorf("points %s, want %s", got, want)
	}
	b.query(`{ project(name: "p") { run(name: "r") { historyLineCount history(minStep: 3, maxStep: 4) } } }`, nil).has(`\"note\":\"text\"`)

	// wandb sync sends the rows of a writer without its id, and with other steps.
	for range 2 {
		b.query(upsertShared, sharedConfig("")).wants(200)
		b.history("p", "r", 0, `{"loss":1,"_timestamp":1,"_step":6}`, `{"_timestamp":2,"_step":7,"loss":2}`, `{"_step":8,"loss":9}`).wants(200)
	}
	if got, want := b.points("p", "r"), "acc 5 5, loss 0 1, loss 1 2, loss 2 1, loss 4 3, loss 6 9"; got != want {
		t.Errorf("points after a sync %s, want %s", got, want)
	}
}

// A part that is too large for one batch is applied once, even if it is sent again.
func TestLargePartOfAWriter(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.query(upsertShared, sharedConfig(""), asWriter("a")).wants(200)
	row := func(i int) string {
		return fmt.Sprintf(`{"_step":%d,"loss":%d,"pad":[%s0]}`, i, i, strings.Repeat("0,", 9000))
	}
	rows := []string{row(0), row(1), row(2), row(3), row(4)}
	for range 2 {
		b.stream("p", "r", part(t, "", "wandb-history.jsonl", 0, rows), asWriter("a")).wants(200)
	}
	if got, want := b.points("p", "r"), "loss 0 0, loss 1 1, loss 2 2, loss 3 3, loss 4 4"; got != want {
		t.Errorf("points %s, want %s", got, want)
	}
	b.stream("p", "r", `{"files":{"wandb-history.jsonl":{"content":["{}"],"offset":5}}}`, asWriter("a")).wants(400)
}

// Each writer numbers its lines from 0. New lines are appended to the console, and a line that is
// sent again replaces the line that the writer has sent before.
func TestConsoleOfSeveralWriters(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.query(upsertShared, sharedConfig(""), asWriter("a")).wants(200)
	send := func(w string, offset int, lines ...string) {
		t.Helper()
		for range 2 {
			b.stream("p", "r", part(t, "", "output.log", offset, lines), asWriter(w)).wants(200)
		}
	}
	send("a", 0, "2026-11-26T11:08:54.200738 [a] one", "2026-11-26T11:08:54.200738 [a] 10%")
	send("b", 0, "ERROR 2026-11-26T11:08:54.200738 [b] one")
	send("a", 1, "2026-11-26T11:08:55.200738 [a] 20%", "2026-11-26T11:08:55.200738 [a] three")
	send("b", 1, "2026-11-26T11:08:55.200738 [b] two")
	send("a", 5, "2026-11-26T11:08:55.200738 [a] six")
	send("a", 3, "2026-11-26T11:08:55.200738 [a] four", "2026-11-26T11:08:55.200738 [a] five", "2026-11-26T11:08:55.200738 [a] SIX")
	want := []string{"[a] one", "[a] 20%", "[b] one", "[a] three", "[b] two", "[a] SIX", "[a] four", "[a] five"}
	if got := b.printed("p", "r"); !slices.Equal(got, want) {
		t.Errorf("console %q, want %q", got, want)
	}
	a := b.query(`{ project(name: "p") { run(name: "r") { logLines(first: 2) { edges { node { line label level } } } } } }`, nil)
	a.has(`{"label":"a","level":"info","line":"one"}`)

	b.stream("p", "r", part(t, "", "output.log", 0, []string{"[a] late"})).wants(200)
	if got := b.printed("p", "r"); !slices.Equal(got, want) {
		t.Errorf("console after a sync %q, want %q", got, want)
	}
}

// The settings and the summaries of all writers are merged.
func TestSettingsOfSeveralWriters(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	v := sharedConfig(`"lr":{"value":1},"a":{"value":{"x":1}}`)
	v["h"], v["p"] = "first", "train.py"
	b.query(upsertShared, v, asWriter("a")).wants(200)
	v = sharedConfig(`"lr":{"value":2},"b":{"value":{"y":1}}`)
	v["h"], v["p"] = "second", "worker.py"
	b.query(upsertShared, v, asWriter("b")).wants(200)
	b.query(`{ project(name: "p") { run(name: "r") { host jobProgram config } } }`, nil).
		is(`{"data":{"project":{"run":{"config":"{\"lr\":{\"value\":2},\"a\":{\"value\":{\"x\":1}},\"_wandb\":{\"value\":{\"t\":{\"3\":[14,67,69],\"5\":\"0.31.0\"}}},\"b\":{\"value\":{\"y\":1}}}","host":"first","jobProgram":"train.py"}}}}`)
	for i, w := range []string{"a", "b"} {
		b.stream("p", "r", part(t, "", "wandb-history.jsonl", 0, []string{fmt.Sprintf(`{"loss":%d,"_timestamp":105,"_runtime":5}`, i)},
			"wandb-events.jsonl", 0, []string{fmt.Sprintf(`{"system.cpu/l:%s":1,"_timestamp":107,"_runtime":%d}`, w, i)},
			"wandb-summary.json", 0, []string{fmt.Sprintf(`{"loss":%d,"only %s":"text"}`, i, w)}), asWriter(w)).wants(200)
	}
	b.stream("p", "r", `{"complete":true,"exitcode":0}`, asWriter("a")).wants(200)
	b.query(`{ project(name: "p") { run(name: "r") { summaryMetrics systemMetrics } } }`, nil).
		is(`{"data":{"project":{"run":{"summaryMetrics":"{\"loss\":1,\"only a\":\"text\",\"only b\":\"text\"}","systemMetrics":"{\"system.cpu/l:a\":1,\"_timestamp\":107,\"_runtime\":1,\"system.cpu/l:b\":1}"}}}}`)
	// The seconds of system metrics count from the start of the run, not of the writer.
	if got, want := b.points("p", "r"), "loss 0 0, loss 1 1, system/cpu/l:a 7 1, system/cpu/l:b 7 1"; got != want {
		t.Errorf("points %s, want %s", got, want)
	}
}

// A run ends when one of its writers announces the end. The others can continue to log, and do not reopen it.
func TestEndOfSeveralWriters(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	for _, w := range []string{"primary", "a", "b"} {
		b.query(upsertShared, sharedConfig(""), asWriter(w)).wants(200)
	}
	want := func(state string) {
		t.Helper()
		if got := b.state("p", "r"); got != state {
			t.Errorf("the run is %s, want %s", got, state)
		}
	}
	b.stream("p", "r", `{}`, asWriter("a")).wants(200)
	want("RUNNING")
	end := func(w string, code int) {
		t.Helper()
		b.stream("p", "r", fmt.Sprintf(`{"complete":true,"exitcode":%d}`, code), asWriter(w)).wants(200)
	}
	end("a", 0)
	want("SUCCEEDED")
	b.query(upsertShared, sharedConfig(""), asWriter("b")).wants(200) // b still runs
	b.stream("p", "r", part(t, "", "wandb-history.jsonl", 0, []string{`{"loss":1}`}), asWriter("b")).is(`{"exitcode":null,"limits":{},"stopped":false}`)
	want("SUCCEEDED")
	end("primary", 3)
	want("FAILED exit code 3")
	end("a", 0) // sent again after a lost response
	want("FAILED exit code 3")
	b.query(upsertShared, sharedConfig(""), asWriter("c")).wants(200) // a new writer continues the run
	want("RUNNING")
}

// A client that does not identify itself as a writer can't create a run in shared mode. Runs that use
// other client features are accepted, and so are changes to existing runs.
func TestWriterWithoutID(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	a := b.query(upsertShared, sharedConfig(""))
	if a.status != 400 || !strings.Contains(a.body, `leave out mode=\"shared\"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	b.query(`{ project(name: "p") { id } }`, nil).is(`{"data":{"project":null}}`)
	b.query(upsertShared, sharedConfig(""), asWriter(strings.Repeat("w", 101))).wants(400)

	for _, own := range []string{`{"t":{"3":[2,16,6,70]}}`, `{"t":{"3":"67"}}`, `{"t":67}`, `67`, `{}`} {
		b.query(upsertShared, map[string]any{"c": `{"_wandb":{"value":` + own + `}}`}).wants(200)
	}
	b.query(`mutation ($c: JSONString, $id: String) { upsertBucket(input: {id: $id, config: $c}) { inserted } }`,
		map[string]any{"c": sharedConfig("")["c"], "id": b.id("p", "r")}).wants(200)
	if a := b.query(upsertShared, sharedConfig("")); a.status != 400 {
		t.Errorf("a run with one writer: %d %s", a.status, a.body)
	}
}
