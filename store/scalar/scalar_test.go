package scalar_test

import (
	"fmt"
	"math"
	"testing"
	"time"
	"tracker/store/json"

	"tracker/store/scalar"
)

// decoded decodes JSON text into a T. It returns the value formatted by Go, and encoded as JSON
// again. It returns "refused" if T rejects the text.
func decoded[T any](text string) (value, again string) {
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "refused", ""
	}
	out, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v), err.Error()
	}
	return fmt.Sprint(v), string(out)
}

type decoding struct{ in, value, out string }

func checkDecoding[T any](t *testing.T, table []decoding) {
	t.Helper()
	for _, c := range table {
		value, out := decoded[T](c.in)
		if value != c.value || out != c.out {
			t.Errorf("%.60s is read as %.60q and written as %.60s, want %.60q and %.60s", c.in, value, out, c.value, c.out)
		}
	}
}

func refused(in string) decoding { return decoding{in: in, value: "refused"} }

func TestTimeInJSON(t *testing.T) {
	same := func(s string) decoding { return decoding{`"` + s + `"`, s, `"` + s + `"`} }
	is := func(in, out string) decoding { return decoding{`"` + in + `"`, out, `"` + out + `"`} }
	checkDecoding[scalar.Time](t, []decoding{
		same("2026-11-21T09:30:00.123Z"),
		same("1970-01-01T00:00:00.000Z"),
		same("1969-12-31T23:59:59.999Z"),
		same("0000-01-01T00:00:00.000Z"),
		same("9999-12-31T23:59:59.999Z"),
		same("2024-02-29T12:00:00.000Z"),
		is("2026-11-21T09:30:00Z", "2026-11-21T09:30:00.000Z"),
		is("2026-11-21T09:30:00", "2026-11-21T09:30:00.000Z"),
		is("2026-11-21T09:30:00.5", "2026-11-21T09:30:00.500Z"),
		is("2026-11-21t09:30:00z", "2026-11-21T09:30:00.000Z"),
		is("2026-11-21T09:30:00+02:00", "2026-11-21T07:30:00.000Z"),
		is("2026-11-21T09:30:00-23:59", "2026-11-22T09:29:00.000Z"),
		is("2026-11-21T09:30:00.1239999Z", "2026-11-21T09:30:00.123Z"),
		is("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
		is("2026-11-21T09:30:00.000000001+00:00", "2026-11-21T09:30:00.000Z"),
		refused(`"2026-11-21"`), refused(`"2026-11-21 09:30:00"`), refused(`"2026-11-21T09:30"`),
		refused(`"2026-11-21T9:30:00Z"`), refused(`"2026-11-21T09:30:00,5Z"`), refused(`"2026-11-21T09:30:00+24:00"`),
		refused(`"2026-11-21T09:30:00+01:60"`), refused(`"2026-11-21T09:30:00+0100"`), refused(`"2026-11-21T09:30:00 Z"`),
		refused(`"2026-02-29T00:00:00Z"`), refused(`"2026-11-31T00:00:00Z"`), refused(`"2026-11-21T24:00:00Z"`),
		refused(`"2026-11-21T09:30:61Z"`), refused(`"9999-12-31T23:59:59-01:00"`), refused(`"0000-01-01T00:00:00+01:00"`),
		refused(`"10000-01-01T00:00:00Z"`), refused(`""`), refused(`" 2026-11-21T09:30:00Z"`), refused(`"now"`),
		refused(`1795253400`), refused(`1795253400.5`), refused(`true`), refused(`[]`), refused(`{}`), refused(`"2026-11-21T09:30:00`),
	})
}

func TestTimeIsInUTC(t *testing.T) {
	at := scalar.Time(1795253400123)
	if s := at.String(); s != "2026-11-21T09:30:00.123Z" {
		t.Errorf("%s", s)
	}
	if got := at.Time(); got.Location() != time.UTC || got.UnixMilli() != int64(at) {
		t.Errorf("%v", got)
	}
}

func TestValueInJSON(t *testing.T) {
	is := func(in, value, out string) decoding { return decoding{in, value, out} }
	checkDecoding[scalar.Value](t, []decoding{
		is(`0`, `0`, `0`), is(`-0`, `-0`, `-0`), is(`-0.0`, `-0`, `-0`), is(`1`, `1`, `1`), is(`0.1`, `0.1`, `0.1`),
		is(`0.10`, `0.1`, `0.1`), is(`1e3`, `1000`, `1000`), is(`1E+3`, `1000`, `1000`), is(`-2.5e-3`, `-0.0025`, `-0.0025`),
		is(`1.7976931348623157e308`, `1.7976931348623157e+308`, `1.7976931348623157e+308`),
		is(`5e-324`, `5e-324`, `5e-324`), is(`1e-400`, `0`, `0`), is(`9007199254740993`, `9.007199254740992e+15`, `9007199254740992`),
		is(`0.30000000000000004`, `0.30000000000000004`, `0.30000000000000004`),
		is(`123456789012345678901234567890`, `1.2345678901234568e+29`, `1.2345678901234568e+29`),
		is(`"NaN"`, `NaN`, `"NaN"`), is(`"Infinity"`, `Infinity`, `"Infinity"`), is(`"-Infinity"`, `-Infinity`, `"-Infinity"`),
		refused(`1e309`), refused(`-1e999`), refused(`"nan"`), refused(`"+Infinity"`), refused(`"inf"`), refused(`"Inf"`),
		refused(`"1"`), refused(`""`), refused(`" NaN"`), refused(`NaN`), refused(`Infinity`), refused(`-Infinity`), refused(`+1`),
		refused(`01`), refused(`1.`), refused(`.5`), refused(`0x10`), refused(`1_000`), refused(`true`), refused(`[1]`), refused(`{}`),
	})
	// A list, in which each element is decoded separately.
	checkDecoding[[]scalar.Value](t, []decoding{{`[1,"NaN",-2]`, `[1 NaN -2]`, `[1,"NaN",-2]`}, refused(`[1,[2]]`)})
}

func TestValueFromOtherTypes(t *testing.T) {
	for _, c := range []struct {
		src  any
		want float64
	}{{nil, math.NaN()}, {2.5, 2.5}, {int64(7), 7}} {
		var v scalar.Value
		if err := v.Scan(c.src); err != nil || !sameFloat(float64(v), c.want) {
			t.Errorf("%v gives %v (%v)", c.src, v, err)
		}
	}
	var v scalar.Value
	for _, src := range []any{"1", []byte("1"), true} {
		if v.Scan(src) == nil {
			t.Errorf("%T is taken for a value", src)
		}
	}
	for f, want := range map[scalar.Value]bool{0: true, scalar.Value(math.MaxFloat64): true, scalar.Value(math.Inf(-1)): false} {
		if f.Finite() != want {
			t.Errorf("%v is finite: %v", f, !want)
		}
	}
	if scalar.Value(math.NaN()).Finite() {
		t.Error("NaN is finite")
	}
}

func TestStepInJSON(t *testing.T) {
	is := func(in, value string) decoding { return decoding{in, value, value} }
	checkDecoding[scalar.Step](t, []decoding{
		is(`0`, `0`), is(`-0`, `0`), is(`7`, `7`), is(`-7`, `-7`), is(`3.0`, `3`), is(`1e3`, `1000`), is(`1.5e1`, `15`), is(`-20e-1`, `-2`),
		is(`9223372036854775807`, `9223372036854775807`), is(`-9223372036854775808`, `-9223372036854775808`),
		is(`9007199254740993`, `9007199254740993`), is(`9007199254740991.0`, `9007199254740991`),
		refused(`9223372036854775808`), refused(`-9223372036854775809`), refused(`9007199254740993.0`), refused(`9007199254740992.0`),
		refused(`1e19`), refused(`1e400`), refused(`0.5`), refused(`1e-1`), refused(`"1"`), refused(`"NaN"`), refused(`true`),
		refused(`[1]`), refused(`{}`), refused(`01`), refused(`1.`),
	})
}

func TestTextInJSON(t *testing.T) {
	is := func(in, value string) decoding {
		out, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return decoding{in, value, string(out)}
	}
	checkDecoding[scalar.Text](t, []decoding{
		is(`"adam"`, `adam`), is(`""`, ``), is(`"  "`, `  `), is(`"0.10"`, `0.10`), is(`"a\nb\t\u0000\ud83d\ude42"`, "a\nb\t\x00🙂"),
		is(`0.10`, `0.10`), is(`1e-3`, `1e-3`), is(`1E+05`, `1E+05`), is(`-0.0`, `-0.0`), is(`-0`, `-0`), is(`1e999`, `1e999`),
		is(`123456789012345678901234567890.10`, `123456789012345678901234567890.10`),
		is(`true`, `true`), is(`false`, `false`), is(` 1.50 `, `1.50`),
		refused(`[1,2]`), refused(`{"a":1}`), refused(`nul`), refused(`1.`), refused(`+1`), refused(`"open`), refused(`"\ud800"`),
	})
	// An optional value may be null, which is the same as leaving it out.
	checkDecoding[struct {
		Value *scalar.Text `json:"value,omitzero"`
	}](t, []decoding{{`{"value":null}`, `{<nil>}`, `{}`}, {`{}`, `{<nil>}`, `{}`}, refused(`{"value":[{"a":[1]}]}`)})
}

// sameFloat reports whether a and b are equal; NaN equals NaN.
func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
