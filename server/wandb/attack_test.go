package wandb_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/wandb"
)

const runsOf = `query ($f: JSONString, $o: String) { project(name: "p") { runs(filters: $f, order: $o) { edges { node { name } } } } }`

// The size of a filter is limited, because the filter is applied to every run of a project.
func TestFiltersAreBounded(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.query(`mutation { upsertBucket(input: {modelName: "p", name: "r", config: "{\"a\":{\"value\":{\"b.c\":\"xyz\"}}}"}) { inserted } }`, nil).wants(200)
	for filter, found := range map[string]bool{
		`{"config.a.value.b.c":"xyz"}`:                                             true,
		`{"config.a.value.b.c":{"$regex":"^x.{0,100}z$"}}`:                         true,
		`{"$or":[{"name":{"$in":["q","r"]}}` + many(500, `,{"name":"n%d"}`) + `]}`: true,
		`{"config.a.value.b.d":"xyz"}`:                                             false,
	} {
		a := b.query(runsOf, map[string]any{"f": filter}).wants(200)
		if got := strings.Contains(a.body, `"name":"r"`); got != found {
			t.Errorf("%.100s finds it: %v", filter, got)
		}
	}
	for name, c := range map[string]struct{ filter, order string }{
		"values":      {`{"name":{"$in":[0` + strings.Repeat(",0", 30_000) + `]}}`, ""},
		"bytes":       {`{"name":"` + strings.Repeat("x", 2<<20) + `"}`, ""},
		"a long name": {`{"config.` + strings.Repeat("x", 5000) + `":1}`, ""},
		"many dots":   {`{"config.a` + strings.Repeat(".a", 50) + `":1}`, ""},
		"repetitions": {`{"name":{"$regex":"(abcdefghij){1000}"}}`, ""},
		"a long one":  {`{"name":{"$regex":"` + strings.Repeat("x", 5000) + `"}}`, ""},
		"many":        {`{"$and":[{}` + strings.Repeat(`,{"name":{"$regex":"a{500}"}}`, 10) + `]}`, ""},
		"an order":    {"", "-config.a" + strings.Repeat(".a", 50)},
	} {
		a := b.query(runsOf, map[string]any{"f": c.filter, "o": c.order})
		if a.status != 400 || !strings.Contains(a.body, "up to") && !strings.Contains(a.body, "at most") && !strings.Contains(a.body, "too large") {
			t.Errorf("%s: %d %.300s", name, a.status, a.body)
		}
	}
	const files = `query ($p: String) { project(name: "p") { run(name: "r") { files(pattern: $p) { edges { node { name } } } } } }`
	b.query(files, map[string]any{"p": "%.txt"}).wants(200)
	b.query(files, map[string]any{"p": strings.Repeat("%", 100_000)}).wants(400)
	const sampled = `query ($s: [JSONString!]!) { project(name: "p") { run(name: "r") { sampledHistory(specs: $s) } } }`
	b.query(sampled, map[string]any{"s": []string{`{"keys":["x"]}`}}).wants(200)
	b.query(sampled, map[string]any{"s": []string{`{"keys":["x"` + strings.Repeat(`,"x"`, 30_000) + `]}`}}).wants(400)
}

// History rows can be selected by nested names and by names with dots.
func TestSampledHistoryByNames(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	b.history("p", "r", 0, `{"_step":1,"a":{"b":{"c":"x"}},"d.e":"y"}`, `{"_step":2,"a":{"b":1}}`).wants(200)
	b.query(`query ($s: [JSONString!]!) { project(name: "p") { run(name: "r") { sampledHistory(specs: $s) } } }`,
		map[string]any{"s": []string{`{"keys":["_step","a.b.c","d.e"]}`, `{"keys":["a.b"]}`, `{"keys":["a.c"]}`}}).
		is(`{"data":{"project":{"run":{"sampledHistory":[[{"_step":1,"a.b.c":"x","d.e":"y"}],[{"a.b":{"c":"x"}},{"a.b":1}],[]]}}}}`)
}

// The settings and the summary of a run are JSON inside a string of the request. The memory for
// their values is limited.
func TestSettingsAreBounded(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	numbers := func(n int) string { return `{"a":{"value":{"x":0` + many(n, `,"k%d":1`) + `}}}` }
	save := func(name string, input map[string]any) wandb.Record {
		t.Helper()
		input["modelName"], input["name"] = "p", name
		b.query(`mutation ($i: UpsertBucketInput!) { upsertBucket(input: $i) { inserted } }`, map[string]any{"i": input}).wants(200)
		r, err := b.db.Wandb.Record(t.Context(), domain.System, "p", name)
		b.must(err)
		return r
	}
	lost := func(r wandb.Record, part string) {
		t.Helper()
		if !strings.Contains(strings.Join(r.Lost, " "), part) {
			t.Errorf("what was lost is %q, and not %q", r.Lost, part)
		}
	}
	r := save("many", map[string]any{"config": numbers(25_000)})
	lost(r, "20000 values of the configuration became parameters")
	if l, err := b.db.Runs.Parameters(t.Context(), domain.System, r.ID, domain.FirstPage); err != nil || l.Total != 20_000 {
		t.Errorf("%d parameters, %v", l.Total, err)
	}
	r = save("too many", map[string]any{"config": numbers(250_000), "summaryMetrics": numbers(250_000)})
	lost(r, "configuration of more than")
	lost(r, "summary of more than")
	r = save("summary", map[string]any{"summaryMetrics": numbers(25_000)})
	lost(r, "20000 values of the summary became metrics")
	if n := len(r.Metrics); n != 20_000 {
		t.Errorf("%d metrics", n)
	}
	long := strings.Repeat("x", 1<<20)
	tags := make([]string, 3000)
	for i := range tags {
		tags[i] = fmt.Sprint("t", i)
	}
	r = save("long", map[string]any{"groupName": long, "jobType": long, "host": long, "jobProgram": long, "sweep": long, "tags": tags})
	for _, text := range []string{r.Group, r.JobType, r.Host, r.Program, r.Sweep} {
		if n := len(text); n == 0 || n > domain.MaxName {
			t.Errorf("a text has %d bytes", n)
		}
	}
	if len(r.Tags) != 1000 {
		t.Errorf("%d tags", len(r.Tags))
	}
	b.query(`mutation ($n: String) { upsertBucket(input: {modelName: "p", name: $n}) { inserted } }`, map[string]any{"n": long}).wants(400)
}

// The total size of the non-numeric data of a stream is limited over all its parts.
func TestRestIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	text := strings.Repeat("x", 6<<20)
	for i := range 4 {
		b.history("p", "r", i, fmt.Sprintf(`{"_step":1,"t%d":"%s"}`, i, text)).wants(200)
	}
	caption := strings.Repeat("c", 1<<20)
	for i := range 5 {
		b.history("p", "r", 4+i, fmt.Sprintf(`{"_step":%d,"i":{"_type":"image-file","path":"media/%d.png","caption":"%s"}}`, 2+i, i, caption),
			fmt.Sprintf(`{"_step":%d,"o":{"%d%s":1}}`, 2+i, i, caption)).wants(200)
	}
	r, err := b.db.Wandb.Record(t.Context(), domain.System, "p", "r")
	b.must(err)
	about, err := json.Marshal(r.About)
	b.must(err)
	if len(about) > 100_000 {
		t.Errorf("%d bytes are kept about the run", len(about))
	}
	if !strings.Contains(strings.Join(r.Lost, " "), "Values of a step") {
		t.Errorf("what was lost is %q", r.Lost)
	}
	rows, err := b.db.Wandb.History(t.Context(), domain.System, r.ID, historyAt(1))
	b.must(err)
	if len(rows) != 1 || len(rows[0].Members) != 2 {
		t.Errorf("%d rows", len(rows))
	}
}

// An agent can't report too many running runs.
func TestHeartbeatIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	a := b.query(`mutation { upsertSweep(input: {projectName: "p", config: "method: random\nparameters: {x: {min: 0, max: 1}}"}) { sweep { name } } }`, nil).wants(200)
	var out struct {
		Data struct {
			UpsertSweep struct{ Sweep struct{ Name string } }
		}
	}
	b.must(json.Unmarshal([]byte(a.body), &out))
	beat := func(states string) answer {
		return b.query(`mutation ($a: ID!, $s: JSONString) { agentHeartbeat(input: {id: $a, runState: $s}) { commands } }`,
			map[string]any{"a": out.Data.UpsertSweep.Sweep.Name + "-agent", "s": states})
	}
	beat(`{"r":true}`).wants(200)
	beat(`{"r":true` + many(1500, `,"r%d":true`) + `}`).wants(400)
	beat(`{"r":[0` + strings.Repeat(",0", 30_000) + `]}`).wants(400)
}

// historyAt returns a query for a single step of a history.
func historyAt(step scalar.Step) wandb.HistoryQuery {
	return wandb.HistoryQuery{From: step, To: step + 1, Limit: 10}
}
