package server_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// point creates one metric and returns its id.
func (a api) point(iteration, body string) string {
	a.t.Helper()
	return a.do("POST", "/metric/iteration/"+iteration, body).id()
}

// batch creates many metrics and returns their ids.
func (a api) batch(iteration, body string) []string {
	a.t.Helper()
	return a.do("POST", "/metric/iteration/"+iteration+"/batch", body).wants(201).ids()
}

func (a api) wantStep(id string, step int) {
	a.t.Helper()
	a.get("/metric/" + id).has(fmt.Sprintf(`{"step":%d}`, step))
}

func TestMetricRule1StepIsHighestPlusOne(t *testing.T) {
	a := start(t)
	i := a.running()
	next := func(key string, want int) string {
		t.Helper()
		id := a.point(i, fmt.Sprintf(`{"key":%q,"value":1}`, key))
		a.wantStep(id, want)
		return id
	}
	next("loss", 0) // the first automatic step
	next("loss", 1)
	a.point(i, `{"key":"loss","value":1,"step":10}`)
	next("loss", 11)
	a.point(i, `{"key":"loss","value":1,"step":5}`) // not the highest step
	top := next("loss", 12)
	next("acc", 0) // another series
	a.point(i, `{"key":"below","value":1,"step":-7}`)
	next("below", -6)

	// Deleted and moved points do not count for the highest step.
	a.do("DELETE", "/metric/"+top, "").wants(204)
	top = next("loss", 12)
	a.do("PATCH", "/metric/"+top, `{"step":100}`).wants(204)
	top = next("loss", 101)
	a.do("PATCH", "/metric/"+top, `{"key":"moved"}`).wants(204)
	next("moved", 102)
	next("loss", 101)
	other := a.running()
	a.wantStep(a.point(other, `{"key":"loss","value":1}`), 0) // another iteration
	a.reopen()
	next("loss", 102)
	// A series whose points have all been deleted starts again at step 0.
	only := next("single", 0)
	a.do("DELETE", "/metric/"+only, "").wants(204)
	next("single", 0)
}

func TestMetricRule1NoStepAfterTheLargest(t *testing.T) {
	a := start(t)
	i := a.running()
	a.point(i, fmt.Sprintf(`{"key":"loss","value":1,"step":%d}`, math.MaxInt64-1))
	a.wantStep(a.point(i, `{"key":"loss","value":1}`), math.MaxInt64)
	a.unchanged(func() {
		a.do("POST", "/metric/iteration/"+i, `{"key":"loss","value":1}`).fails(422, "INVALID_PAYLOAD", "step")
	})
	a.wantStep(a.point(i, `{"key":"loss","value":1,"step":0}`), 0)
	a.wantStep(a.point(i, fmt.Sprintf(`{"key":"low","value":1,"step":%d}`, math.MinInt64)), math.MinInt64)
	a.wantStep(a.point(i, `{"key":"low","value":1}`), math.MinInt64+1)

	// A batch stops at the same point at which single creates would fail.
	got := a.do("POST", "/metric/iteration/"+i+"/batch", `{"metrics":{"acc":1,"loss":1,"f1":1}}`).
		fails(422, "INVALID_PAYLOAD", "step")
	if ids := got.ids(); len(ids) != 1 {
		t.Errorf("%v were written, want one", ids)
	}
	a.get("/metric/iteration/" + i + "?key=acc").has(`{"total":1}`)
	a.get("/metric/iteration/" + i + "?key=f1").has(`{"total":0}`)
}

func TestMetricRule2RecordedAtIsTheTimeOfTheWrite(t *testing.T) {
	a := start(t)
	i := a.running()
	a.clock.move(90 * time.Minute)
	a.get("/metric/" + a.point(i, `{"key":"loss","value":1}`)).has(`{"recorded_at":"2026-11-21T11:00:00.123Z"}`)
	a.clock.move(time.Millisecond)
	a.get("/metric/" + a.point(i, `{"key":"loss","value":1,"recorded_at":null}`)).has(`{"recorded_at":"2026-11-21T11:00:00.124Z"}`)
	a.get("/metric/" + a.batch(i, `{"metrics":{"loss":1}}`)[0]).has(`{"recorded_at":"2026-11-21T11:00:00.124Z"}`)
	a.get("/metric/" + a.point(i, `{"key":"loss","value":1,"recorded_at":"2020-01-01T00:00:00Z"}`)).has(`{"recorded_at":"2020-01-01T00:00:00.000Z"}`)
}

func TestMetricRule3BatchSharesRecordedAt(t *testing.T) {
	a := start(t)
	for body, want := range map[string]string{
		`{"metrics":{"a":1,"b":2,"c":3}}`:                                       nowText,
		`{"metrics":{"a":1,"b":2},"recorded_at":"2020-01-01T00:00:00.5+01:00"}`: "2019-12-31T23:00:00.500Z",
	} {
		for _, id := range a.batch(a.running(), body) {
			a.get("/metric/" + id).has(fmt.Sprintf(`{"recorded_at":%q}`, want))
		}
	}
}

func TestMetricRule4BatchKeysCountForThemselves(t *testing.T) {
	a := start(t)
	i := a.running()
	a.point(i, `{"key":"loss","value":1,"step":41}`)
	a.point(i, `{"key":"acc","value":1}`)
	ids := a.batch(i, `{"metrics":{"loss":1,"acc":2,"new":3}}`)
	for n, step := range []int{42, 1, 0} {
		a.wantStep(ids[n], step)
	}
	ids = a.batch(i, `{"metrics":[{"key":"loss","value":1},{"key":"new","value":1},{"key":"loss","value":2}],"step":null}`)
	for n, step := range []int{43, 1, 44} {
		a.wantStep(ids[n], step)
	}
}

func TestMetricRule5BatchWithStepUsesIt(t *testing.T) {
	a := start(t)
	i := a.running()
	a.point(i, `{"key":"loss","value":1,"step":41}`)
	for _, step := range []int{7, 0, -3, 41, math.MaxInt64, math.MinInt64} {
		for _, id := range a.batch(i, fmt.Sprintf(`{"metrics":{"loss":1,"acc":2,"new":3},"step":%d}`, step)) {
			a.wantStep(id, step)
		}
	}
}

func TestMetricRule6BatchStopsAtTheFirstFailure(t *testing.T) {
	a := start(t)
	for _, tt := range []struct {
		name, metrics string
		written       []string
	}{
		{"empty key in the middle", `{"a":1,"b":2,"":3,"d":4}`, []string{"a", "b"}},
		{"empty key first", `{"":3,"d":4}`, nil},
		{"empty key last", `{"a":1,"":3}`, []string{"a"}},
		{"key that is too long", `[{"key":"a","value":1},{"key":"` + strings.Repeat("k", 251) + `","value":2},{"key":"c","value":1}]`, []string{"a"}},
		{"key that can't be printed", `[{"key":"a","value":1},{"key":"\u0000","value":2},{"key":"","value":1}]`, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := a.on(t)
			i := a.running()
			got := a.do("POST", "/metric/iteration/"+i+"/batch", `{"metrics":`+tt.metrics+`}`).
				fails(422, "INVALID_PAYLOAD", "key")
			ids := got.ids()
			if len(ids) != len(tt.written) {
				t.Fatalf("%v were written, want %v", ids, tt.written)
			}
			if len(ids) == 0 && !strings.Contains(got.body, `"ids":[]`) {
				t.Errorf("%s does not say that nothing was written", got.body)
			}
			for n, key := range tt.written {
				a.get("/metric/" + ids[n]).has(fmt.Sprintf(`{"key":%q,"step":0}`, key))
			}
			a.get("/metric/iteration/" + i).has(fmt.Sprintf(`{"total":%d}`, len(tt.written)))
		})
	}
}

// A batch has the same outcome as the single requests that it replaces.
func TestMetricRule6BatchReplacesSingleCreates(t *testing.T) {
	a := start(t)
	single, batch := a.running(), a.running()
	for range 3 {
		a.point(single, `{"key":"loss","value":0.5}`)
		a.point(single, `{"key":"acc","value":"NaN"}`)
		a.batch(batch, `{"metrics":{"loss":0.5,"acc":"NaN"}}`)
	}
	want := `{"data":[{"key":"loss","step":0,"value":0.5},{"key":"acc","step":0,"value":"NaN"},{"key":"loss","step":1},
		{"key":"acc","step":1},{"key":"loss","step":2},{"key":"acc","step":2}],"total":6}`
	a.get("/metric/iteration/" + single).has(want)
	a.get("/metric/iteration/" + batch).has(want)
}

func TestBatchOfAnotherShapeIsRefusedWhole(t *testing.T) {
	a := start(t)
	path := "/metric/iteration/" + a.running() + "/batch"
	a.unchanged(func() {
		for body, field := range map[string]string{
			`{}`:                                           "metrics",
			`{"metrics":null}`:                             "metrics",
			`{"metrics":"loss"}`:                           "metrics",
			`{"loss":0.5}`:                                 "loss",
			`{"metrics":{"a":1,"b":"x"}}`:                  "metrics.b",
			`{"metrics":{"a":1,"b":null}}`:                 "metrics.b",
			`{"metrics":{"a":1,"a":2}}`:                    "metrics.a",
			`{"metrics":[1]}`:                              "metrics.0",
			`{"metrics":[{"key":"a"}]}`:                    "metrics",
			`{"metrics":[{"value":1}]}`:                    "metrics",
			`{"metrics":{"a":1},"step":"x"}`:               "step",
			`{"metrics":{"a":1},"step":1.5}`:               "step",
			`{"metrics":{"a":1},"recorded_at":"x"}`:        "recorded_at",
			`{"metrics":[{"key":"a","value":1,"step":3}]}`: "metrics.0.step",
		} {
			got := a.do("POST", path, body).fails(422, "INVALID_PAYLOAD", field)
			if strings.Contains(got.body, `"ids"`) {
				t.Errorf("%s: %s speaks of what was written", body, got.body)
			}
		}
	})
}

func TestMetricIDStaysValid(t *testing.T) {
	a := start(t)
	i := a.running()
	neighbour := a.point(i, `{"key":"loss","value":1}`)
	id := a.point(i, `{"key":"loss","value":2}`)
	for n, tt := range []struct{ body, key, step string }{
		{`{"step":9}`, "loss", "9"},
		{`{"key":"acc"}`, "acc", "9"},
		{`{"key":"f1","step":-4}`, "f1", "-4"},
		{`{"step":0}`, "f1", "0"},
		{`{"key":"loss"}`, "loss", "0"}, // the step of another point, which has the same key
		{`{"step":1}`, "loss", "1"},     // its present key and a new step
		{`{"key":"acc","step":1}`, "acc", "1"},
		{`{"key":"loss"}`, "loss", "1"}, // back to an earlier key and step
		{`{"step":9223372036854775807}`, "loss", "9223372036854775807"},
	} {
		a.do("PATCH", "/metric/"+id, tt.body).wants(204)
		if n == 3 {
			a.reopen()
		}
		want := fmt.Sprintf(`{"id":%q,"key":%q,"step":%s,"value":2}`, id, tt.key, tt.step)
		a.get("/metric/" + id).has(want)
		a.get("/metric/" + neighbour).has(`{"key":"loss","step":0,"value":1}`)
		a.get("/metric/iteration/" + i).has(`{"total":2}`)
		if listed := a.get("/metric/iteration/" + i + "?key=" + tt.key).ids(); !slices.Contains(listed, id) {
			t.Errorf("%s: the series has %v, but not %s", tt.body, listed, id)
		}
	}
	// A new point at an earlier place of the moved point gets a new id.
	again := a.point(i, `{"key":"loss","value":3,"step":1}`)
	if again == id {
		t.Errorf("two points have the id %s", id)
	}
	a.do("PATCH", "/metric/"+id, `{"step":1}`).wants(204)
	a.get("/metric/" + again).has(`{"value":3,"step":1}`)
	a.do("DELETE", "/metric/"+id, "").wants(204)
	a.get("/metric/"+id).fails(404, "NOT_FOUND", "")
	a.get("/metric/" + again).has(`{"value":3}`)
}
