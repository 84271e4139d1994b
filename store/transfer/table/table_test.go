package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/transfer"
)

func TestTimeOf(t *testing.T) {
	for text, want := range map[string]int64{
		"1700000000": 1_700_000_000_000, "1700000000.25": 1_700_000_000_250, "1700000000250": 1_700_000_000_250,
		"2023-11-14T22:13:20Z": 1_700_000_000_000, "2023-11-14 22:13:20.5": 1_700_000_000_500, "2023-11-14T23:13:20+01:00": 1_700_000_000_000,
		"2023-11-14 22:13:20Z": 1_700_000_000_000, "2023-11-14 23:13:20+01:00": 1_700_000_000_000, "2023-11-14 22:13:20.25 UTC": 1_700_000_000_250,
		"2023-11-14 23:13:20 +0100": 1_700_000_000_000, "2023-11-14T23:13:20+0100": 1_700_000_000_000,
		"12.5": -1, "": -1, "soon": -1, "NaN": -1, "-1700000000": -1,
	} {
		got, ok := timeOf(text)
		if ok != (want >= 0) || ok && int64(got) != want {
			t.Errorf("%q is %d, %v; want %d", text, got, ok, want)
		}
	}
}

func TestObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "b": {"c": 0.5, "d": {"e": true}}}`:                   "[a 1, b/c 0.5, b/d/e 1]",
		`{"a": NaN, "b": -Infinity, "c": "NaN \" Infinity NaN"}`:        `[a NaN, b -Infinity, c NaN " Infinity NaN]`,
		`{"a": null, "b": [1, 2]}`:                                      "[b a list]",
		`{"a": {"_type": "image-file", "width": 3}, "b": {"_type": 1}}`: "[a image-file, b/_type 1]",
		`[1]`:    "error",
		`{"a": `: "error",
		``:       "error",
		strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40): "error",
	} {
		cells, err := object([]byte(text), nil)
		var all []string
		for _, c := range cells {
			all = append(all, strings.TrimSpace(c.key+" "+c.text+c.media))
		}
		got := "[" + strings.Join(all, ", ") + "]"
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// endless is an infinite file that repeats a byte.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// TestEndlessRow checks that an endless row is rejected before it fills the memory.
func TestEndlessRow(t *testing.T) {
	for _, text := range []endless{'"', 'a', '\\', '{'} {
		for _, rows := range []func(*reader) rows{commaRows, lineRows} {
			if _, err := rows(&reader{in: text}).next(); err == nil {
				t.Errorf("%q: no error", text)
			}
		}
	}
}

// FuzzTable imports arbitrary tables. The import must terminate. An unreadable part is a loss, not
// an error.
func FuzzTable(f *testing.F) {
	f.Add("step,loss\n1,0.5\n2,NaN\n", uint8(0))
	f.Add("\"a\nb\",c\n\"1\n", uint8(0))
	f.Add("step\tloss\n1\t0.5\t7\n", uint8(1))
	f.Add(`{"step": 1, "loss": NaN, "x": {"y": [Infinity]}}`+"\n{", uint8(2))
	f.Add(`{"log_history": [{"step": 1, "loss": 0.5}, 3], "max_steps": 10}`, uint8(3))
	f.Add("Step,a - loss,a - loss__MIN,a - loss__MAX\n1,0.5,0.5,0.5\n", uint8(0))
	f.Add("Name,State,Created,Tags,Runtime,loss\na,finished,2023-11-14T22:13:20Z,\"x, y\",5,0.5\n,,,,,\n", uint8(0))
	f.Add("PAR1\x15\x00\x00PAR1", uint8(4))
	f.Fuzz(func(t *testing.T, text string, format uint8) {
		name := []string{"m.csv", "m.tsv", "m.jsonl", stateName, "m.parquet"}[format%5]
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := find(path)
		if err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), src); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}
