package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func metricJSON(id, iteration, key, value string, step int, at string) string {
	return fmt.Sprintf(`{"id":%q,"iteration_id":%q,"key":%q,"value":%s,"step":%d,"recorded_at":%q}`, id, iteration, key, value, step, at)
}

func TestMetricHappyPath(t *testing.T) {
	a := start(t)
	i := a.running()
	created := a.do("POST", "/metric/iteration/"+i, `{"key":"loss","value":0.5,"step":3,"recorded_at":"2026-11-20T10:00:00Z"}`)
	id := created.id()
	created.located("/metric/" + id).is(`{"id":"` + id + `"}`)
	a.get("/metric/" + id).is(metricJSON(id, i, "loss", "0.5", 3, "2026-11-20T10:00:00.000Z"))
	for _, change := range []struct{ body, key, value, at string }{
		{`{"value":0.25}`, "loss", "0.25", "2026-11-20T10:00:00.000Z"},
		{`{"recorded_at":"2026-11-20T12:00:00+01:00"}`, "loss", "0.25", "2026-11-20T11:00:00.000Z"},
		{`{"key":"val_loss"}`, "val_loss", "0.25", "2026-11-20T11:00:00.000Z"},
		{`{}`, "val_loss", "0.25", "2026-11-20T11:00:00.000Z"},
		{`{"key":null,"value":null,"step":null,"recorded_at":null}`, "val_loss", "0.25", "2026-11-20T11:00:00.000Z"},
	} {
		a.do("PATCH", "/metric/"+id, change.body).wants(204)
		a.get("/metric/" + id).is(metricJSON(id, i, change.key, change.value, 3, change.at))
	}
	a.do("DELETE", "/metric/"+id, "").wants(204)
	a.get("/metric/"+id).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/metric/"+id, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/metric/"+id, `{"value":1}`).fails(404, "NOT_FOUND", "")
	a.get("/metric/iteration/" + i).is(pageJSON(0))
}

func TestRewindMetric(t *testing.T) {
	a := start(t)
	i := a.running()
	for step := range 5 {
		a.do("POST", "/metric/iteration/"+i+"/batch", fmt.Sprintf(`{"metrics":{"loss":%d,"a/b":%[1]d},"step":%[1]d}`, step)).wants(201)
	}
	left := func(key string, n int) {
		t.Helper()
		a.get("/metric/iteration/" + i + "?key=" + key).has(fmt.Sprintf(`{"total":%d}`, n))
	}
	path := "/metric/iteration/" + i + "/rewind"
	a.do("POST", path, `{"key":"loss","from":3}`).wants(204)
	left("loss", 3)
	left("a%2Fb", 5)
	a.do("POST", path, `{"key":"loss","from":3}`).wants(204) // nothing is left to delete
	a.do("POST", path, `{"key":"nobody","from":0}`).wants(204)
	a.do("POST", path, `{"key":"a/b","from":-1}`).wants(204)
	left("a%2Fb", 0)
	for _, bad := range []struct{ body, field string }{
		{`{"from":1}`, "key"}, {`{"key":"loss"}`, "from"}, {`{"key":"loss","from":"x"}`, "from"}, {`{"key":"loss","from":1.5}`, "from"},
	} {
		a.do("POST", path, bad.body).fails(422, "INVALID_PAYLOAD", bad.field)
	}
	a.do("POST", "/metric/iteration/"+i, `{"key":"loss","value":9}`).wants(201)
	left("loss", 4)
	a.do("PATCH", "/iteration/"+i, `{"status":"SUCCEEDED"}`).wants(204)
	a.do("POST", path, `{"key":"loss","from":0}`).fails(422, "ITERATION_ENDED", "")
}

func TestBatchHappyPath(t *testing.T) {
	a := start(t)
	for name, metrics := range map[string]string{
		"object": `{"z":0.1,"a":0.9,"m":"NaN"}`,
		"list":   `[{"key":"z","value":0.1},{"key":"a","value":0.9},{"key":"m","value":"NaN"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			a := a.on(t)
			i := a.running()
			got := a.do("POST", "/metric/iteration/"+i+"/batch",
				`{"metrics":`+metrics+`,"step":7,"recorded_at":"2026-11-20T10:00:00Z"}`).wants(201)
			ids := got.ids()
			got.is(fmt.Sprintf(`{"ids":[%q,%q,%q]}`, ids[0], ids[1], ids[2]))
			const at = "2026-11-20T10:00:00.000Z"
			a.get("/metric/iteration/" + i).is(pageJSON(3,
				metricJSON(ids[0], i, "z", "0.1", 7, at),
				metricJSON(ids[1], i, "a", "0.9", 7, at),
				metricJSON(ids[2], i, "m", `"NaN"`, 7, at)))
		})
	}
	i := a.running()
	for _, empty := range []string{`{}`, `[]`} {
		a.do("POST", "/metric/iteration/"+i+"/batch", `{"metrics":`+empty+`}`).is(`{"ids":[]}`)
	}
	// A list may contain a key more than once.
	a.do("POST", "/metric/iteration/"+i+"/batch", `{"metrics":[{"key":"a","value":1},{"key":"a","value":2}]}`).wants(201)
	a.get("/metric/iteration/" + i).has(`{"data":[{"value":1,"step":0},{"value":2,"step":1}]}`)
}

// Points are sorted by step, and points of the same step by time of writing.
func TestMetricsAreListedByStepThenTimeOfWriting(t *testing.T) {
	a := start(t)
	i := a.running()
	path := "/metric/iteration/" + i
	for n, p := range []struct {
		key  string
		step int
	}{{"b", 5}, {"a", 1}, {"a", 5}, {"c", -3}, {"b", 1}, {"a", 0}, {"a", 5}} {
		// Later writes have earlier timestamps, which do not affect the order.
		at := a.clock.now().Add(-time.Duration(n) * time.Hour).Format(time.RFC3339)
		a.do("POST", path, fmt.Sprintf(`{"key":%q,"value":%d,"step":%d,"recorded_at":%q}`, p.key, n, p.step, at)).wants(201)
	}
	a.metric(a.running(), "a", 99) // in another iteration
	run(a, []row{
		{name: "all", method: "GET", path: path, status: 200, has: `{"total":7,"data":[
			{"value":3},{"value":5},{"value":1},{"value":4},{"value":0},{"value":2},{"value":6}]}`},
		{name: "one series", method: "GET", path: path + "?key=a", status: 200,
			has: `{"total":4,"data":[{"value":5},{"value":1},{"value":2},{"value":6}]}`},
		{name: "a page of a series", method: "GET", path: path + "?key=a&limit=2&offset=1", status: 200,
			has: `{"total":4,"limit":2,"offset":1,"data":[{"value":1},{"value":2}]}`},
		{name: "no such series", method: "GET", path: path + "?key=A", status: 200, is: pageJSON(0)},
		{name: "the empty key", method: "GET", path: path + "?key=", status: 200, is: pageJSON(0)},
		{name: "no such iteration", method: "GET", path: "/metric/iteration/" + nobody, status: 404, code: "NOT_FOUND"},
	})
}

func TestMetricListingHas50RowsByDefault(t *testing.T) {
	a := start(t)
	i := a.running()
	var entries []string
	for n := range 120 {
		entries = append(entries, fmt.Sprintf(`{"key":"k%d","value":%d}`, n%3, n))
	}
	a.do("POST", "/metric/iteration/"+i+"/batch", `{"metrics":[`+strings.Join(entries, ",")+`]}`).wants(201)
	got := a.get("/metric/iteration/" + i).has(`{"total":120,"limit":50,"offset":0}`)
	data := parse(t, got.body).(map[string]any)["data"].([]any)
	if len(data) != 50 {
		t.Fatalf("the first page has %d", len(data))
	}
	for n, d := range data {
		if step := fmt.Sprint(d.(map[string]any)["step"]); step != fmt.Sprint(n/3) {
			t.Errorf("row %d has step %s, want %d", n, step, n/3)
		}
	}
	rest := a.get("/metric/iteration/" + i + "?offset=50&limit=1000").ids()
	all := append(got.ids(), rest...)
	slices.Sort(all)
	if len(slices.Compact(all)) != 120 {
		t.Errorf("both pages together have %d", len(slices.Compact(all)))
	}
}

// Values that JSON can't represent as numbers are strings in requests and responses. SQLite does
// not keep the sign of zero.
func TestValuesRoundTrip(t *testing.T) {
	a := start(t)
	i := a.running()
	for n, v := range []struct{ in, out string }{
		{`"NaN"`, `"NaN"`}, {`"Infinity"`, `"Infinity"`}, {`"-Infinity"`, `"-Infinity"`},
		{`0`, `0`}, {`-0.0`, `0`}, {`1`, `1`}, {`0.1`, `0.1`}, {`1e3`, `1000`}, {`1E-7`, `1e-7`},
		{`5e-324`, `5e-324`}, {`1.7976931348623157e308`, `1.7976931348623157e+308`}, {`1e-400`, `0`},
		{`0.30000000000000004`, `0.30000000000000004`}, {`9007199254740993`, `9007199254740992`},
		{`123456789012345678901234567890`, `1.2345678901234568e+29`},
	} {
		t.Run(v.in, func(t *testing.T) {
			a := a.on(t)
			id := a.do("POST", "/metric/iteration/"+i, fmt.Sprintf(`{"key":"k","value":%s}`, v.in)).id()
			a.get("/metric/" + id).has(`{"value":` + v.out + `}`)
			batch := a.do("POST", "/metric/iteration/"+i+"/batch", fmt.Sprintf(`{"metrics":{"k":%s}}`, v.in)).wants(201).ids()
			a.get("/metric/" + batch[0]).has(`{"value":` + v.out + `}`)
			a.do("PATCH", "/metric/"+id, `{"value":42}`).wants(204)
			a.do("PATCH", "/metric/"+id, fmt.Sprintf(`{"value":%s}`, v.in)).wants(204)
			a.get("/metric/" + id).has(fmt.Sprintf(`{"value":%s,"step":%d}`, v.out, 2*n))
			a.get("/metric/iteration/" + i).has(fmt.Sprintf(`{"total":%d}`, 2*n+2))
		})
	}
	a.unchanged(func() {
		for _, bad := range []string{`"nan"`, `"inf"`, `"+Infinity"`, `"1"`, `""`, `null`, `true`, `[1]`, `1e309`, `-1e309`} {
			a.do("POST", "/metric/iteration/"+i, `{"key":"k","value":`+bad+`}`).fails(422, "INVALID_PAYLOAD", "value")
		}
	})
}

func TestDatetimeForms(t *testing.T) {
	a := start(t)
	i := a.running()
	for in, out := range map[string]string{
		"2026-11-21T09:30:00Z":           "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00.5Z":         "2026-11-21T09:30:00.500Z",
		"2026-11-21T09:30:00.123999999Z": "2026-11-21T09:30:00.123Z",
		"2026-11-21T09:30:00":            "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00.25":         "2026-11-21T09:30:00.250Z",
		"2026-11-21T09:30:00+05:30":      "2026-11-21T04:00:00.000Z",
		"2026-11-21T09:30:00.001-08:00":  "2026-11-21T17:30:00.001Z",
		"2026-11-21t09:30:00z":           "2026-11-21T09:30:00.000Z",
		"2024-02-29T23:59:59Z":           "2024-02-29T23:59:59.000Z",
		"1969-12-31T23:59:59.999Z":       "1969-12-31T23:59:59.999Z",
		"0001-01-01T00:00:00Z":           "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":       "9999-12-31T23:59:59.999Z",
	} {
		id := a.do("POST", "/metric/iteration/"+i, fmt.Sprintf(`{"key":"k","value":1,"recorded_at":%q}`, in)).id()
		a.get("/metric/" + id).has(fmt.Sprintf(`{"recorded_at":%q}`, out))
		e := "/experiment/" + a.experiment(a.project(a.root))
		a.do("PATCH", e, fmt.Sprintf(`{"status":"STOPPED","end_date":%q}`, in)).wants(204)
		a.get(e).has(fmt.Sprintf(`{"end_date":%q}`, out))
	}
	a.unchanged(func() {
		for _, bad := range []string{"2026-11-21", "2026-11-21 09:30:00", "2026-11-21T09:30", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
			"2026-11-21T24:00:00Z", "2026-11-21T09:30:00,5Z", "2026-11-21T09:30:00+0530", "1795253400", "now", "", "2026-11-21T09:30:00Z ",
			"9999-12-31T23:59:59-01:00", "12026-01-01T00:00:00Z"} {
			a.do("POST", "/metric/iteration/"+i, fmt.Sprintf(`{"key":"k","value":1,"recorded_at":%q}`, bad)).fails(422, "INVALID_PAYLOAD", "recorded_at")
		}
		a.do("POST", "/metric/iteration/"+i, `{"key":"k","value":1,"recorded_at":1795253400}`).fails(422, "INVALID_PAYLOAD", "recorded_at")
	})
}
