package server_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
)

// notStrings holds JSON values that are not strings.
var notStrings = []string{`0`, `1`, `-1.5`, `true`, `false`, `[]`, `{}`, `["x"]`, `{"a":"b"}`}

// unprintable holds characters that a name can't contain, escaped for JSON.
var unprintable = []string{`\u0000`, `\u0001`, `\t`, `\n`, `\r`, `\u001b`, `\u007f`, `\u0085`, `\u009f`, `\u00ad`,
	`\u200b`, `\u200e`, `\u200f`, `\u202a`, `\u202e`, `\u2028`, `\u2029`, `\u2060`, `\u2066`, `\u2069`, `\ufeff`,
	`\ufff9`, `\uffff`, `\ue000`, `\udb40\udc01`, `\udbff\udfff`}

var badTimes = []string{
	"", " ", "now", "yesterday", "1795253400", "2026", "2026-11", "2026-11-21", "09:30:00", "20261121T093000Z",
	"2026-11-21 09:30:00Z", "2026-11-21T09:30Z", "2026-11-21T9:30:00Z", "2026-11-21T09:3:00Z", "2026-11-21T09:30:0Z",
	"2026-1-21T09:30:00Z", "26-11-21T09:30:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-31T00:00:00Z",
	"2026-11-00T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T23:60:00Z",
	"2016-12-31T23:59:60Z", "2026-11-21T09:30:61Z", "2026-11-21T09:30:00,123Z", "2026-11-21T09:30:00.Z", "2026-11-21T09:30:00.",
	"2026-11-21T09:30:00+25:00", "2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00+01:60", "2026-11-21T09:30:00+1:00",
	"2026-11-21T09:30:00+0100", "2026-11-21T09:30:00+01", "2026-11-21T09:30:00 +01:00", "2026-11-21T09:30:00ZZ",
	"2026-11-21T09:30:00Z+01:00", "2026-11-21T09:30:00 UTC", "2026-11-21T09:30:00CET", "2026-11-21T09:30:00[Europe/Berlin]",
	"10000-01-01T00:00:00Z", "+12026-11-21T09:30:00Z", "-0001-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00",
	"0000-01-01T00:00:00+00:01", " 2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z ", "2026-11-21T09:30:00Z\\n",
	"2026-11-21T09:30:00Z\\u0000", "２０２６-11-21T09:30:00Z", "21.11.2026 09:30", "Sat, 21 Nov 2026 09:30:00 GMT",
	"2026-W47-6T09:30:00Z", "2026-325T09:30:00Z",
}

var badValues = []string{
	`"1"`, `"0.5"`, `""`, `" "`, `"x"`, `"nan"`, `"NAN"`, `"Nan"`, `"-NaN"`, `"+NaN"`, `" NaN"`, `"NaN "`, `"NaN\u0000"`,
	`"infinity"`, `"INFINITY"`, `"inf"`, `"Inf"`, `"+Inf"`, `"-Inf"`, `"-inf"`, `"+Infinity"`, `"-infinity"`, `"- Infinity"`, `"∞"`,
	`"null"`, `true`, `false`, `[]`, `{}`, `[1]`, `{"value":1}`, `1e400`, `-1e400`, `1e309`, `1.8e308`, `1e99999999999`,
	strings.Repeat("9", 400),
}

var badSteps = []string{
	`1.5`, `-0.5`, `1e-1`, `"3"`, `""`, `"NaN"`, `true`, `[]`, `{}`, `[3]`, `9223372036854775808`, `-9223372036854775809`,
	`18446744073709551616`, `1e19`, `1e400`, `-1e400`, `9223372036854775807.5`, `9007199254740993.0`,
	strings.Repeat("1", 400),
}

// bad returns JSON values that the server must reject in a field of this kind.
func (k kind) bad() []string {
	text := func(texts ...string) (all []string) {
		for _, t := range texts {
			all = append(all, `"`+t+`"`)
		}
		return all
	}
	var short []string
	for _, c := range unprintable {
		short = append(short, c, "a"+c, c+"b", "a"+c+"b")
	}
	for _, c := range []string{"x", "é", "語", `\ud83d\ude00`} {
		short = append(short, strings.Repeat(c, domain.MaxName+1))
	}
	switch k {
	case aName:
		return append(notStrings, text(append(short, "", " ", "   ", `\u00a0`, `\u3000 `)...)...)
	case aKey:
		return append(notStrings, text(append(short, "")...)...)
	case aShort:
		return append(notStrings, text(short...)...)
	case aText:
		return append(notStrings, text(strings.Repeat("x", domain.MaxText+1), strings.Repeat("é", domain.MaxText/2)+"x")...)
	case aParam:
		return append([]string{`[]`, `{}`, `["x"]`, `{"a":"b"}`, strings.Repeat("1", domain.MaxText+1)},
			text(strings.Repeat("x", domain.MaxText+1), strings.Repeat("é", domain.MaxText/2)+"x")...)
	case aPassword:
		return append(notStrings, text("", "1234567", "ééé", strings.Repeat("x", 73), strings.Repeat("é", 37))...)
	case aSecret:
		return append(notStrings, text("")...)
	case aFlag:
		return []string{`0`, `1`, `-1.5`, `"true"`, `"false"`, `""`, `"yes"`, `[]`, `{}`, `[true]`}
	case aTime:
		return append(notStrings, text(badTimes...)...)
	case aStep:
		return badSteps
	case aValue:
		return badValues
	case aStatus:
		return append(notStrings, text("", "DONE", "running", "in_progress", "RUNNING ", " IN_PROGRESS", "null", `RUNNING\u0000`)...)
	case anID:
		return append(notStrings, text("", "x", "0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5ag", "0192d3f45b6c7d8e9fa0b1c2d3e4f5a6",
			"{0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6}", "urn:uuid:0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6",
			"0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6 ", strings.Repeat("a", 100_000))...)
	case aBatch:
		return []string{`0`, `-1.5`, `true`, `"x"`, `"[]"`}
	case aBulk:
		return []string{`0`, `true`, `"x"`, `{}`, `{"loss":1}`, `[1]`, `[null]`, `[[]]`, `[{}]`, `[{"key":"a"}]`, `[{"value":1}]`}
	case someLines:
		return []string{`0`, `true`, `"x"`, `{}`, `["a\nb"]`}
	case someTexts:
		return []string{`0`, `true`, `"x"`, `[]`, `["k"]`, `1e400`}
	}
	panic("a kind without bad values")
}

func TestFieldsOfWrongTypeOrValue(t *testing.T) {
	t.Parallel()
	newSite(t).each(func(s *site, x target) {
		for _, f := range x.fields {
			s.unchanged(x.name()+" "+f.name, func() {
				for _, value := range f.kind.bad() {
					s.refusal(x.method, x.path, x.with(f.name, value), 422, "INVALID_PAYLOAD", f.name)
				}
			})
		}
	})
}

func TestRequiredFields(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		for _, f := range x.fields {
			if f.required {
				s.refused(x.method, x.path, x.with(f.name, ""), 422, "INVALID_PAYLOAD", f.name)
				s.refused(x.method, x.path, x.with(f.name, "null"), 422, "INVALID_PAYLOAD", f.name)
			}
		}
	})
}

// A null field is treated as a missing field: a PATCH whose fields are all null changes nothing,
// and a create ignores null fields.
func TestNullMeansLeftOut(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		if x.path == "/auth" {
			return
		}
		var members []string
		for _, f := range x.fields {
			v := "null"
			if f.required {
				v = f.good
			}
			members = append(members, fmt.Sprintf("%q:%s", f.name, v))
		}
		body := "{" + strings.Join(members, ",") + "}"
		if x.method == "PATCH" {
			s.unchanged(x.name(), func() {
				s.do(x.method, x.path, body).wants(204)
				s.do(x.method, x.path, "{}").wants(204)
			})
			return
		}
		if got := s.do(x.method, x.path, body); got.status != x.status() {
			s.t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	})
}

func TestBatchEntriesOfWrongShape(t *testing.T) {
	s := newSite(t)
	path := "/metric/iteration/" + s.iteration + "/batch"
	for _, v := range append(badValues, "null") {
		// The good entry before it is not written either: the whole body is rejected.
		s.refused("POST", path, `{"metrics":{"good":1,"loss":`+v+`}}`, 422, "INVALID_PAYLOAD", "metrics.loss")
		if v != "null" {
			s.refused("POST", path, `{"metrics":[{"key":"good","value":1},{"key":"loss","value":`+v+`}]}`, 422, "INVALID_PAYLOAD", "metrics.1.value")
		}
	}
	for entry, field := range map[string]string{
		`1`: "metrics.1", `"x"`: "metrics.1", `[]`: "metrics.1", `true`: "metrics.1",
		`{}`: "metrics", `null`: "metrics", `{"value":1}`: "metrics", `{"key":null,"value":1}`: "metrics",
		`{"key":"loss"}`: "metrics", `{"key":"loss","value":null}`: "metrics",
		`{"key":1,"value":1}`:                          "metrics.1.key",
		`{"key":"loss","value":1,"step":1}`:            "metrics.1.step",
		`{"key":"loss","value":1,"recorded_at":"now"}`: "metrics.1.recorded_at",
		`{"key":"loss","value":1,"key":"acc"}`:         "metrics.1.key",
	} {
		message := s.refused("POST", path, `{"metrics":[{"key":"good","value":1},`+entry+`]}`, 422, "INVALID_PAYLOAD", field)
		if !strings.Contains(message, "1") {
			t.Errorf("%s: the message does not say which entry: %s", entry, message)
		}
	}
	s.refused("POST", path, `{"metrics":{"loss":1,"acc":2,"loss":3}}`, 422, "INVALID_PAYLOAD", "metrics.loss")
	s.refused("POST", path, `{"metrics":{"loss":1,"lo\u0073s":3}}`, 422, "INVALID_PAYLOAD", "metrics.loss")
	var many strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&many, `,{"key":"k%d","value":%d}`, i%7, i)
	}
	s.refused("POST", path, `{"metrics":[`+many.String()[1:]+`]}`, 422, "INVALID_PAYLOAD", "metrics")
	s.unchanged("an empty batch", func() {
		s.do("POST", path, `{"metrics":{}}`).is(`{"ids":[]}`)
		s.do("POST", path, `{"metrics":[]}`).is(`{"ids":[]}`)
	})
}

// A batch stops at the first entry with a bad key. The response lists the entries written before
// it.
func TestBatchStopsAtBadKey(t *testing.T) {
	s := newSite(t)
	path := "/metric/iteration/" + s.iteration + "/batch"
	for _, bad := range aKey.bad()[len(notStrings):] {
		got := s.refused("POST", path, `{"metrics":{`+bad+`:1,"good":2}}`, 422, "INVALID_PAYLOAD", "key")
		if got == "" {
			t.Errorf("%.40s: no message", bad)
		}
	}
	s.do("POST", path, `{"metrics":{"":1,"good":2}}`).fails(422, "INVALID_PAYLOAD", "key").has422(`{"ids":[]}`)
	got := s.do("POST", path, `{"metrics":[{"key":"a","value":1},{"key":"b","value":2},{"key":"","value":3},{"key":"c","value":4}]}`)
	ids := got.fails(422, "INVALID_PAYLOAD", "key").ids()
	if len(ids) != 2 {
		t.Fatalf("%s: want the ids of two", got.body)
	}
	s.get("/metric/" + ids[0]).has(`{"key":"a","value":1,"step":0}`)
	s.get("/metric/" + ids[1]).has(`{"key":"b","value":2,"step":0}`)
	s.get("/metric/iteration/" + s.iteration + "?key=c").has(`{"total":0}`)
}

// has422 checks the body of a 422 response in the same way as has.
func (r answer) has422(want string) {
	r.t.Helper()
	if diff := difference("", parse(r.t, want), parse(r.t, r.body), false); diff != "" {
		r.t.Errorf("%s: %s in %s", r.what, diff, r.body)
	}
}

func TestWrongParents(t *testing.T) {
	s := newSite(t)
	other := s.api.iteration(s.api.experiment(s.project))
	path := "/iteration/experiment/" + s.experiment
	for _, parent := range []string{nobody, other, s.experiment, strings.ToUpper(s.iteration)} {
		s.refused("POST", path, `{"parent_iteration_id":"`+parent+`"}`, 422, "INVALID_PAYLOAD", "parent_iteration_id")
		s.refused("POST", path+"?parent_iteration_id="+parent, "", 422, "INVALID_PAYLOAD", "parent_iteration_id")
	}
	s.refused("POST", path+"?parent_iteration_id="+s.iteration, `{"parent_iteration_id":"`+s.ended+`"}`, 422, "INVALID_PAYLOAD", "parent_iteration_id")
	s.refused("POST", path, `{"id":"`+other+`"}`, 409, "CONFLICT", "id")
	s.do("POST", path+"?parent_iteration_id="+s.ended, `{"parent_iteration_id":"`+s.ended+`"}`).wants(201)
}
