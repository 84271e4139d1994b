package format

import "testing"

func TestNumber(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "-1e5": true, "NaN": true, "-Infinity": true, "true": true,
		"": false, "null": false, `"1"`: false, "0x10": false, "{}": false, "inf": false, "1 2": false} {
		if _, ok := Number(text); ok != want {
			t.Errorf("%q is %v", text, ok)
		}
	}
}
