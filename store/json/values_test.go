package json_test

import (
	"strings"
	"testing"

	"tracker/store/json"
)

func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		``: 1, `1`: 1, `"a,b[{\",\""`: 1, `"`: 1, `"\`: 1, `[]`: 2, `[1,2,3]`: 4, `{"a":{},"b,":[[]]}`: 6,
		strings.Repeat(`[`, 1000): 1001, `[{}` + strings.Repeat(`,{}`, 999) + `]`: 2001,
	} {
		if got := json.Values([]byte(text)); got != want {
			t.Errorf("%.40s has %d values, want %d", text, got, want)
		}
	}
}

// FuzzValues compares Values with the number of values that a decoder finds.
func FuzzValues(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"\\\""}],"":null}`, `"\ud800"`, `[[],[[{}]]]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) != nil {
			return
		}
		if got, want := json.Values(text), count(v); got < want {
			t.Errorf("%q has %d values, and %d are announced", text, want, got)
		}
	})
}

func count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += count(e)
		}
	case map[string]any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}
