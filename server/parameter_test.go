package server_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestParameterHappyPath(t *testing.T) {
	a := start(t)
	i := a.running()
	created := a.do("POST", "/parameter/iteration/"+i, `{"key":"optimizer","value":"sgd"}`)
	id := created.id()
	created.located("/parameter/" + id).is(`{"id":"` + id + `"}`)
	want := func(key, value string) string {
		return fmt.Sprintf(`{"id":%q,"iteration_id":%q,"key":%q,"value":%q}`, id, i, key, value)
	}
	a.get("/parameter/" + id).is(want("optimizer", "sgd"))
	a.do("PATCH", "/parameter/"+id, `{"value":"adam"}`).wants(204)
	a.get("/parameter/" + id).is(want("optimizer", "adam"))
	a.do("PATCH", "/parameter/"+id, `{"key":"opt"}`).wants(204)
	a.get("/parameter/" + id).is(want("opt", "adam"))
	a.unchanged(func() {
		for _, same := range []string{`{}`, `{"key":null,"value":null}`, `{"key":"opt"}`, `{"key":"opt","value":"adam"}`} {
			a.do("PATCH", "/parameter/"+id, same).wants(204)
		}
	})
	a.do("PATCH", "/parameter/"+id, `{"value":""}`).wants(204)
	a.get("/parameter/" + id).is(want("opt", ""))
	a.do("DELETE", "/parameter/"+id, "").wants(204)
	a.get("/parameter/"+id).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/parameter/"+id, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/parameter/"+id, `{"value":"x"}`).fails(404, "NOT_FOUND", "")
}

func TestParameterNumericValueRoundTrips(t *testing.T) {
	a := start(t)
	i := a.running()
	for n, value := range []string{"0.10", "1e-3", "1E+03", "-0", "-0.0", "0", "100000000000000000000000000000000000001",
		"0.1000000000000000055511151231257827021181583404541015625", "1e400", "-1.50", "9007199254740993", "true", "false"} {
		t.Run(value, func(t *testing.T) {
			a := a.on(t)
			id := a.do("POST", "/parameter/iteration/"+i, fmt.Sprintf(`{"key":"p%d","value": %s }`, n, value), looseIf(value == "1e400")).id()
			a.get("/parameter/" + id).has(fmt.Sprintf(`{"value":%q}`, value))
			a.do("PATCH", "/parameter/"+id, `{"value":"text"}`).wants(204)
			a.do("PATCH", "/parameter/"+id, fmt.Sprintf(`{"value":%s}`, value), looseIf(value == "1e400")).wants(204)
			a.get("/parameter/" + id).has(fmt.Sprintf(`{"value":%q}`, value))
		})
	}
}

// looseIf returns loose if yes is true.
func looseIf(yes bool) opt {
	if yes {
		return loose
	}
	return func(*request) {}
}

func TestParameterTextComesBackAsItWas(t *testing.T) {
	t.Parallel()
	a := start(t)
	i := a.running()
	for n, value := range []string{"", " ", "0.10", "true", "null", "line\nbreak\ttab", "quote \" \\ /", "線 🙂 é",
		"\u0001\u007f", `{"nested": [1, 2.50]}`, strings.Repeat("x", 1<<20), strings.Repeat("\x01", 1<<20)} {
		id := a.do("POST", "/parameter/iteration/"+i, fmt.Sprintf(`{"key":"p%d","value":%s}`, n, quote(value))).id()
		a.get("/parameter/" + id).has(`{"value":` + quote(value) + `}`)
	}
	a.unchanged(func() {
		for _, tooLong := range []string{strings.Repeat("x", 1<<20+1), strings.Repeat("é", 1<<19) + "x"} {
			a.do("POST", "/parameter/iteration/"+i, fmt.Sprintf(`{"key":"long","value":%q}`, tooLong)).fails(422, "INVALID_PAYLOAD", "value")
		}
	})
}

func TestKeysAre1To250PrintableCharacters(t *testing.T) {
	a := start(t)
	i := a.running()
	for n, key := range []string{"a", " ", strings.Repeat("k", 250), strings.Repeat("線", 250), "train/loss (μ=0.9)", "a.b[0]", "🙂", "quote\"\\"} {
		a.do("POST", "/parameter/iteration/"+i, fmt.Sprintf(`{"key":%s,"value":1}`, quote(key))).wants(201)
		id := a.do("POST", "/metric/iteration/"+i, fmt.Sprintf(`{"key":%s,"value":%d}`, quote(key), n)).id()
		a.get("/metric/" + id).has(fmt.Sprintf(`{"key":%s,"value":%d}`, quote(key), n))
	}
	a.unchanged(func() {
		for _, key := range []string{"", strings.Repeat("k", 251), strings.Repeat("線", 251), "tab\t", "new\nline", "\u0000", "\u007f", "\u200b"} {
			a.do("POST", "/parameter/iteration/"+i, fmt.Sprintf(`{"key":%s,"value":1}`, quote(key))).fails(422, "INVALID_PAYLOAD", "key")
			a.do("POST", "/metric/iteration/"+i, fmt.Sprintf(`{"key":%s,"value":1}`, quote(key))).fails(422, "INVALID_PAYLOAD", "key")
		}
	})
}

func TestParameterKeyIsUniqueInTheIteration(t *testing.T) {
	a := start(t)
	i, other := a.running(), a.running()
	path := "/parameter/iteration/" + i
	first := a.do("POST", path, `{"key":"lr","value":0.1}`).id()
	second := a.do("POST", path, `{"key":"LR","value":0.2}`).id()
	a.do("POST", "/parameter/iteration/"+other, `{"key":"lr","value":0.1}`).wants(201)
	a.unchanged(func() {
		a.do("POST", path, `{"key":"lr","value":0.1}`).fails(409, "CONFLICT", "key")
		a.do("PATCH", "/parameter/"+second, `{"key":"lr","value":"lost"}`).fails(409, "CONFLICT", "key")
	})
	a.do("DELETE", "/parameter/"+first, "").wants(204)
	a.do("PATCH", "/parameter/"+second, `{"key":"lr"}`).wants(204)
}

func TestParametersAreListedByKey(t *testing.T) {
	a := start(t)
	i := a.running()
	for _, key := range []string{"b", "a", "B", "é", "10", "9"} {
		a.parameter(i, key, "v")
	}
	a.parameter(a.running(), "a", "elsewhere")
	var want []string
	for _, key := range []string{"10", "9", "B", "a", "b", "é"} {
		want = append(want, fmt.Sprintf(`{"id":"<any>","iteration_id":%q,"key":%q,"value":"v"}`, i, key))
	}
	a.get("/parameter/iteration/" + i).is(pageJSON(6, want...))
	// Fill more than one page of the default size.
	for n := range 60 {
		a.parameter(i, fmt.Sprintf("p%02d", n), "v")
	}
	if got := a.get("/parameter/iteration/" + i).has(`{"total":66,"limit":50}`); len(got.ids()) != 50 {
		t.Errorf("the first page has %d", len(got.ids()))
	}
}
