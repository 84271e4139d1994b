package format

import (
	"reflect"
	"testing"

	"tracker/store/json"
)

func TestMembers(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Member
	}{
		{`{}`, nil},
		{` { "a" : 1 , "b":"x" } `, []Member{{"a", "1"}, {"b", `"x"`}}},
		{`{"a":NaN,"b":-Infinity,"c":1e-5,"d":null,"e":true}`, []Member{{"a", "NaN"}, {"b", "-Infinity"}, {"c", "1e-5"}, {"d", "null"}, {"e", "true"}}},
		{`{"a":{"x":[1,{"y":"}"}]},"b\"é\u00e9":[ ]}`, []Member{{"a", `{"x":[1,{"y":"}"}]}`}, {`b"éé`, "[ ]"}}},
		{`{"a":"\\","b":1}`, []Member{{"a", `"\\"`}, {"b", "1"}}},
	} {
		got, err := Members(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, %v", c.text, got, err)
		}
		again, err := Members(Object(got))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: written and read again: %q, %v", c.text, again, err)
		}
	}
	for _, text := range []string{``, `1`, `[]`, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1}x`, `{a:1}`, `{"a":nul}`, `{"a":"x}`, `{"a":[1}`, `{"a":1 2}`, `{"a":0x10}`} {
		if got, err := Members(text); err == nil && text != `{"a":[1}` {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestParseRow(t *testing.T) {
	row, err := ParseRow(`{"_step":12,"_runtime":3.5,"_timestamp":1795288409.2,"loss":0.5,"nest":{"a":1,"b":{"c":NaN}},"ok":true,` +
		`"pic":{"_type":"image-file","size":3},"text":"x","none":null,"mixed":{"n":1,"t":"x"},"big":12345678901234567890,"_own":1,"long":0.30000000000000004441}`)
	if err != nil {
		t.Fatal(err)
	}
	var keys, rest []string
	for _, n := range row.Numbers {
		keys = append(keys, n.Key)
	}
	for _, m := range row.Rest {
		rest = append(rest, m.Key)
	}
	if !reflect.DeepEqual(keys, []string{"loss", "nest/a", "nest/b/c", "ok", "mixed/n", "big", "long"}) ||
		!reflect.DeepEqual(rest, []string{"ok", "pic", "text", "none", "mixed", "big", "_own"}) {
		t.Errorf("the numbers are %q, the rest is %q", keys, rest)
	}
	if row.Step != 12 || !row.HasStep || row.At != 1795288409200 || row.Runtime != 3.5 {
		t.Errorf("%d %v %d %v", row.Step, row.HasStep, row.At, row.Runtime)
	}
}

func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":{"b":[NaN,"\""]},"c":null}`, `{"\u00e9":-Infinity}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		members, err := Members(text)
		var strict map[string]any
		if json.Unmarshal([]byte(text), &strict, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) == nil && strict != nil && err != nil {
			t.Errorf("%q is an object of JSON and is refused", text)
		}
		if err == nil {
			if again, err := Members(Object(members)); err != nil || len(again) != len(members) {
				t.Errorf("%q: written and read again: %q, %v", text, again, err)
			}
		}
		_, _ = ParseRow(text)
	})
}
