package wandb_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tracker/server/wandb"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
	kept "tracker/store/wandb"
	"tracker/store/wandb/format"
)

// All fields that a query requests are counted, even if a short query requests them many times.
func TestQueriesAreBounded(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.query(`mutation ($c: JSONString) { upsertBucket(input: {modelName: "p", name: "r", config: $c}) { inserted } }`,
		map[string]any{"c": `{"a":{"value":"` + strings.Repeat("x", 8<<20) + `"}}`}).wants(200)
	fragments := func(n int) string {
		document := "{ viewer { ...F0 } }"
		for i := range n {
			document += fmt.Sprintf(" fragment F%d on User { ...F%d ...F%d }", i, i+1, i+1)
		}
		return document + fmt.Sprintf(" fragment F%d on User { id }", n)
	}
	aliases := func(n int, field string) string {
		document := "{"
		for i := range n {
			document += fmt.Sprintf(` p%d: project(name: "p") { run(name: "r") { %s } }`, i, field)
		}
		return document + " }"
	}
	again := strings.Repeat(" a: config", 9)
	b.query(fragments(30), nil).has(`"id"`) // each fragment is evaluated only once
	b.query(fragments(50), nil).wants(400)
	b.query(aliases(3, "config"), nil).wants(200)
	b.query(aliases(100, "name"), nil).wants(400) // each run is read with its large configuration
	b.query(aliases(1, again), nil).wants(200)    // a repeated field is read only once
	for name, document := range map[string]string{
		"aliases":    aliases(20, "config"),
		"same field": `{ project(name: "p") { run(name: "r") {` + many(12, " c%d: config") + ` } } }`,
	} {
		if a := b.query(document, nil); a.status != 400 || !strings.Contains(a.body, "request less at once") {
			t.Errorf("%s: %d %.300s", name, a.status, a.body)
		}
	}
	b.query(`{ viewer { id } }`, map[string]any{"x": make([]int, 300_000)}).wants(400)
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A stream part is written in batches. A part with too many lines or values is rejected or
// truncated.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	rows := make([]string, 3000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"_step":%d,"x":%d%s}`, i, i, strings.Repeat(`,"y":1`, 100))
	}
	b.history("p", "r", 0, rows...).wants(200)
	w, err := b.db.Wandb.Record(t.Context(), domain.System, "p", "r")
	if b.must(err); w.HistoryLines != int64(len(rows)) || w.LastStep != scalar.Step(len(rows)-1) {
		t.Errorf("the history has %d lines up to step %d", w.HistoryLines, w.LastStep)
	}
	points, err := b.db.Runs.Metrics(t.Context(), domain.System, b.id("p", "r"), runs.MetricQuery{Page: domain.Page{Limit: 1}})
	if b.must(err); points.Total != 2*len(rows) {
		t.Errorf("there are %d points, want %d", points.Total, 2*len(rows))
	}
	b.history("p", "r", 3000, `{"_step":3000,"x":1}`, `{"_step":3001,"l":[`+strings.Repeat("1,", 100_000)+`1]}`, `{"_step":3002,"x":1}`).wants(200)
	w, err = b.db.Wandb.Record(t.Context(), domain.System, "p", "r")
	if b.must(err); len(w.Lost) != 1 || w.LastStep != 3002 {
		t.Errorf("after a long line: %q, step %d", w.Lost, w.LastStep)
	}
	b.stream("p", "r", `{"files":{"output.log":{"offset":0,"content":[""`+strings.Repeat(`,""`, 1_100_000)+`]}}}`).wants(400)
	// Many rows add string values to the same step, and all of them are sent twice.
	texts := make([]string, 5000)
	for i := range texts {
		texts[i] = fmt.Sprintf(`{"_step":1,"t%d":"%d"}`, i, i)
	}
	for range 2 {
		b.history("p", "r", 0, texts...).wants(200)
	}
	b.query(`{ project(name: "p") { run(name: "r") { history(minStep: 1, maxStep: 2) } } }`, nil).has(`\"t4999\":\"4999\"`)
}

// The fields of a stream part may come in any order, and unknown fields are accepted. A truncated
// body is rejected. Its first rows are stored only once, even if it is sent again.
func TestStreamIsReadAsItArrives(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	b.stream("p", "r", `{"exitcode":3,"complete":true,"dropped":[{"x":1}],"files":{"output.log":{"content":["b",null,"d"],"offset":1,"more":{}},`+
		`"unknown":{"content":["x"]},"wandb-summary.json":null,"wandb-history.jsonl":{"content":["{\"_step\":4,\"x\":1}"],"offset":7}}}`).wants(200)
	w, err := b.db.Wandb.Record(t.Context(), domain.System, "p", "r")
	if b.must(err); w.LogLines != 4 || w.HistoryLines != 8 || w.LastStep != 4 || w.Status != domain.Failed || w.ErrorMessage != "exit code 3" {
		t.Errorf("%+v", w)
	}
	if got := b.points("p", "r"); got != "x 4 1" {
		t.Errorf("the points are %s", got)
	}
	b.run("p", "cut")
	var rows, want []string
	for i := range 400 {
		rows = append(rows, fmt.Sprintf(`{"_step":%d,"x":%d%s}`, i, i, strings.Repeat(`,"y":1`, 100)))
		want = append(want, fmt.Sprintf("x %d %d", i, i), fmt.Sprintf("y %d 1", i))
	}
	lines, err := json.Marshal(rows)
	b.must(err)
	whole := `{"files":{"wandb-history.jsonl":{"offset":0,"content":` + string(lines) + `}}`
	for _, body := range []string{whole, whole + `]`, whole + `,`, whole + `,"complete":1}`, whole + `}x`, `[]`, `"x"`, `{"files":[]}`,
		`{"files":{"output.log":{"content":[1]}}}`, `{"files":{"output.log":{"content":{}}}}`, `{"files":{"output.log":{"offset":"x"}}}`} {
		if a := b.stream("p", "cut", body); a.status != 400 || !strings.Contains(a.body, "message") {
			t.Errorf("%.30s…%.30s: %d %s", body, body[max(0, len(body)-20):], a.status, a.body)
		}
	}
	b.stream("p", "cut", whole+`}`).wants(200)
	slices.Sort(want)
	if got := b.points("p", "cut"); got != strings.Join(want, ", ") {
		t.Errorf("the points are %.300s", got)
	}
	b.stream("p", "cut", "{}", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }).wants(400)
}

// The body of a stream part is not read if the caller lacks the permission.
func TestStreamAsksForTheRightFirst(t *testing.T) {
	t.Parallel()
	b := start(t, true)
	_, err := b.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "ada", Password: password})
	b.must(err)
	ada, err := b.db.Users.UserByName(t.Context(), domain.System, "ada")
	b.must(err)
	adas, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, ada.ID, users.NewAPIKey{Name: "k"})
	b.must(err)
	admin, err := b.db.Users.DefaultUser(t.Context())
	b.must(err)
	roots, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, admin.ID, users.NewAPIKey{Name: "k"})
	b.must(err)
	b.run("p", "r", key(roots.Key))
	b.stream("p", "r", "nothing that could be read", key(roots.Key)).wants(400)
	b.stream("p", "r", "nothing that could be read", key(adas.Key)).wants(404) // ada does not find the project by its name
}

// A history of any length is sampled evenly.
func TestHistoryIsSampled(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	rows := make([]string, 2000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"_step":%d,"x":%d}`, i, i)
	}
	b.history("p", "r", 0, rows...).wants(200)
	for _, n := range []int{1, 10, 700, 1500, 2000, 5000} {
		found, err := b.db.Wandb.History(t.Context(), domain.System, b.id("p", "r"),
			kept.HistoryQuery{To: 10_000, Limit: kept.MaxRows, Samples: n})
		b.must(err)
		if len(found) < min(n, len(rows)) || len(found) > 2*n || found[0].Step != 0 || found[len(found)-1].Step < scalar.Step(len(rows)/2) {
			t.Errorf("of %d rows, %d for %d samples", len(rows), len(found), n)
		}
		even := found[min(1, len(found)-1)].Step - found[0].Step
		for i := 1; i < len(found); i++ {
			if found[i].Step-found[i-1].Step != even {
				t.Fatalf("%d samples: step %d follows %d", n, found[i].Step, found[i-1].Step)
			}
		}
	}
}

// The error for a manifest that is too large states a remedy.
func TestManifestIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	made := b.query(`mutation { createArtifact(input: {projectName: "p", runName: "r", artifactTypeName: "t", artifactCollectionName: "c", digest: "d"}) { artifact { id } } }`, nil).wants(200)
	_, id, _ := strings.Cut(made.body, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	b.send("PUT", "/artifacts/"+id+"/wandb_manifest.json", `{"contents":{`+many(480_000, `"%040d":{},`)+`"last":{}}}`).wants(200)
	a := b.query(`mutation { commitArtifact(input: {artifactID: "`+id+`"}) { artifact { id } } }`, nil)
	if a.status != 400 || !strings.Contains(a.body, "log them as several artifacts") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// FuzzManifest decodes manifests of artifacts. The memory of the entries is counted before it is
// allocated, and is proportional to the length of the manifest.
func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		`{"contents":{"a":{"digest":"d","size":1},"b":{"ref":"s3://b","extra":[{}]}},"version":1}`, `{"contents":{"a":{},"a":{"size":2}}}`,
		`{"contents":null}`, `{"contents":[]}`, `{"contents":{"a":{` + strings.Repeat(`"x":[`, 2000), `{"contents":{` + strings.Repeat(`"":{},`, 5000) + `"":{}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var counted int64
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := wandb.DecodeManifest(strings.NewReader(string(text)), func(n int64) error {
			counted += n
			return nil
		})
		runtime.ReadMemStats(&after)
		const perByte, fixed = 64, 4 << 20
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(text))*perByte+fixed {
			t.Errorf("%d bytes allocate %d", len(text), took)
		}
		if err != nil {
			return
		}
		var held int64
		for i, e := range all {
			held += int64(len(e.Name) + len(e.MD5) + len(e.Ref))
			if i > 0 && all[i-1].Name >= e.Name {
				t.Errorf("%q comes after %q", e.Name, all[i-1].Name)
			}
		}
		if held > counted {
			t.Errorf("%d bytes are held, and %d were counted", held, counted)
		}
	})
}

// FuzzStream decodes parts of streams. Each row is in exactly one batch, and no batch with more
// than one row has more values than the limit.
func FuzzStream(f *testing.F) {
	for _, body := range []string{
		`{"files":{"wandb-history.jsonl":{"offset":3,"content":["{\"_step\":1,\"a\":{\"b\":NaN}}","x","{\"_step\":2}"]}},"complete":true,"exitcode":1}`,
		`{"files":{"wandb-events.jsonl":{"content":["{\"system.cpu\":1}"]},"output.log":{"offset":-1,"content":["ERROR 2026-01-01T00:00:00.000000 x"]},"wandb-summary.json":{"content":["{}"]}}}`,
		`{"files":{"wandb-history.jsonl":{"content":["{` + strings.Repeat(`\"a\":1,`, 2000) + `\"b\":1}"` + strings.Repeat(`,"{}"`, 2000) + `]}}}`,
		`{"files":{"wandb-history.jsonl":{"content":["` + strings.Repeat(`{\"a\":`, 2000) + `"]}}}`, `{}`, `{"files":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, err := wandb.DecodeStream(body, 100)
		runtime.ReadMemStats(&after)
		// perByte is large because the joined name of nested objects is allocated once for each
		// number in them.
		const perByte, fixed = 4000, 4 << 20
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(body))*perByte+fixed {
			t.Errorf("%d bytes allocate %d", len(body), took)
		}
		if found.Largest > 100 {
			t.Errorf("a piece of several rows has %d values", found.Largest)
		}
		var whole struct {
			Files map[string]struct {
				Content []string `json:"content"`
			} `json:"files"`
		}
		if json.Unmarshal(body, &whole) != nil { // for example, because of a repeated name
			return
		}
		rows := 0
		for _, name := range []string{"wandb-history.jsonl", "wandb-events.jsonl"} {
			for _, line := range whole.Files[name].Content {
				if _, err := format.ParseRow(line); err == nil && json.Values([]byte(line)) <= 100_000 {
					rows++
				}
			}
		}
		if err == nil && found.Rows != rows {
			t.Errorf("%d rows are read of %d", found.Rows, rows)
		}
	})
}
