package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"tracker/store/domain"
)

const (
	maxStep = "9223372036854775807"
	minStep = "-9223372036854775808"
)

// point returns the value and step of a point as the server formats them.
func (s *site) point(id string) (value string, step string) {
	s.t.Helper()
	var p struct{ Value, Step json.RawMessage }
	s.must(json.Unmarshal([]byte(s.get("/metric/"+id).wants(200).body), &p))
	return string(p.Value), string(p.Step)
}

// The returned value is exactly the float64 nearest to the number that was sent.
func TestMetricValuesAreExact(t *testing.T) {
	s := newSite(t)
	path := "/metric/iteration/" + s.iteration
	for _, sent := range []string{
		"0", "1", "-1", "0.1", "0.10", "1e-1", "-0.1", "0.30000000000000004", "3.141592653589793", "1e3", "1E3", "1e+3", "1e21", "1e22",
		"123456789012345678", "9007199254740991", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308", "5e-324", "-5e-324", "4.9406564584124654e-324",
		"2.2250738585072011e-308", "1e-400", "0.1000000000000000055511151231257827021181583404541015625",
		"1." + strings.Repeat("0", 500) + "1", strings.Repeat("9", 300), "1e-99999999999", "0e99999999999",
	} {
		want, err := strconv.ParseFloat(sent, 64)
		if err != nil {
			t.Fatal(err)
		}
		id := s.do("POST", path, `{"key":"v","value":`+sent+`}`).id()
		value, _ := s.point(id)
		if got, err := strconv.ParseFloat(value, 64); err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%.50s came back as %s, want %v", sent, value, want)
		}
	}
	// SQLite does not keep the sign of zero.
	for _, sent := range []string{"-0", "-0.0", "-1e-400"} {
		id := s.do("POST", path, `{"key":"v","value":`+sent+`}`).id()
		if value, _ := s.point(id); value != "0" && value != "-0" {
			t.Errorf("%s came back as %s", sent, value)
		}
	}
	for _, sent := range []string{`"NaN"`, `"Infinity"`, `"-Infinity"`} {
		id := s.do("POST", path, `{"key":"v","value":`+sent+`}`).id()
		if value, _ := s.point(id); value != sent {
			t.Errorf("%s came back as %s", sent, value)
		}
	}
}

func TestStepsOfEveryNotation(t *testing.T) {
	s := newSite(t)
	path := "/metric/iteration/" + s.iteration
	for sent, want := range map[string]string{
		"0": "0", "-0": "0", "-1": "-1", "3.0": "3", "-3.000": "-3", "1e3": "1000", "1.5e1": "15", "0e99999999999": "0", "30e-1": "3",
		"2147483648": "2147483648", "9007199254740993": "9007199254740993", "9007199254740991.0": "9007199254740991",
		maxStep: maxStep, minStep: minStep, "-9223372036854775807": "-9223372036854775807",
	} {
		id := s.do("POST", path, `{"key":"s`+sent+`","value":1,"step":`+sent+`}`).id()
		if _, step := s.point(id); step != want {
			t.Errorf("step %s came back as %s, want %s", sent, step, want)
		}
		s.do("PATCH", "/metric/"+s.metric, `{"step":`+sent+`}`).wants(204)
		if _, step := s.point(s.metric); step != want {
			t.Errorf("step %s of a PATCH came back as %s, want %s", sent, step, want)
		}
	}
}

// After the largest step, an automatic step is rejected; it does not wrap around.
func TestAutomaticStepAfterTheLargest(t *testing.T) {
	s := newSite(t)
	single := "/metric/iteration/" + s.iteration
	batch := single + "/batch"
	full := s.do("POST", single, `{"key":"full","value":1,"step":`+maxStep+`}`).id()
	refused := func() {
		t.Helper()
		message := s.refused("POST", single, `{"key":"full","value":2}`, 422, "INVALID_PAYLOAD", "step")
		if !strings.Contains(message, "largest") {
			t.Errorf("the message is %q", message)
		}
		s.refused("POST", single, `{"key":"full","value":"NaN"}`, 422, "INVALID_PAYLOAD", "step", key("k"))
		s.refused("POST", batch, `{"metrics":{"full":2}}`, 422, "INVALID_PAYLOAD", "step")
		s.refused("POST", batch, `{"metrics":{"full":2,"other":3}}`, 422, "INVALID_PAYLOAD", "step")
	}
	refused()
	// Neither a smaller step written later nor a restart makes automatic steps possible again.
	s.do("POST", single, `{"key":"full","value":3,"step":-5}`).id()
	refused()
	s.reopen()
	refused()

	// The entries before it in a batch are stored, each at the next step of its series.
	got := s.do("POST", batch, `{"metrics":[{"key":"a","value":1},{"key":"a","value":2},{"key":"full","value":2},{"key":"b","value":3}]}`)
	ids := got.fails(422, "INVALID_PAYLOAD", "step").ids()
	if len(ids) != 2 {
		t.Fatalf("%s: want two ids", got.body)
	}
	for i, id := range ids {
		if value, step := s.point(id); value != fmt.Sprint(i+1) || step != fmt.Sprint(i) {
			t.Errorf("entry %d is %s at %s", i, value, step)
		}
	}
	s.get(single + "?key=b").has(`{"total":0}`)
	s.get(single + "?key=full").has(`{"total":2}`)

	// The step before the largest is followed by the largest.
	s.do("POST", single, `{"key":"near","value":1,"step":9223372036854775806}`).id()
	if _, step := s.point(s.do("POST", single, `{"key":"near","value":2}`).id()); step != maxStep {
		t.Errorf("the next step is %s, want %s", step, maxStep)
	}
	s.refused("POST", single, `{"key":"near","value":3}`, 422, "INVALID_PAYLOAD", "step")
	// The smallest step is followed by the next one.
	s.do("POST", single, `{"key":"low","value":1,"step":`+minStep+`}`).id()
	if _, step := s.point(s.do("POST", single, `{"key":"low","value":2}`).id()); step != "-9223372036854775807" {
		t.Errorf("the next step is %s", step)
	}

	// Automatic steps work again after a PATCH moves the point away, and fail again after it is
	// moved back.
	s.do("PATCH", "/metric/"+full, `{"step":10}`).wants(204)
	last := s.do("POST", single, `{"key":"full","value":4}`).id()
	if _, step := s.point(last); step != "11" {
		t.Errorf("the next step is %s, want 11", step)
	}
	s.do("PATCH", "/metric/"+last, `{"step":`+maxStep+`}`).wants(204)
	refused()
	s.do("DELETE", "/metric/"+last, "").wants(204)
	if _, step := s.point(s.do("POST", single, `{"key":"full","value":4}`).id()); step != "11" {
		t.Errorf("the next step is %s, want 11", step)
	}
}

// A refused point does not change the statistics and counters of its series.
func TestRefusedPointsDoNotCount(t *testing.T) {
	s := newSite(t)
	path := "/metric/iteration/" + s.iteration
	for _, body := range []string{`{"key":"loss","value":1e400}`, `{"key":"loss","value":1,"step":9223372036854775808}`,
		`{"key":"loss","value":1,"step":1.5}`, `{"key":"loss","value":"nan"}`, `{"key":"loss","value":1,"recorded_at":"now"}`} {
		s.unchanged(body, func() { s.do("POST", path, body).wants(422) })
	}
	if _, step := s.point(s.do("POST", path, `{"key":"loss","value":1}`).id()); step != "1" {
		t.Errorf("the next step is %s, want 1", step)
	}
}

func TestParameterValuesAreKeptAsSent(t *testing.T) {
	s := newSite(t)
	path := "/parameter/iteration/" + s.iteration
	for i, sent := range []string{"0.10", "1e-3", "1E+03", "-0", "-0.0", "1e400", "-1e400", "0.1000000000000000055511151231257827",
		"9223372036854775808", "18446744073709551616", "true", "false", strings.Repeat("9", 1000), "1." + strings.Repeat("0", 1000)} {
		// loose, because the validator does not accept numbers beyond the range of a float64
		id := s.do("POST", path, fmt.Sprintf(`{"key":"k%d","value":%s}`, i, sent), loose).id()
		s.get("/parameter/" + id).has(`{"value":"` + sent + `"}`)
		s.do("PATCH", "/parameter/"+s.parameter, `{"value":`+sent+`}`, loose).wants(204)
		s.get("/parameter/" + s.parameter).has(`{"value":"` + sent + `"}`)
	}
	for i, sent := range []string{`""`, `" "`, `"\u0000"`, `"a\u0000b"`, `"\ud83d\ude00"`, `"\u202e"`, `"\"\\\/\b\f\n\r\t"`, `"\ufeff"`, `"\uffff"`, `"<script>"`} {
		id := s.do("POST", path, fmt.Sprintf(`{"key":"t%d","value":%s}`, i, sent)).id()
		s.get("/parameter/" + id).has(`{"value":` + sent + `}`)
	}
}

// The limits of names count characters, the limits of longer texts count bytes. A value of exactly
// the maximum length is accepted and returned in full.
func TestLimitsOfTexts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []string{"x", "é", "語", "😀"} {
		name := strings.Repeat(c, domain.MaxName)
		id := s.do("POST", "/project", `{"name":"`+name+`"}`).id()
		s.get("/project/" + id).has(`{"name":"` + name + `"}`)
		id = s.do("POST", "/metric/iteration/"+s.iteration, `{"key":"`+name+`","value":1}`).id()
		s.get("/metric/" + id).has(`{"key":"` + name + `"}`)
		id = s.do("POST", "/parameter/iteration/"+s.iteration, `{"key":"`+name+`","value":1}`).id()
		s.get("/parameter/" + id).has(`{"key":"` + name + `"}`)
	}
	for i, text := range []string{strings.Repeat("x", domain.MaxText), strings.Repeat("é", domain.MaxText/2),
		strings.Repeat("😀", domain.MaxText/4)} {
		id := s.do("POST", "/parameter/iteration/"+s.iteration, fmt.Sprintf(`{"key":"p%d","value":"%s"}`, i, text)).id()
		s.get("/parameter/" + id).has(`{"value":"` + text + `"}`)
		s.do("PATCH", "/iteration/"+s.iteration, `{"notes":"`+text+`"}`).wants(204)
		s.get("/iteration/" + s.iteration).has(`{"notes":"` + text + `"}`)
	}
	// The limit applies to the text after unescaping.
	id := s.do("POST", "/parameter/iteration/"+s.iteration, `{"key":"escaped","value":"`+strings.Repeat(`\u0001`, domain.MaxText)+`"}`).id()
	s.get("/parameter/" + id).wants(200)
	s.do("POST", "/parameter/iteration/"+s.iteration, `{"key":" ","value":"a key of one space is printable"}`).wants(201)
	s.do("POST", "/user", `{"username":"zoé","password":"éééé"}`).wants(201)
	s.do("POST", "/user", `{"username":"long","password":"`+strings.Repeat("é", 36)+`"}`).wants(201)
}

func TestTimesThatAreTaken(t *testing.T) {
	s := newSite(t)
	path := "/metric/iteration/" + s.iteration
	for sent, want := range map[string]string{
		"2026-11-21T09:30:00.123Z":            "2026-11-21T09:30:00.123Z",
		"2026-11-21T09:30:00Z":                "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00":                 "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00.5":               "2026-11-21T09:30:00.500Z",
		"2026-11-21t09:30:00z":                "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00+00:00":           "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00-00:00":           "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00+05:45":           "2026-11-21T03:45:00.000Z",
		"2026-11-21T09:30:00+23:59":           "2026-11-20T09:31:00.000Z",
		"2026-11-21T09:30:00-23:59":           "2026-11-22T09:29:00.000Z",
		"2026-11-21T09:30:00.123999Z":         "2026-11-21T09:30:00.123Z",
		"2026-11-21T09:30:00.123456789+01:00": "2026-11-21T08:30:00.123Z",
		"2026-11-21T09:30:00.1234567890123Z":  "2026-11-21T09:30:00.123Z",
		"2024-02-29T00:00:00Z":                "2024-02-29T00:00:00.000Z",
		"1969-12-31T23:59:59.999Z":            "1969-12-31T23:59:59.999Z",
		"0000-01-01T00:00:00Z":                "0000-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":            "9999-12-31T23:59:59.999Z",
	} {
		id := s.do("POST", path, `{"key":"t","value":1,"recorded_at":"`+sent+`"}`).id()
		s.get("/metric/" + id).has(`{"recorded_at":"` + want + `"}`)
	}
}
