//go:build reallibs

package transfertest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfertest"
)

// TestRealTensorBoard checks that folders written by tensorboardX and TensorBoard are imported with
// every point that TensorBoard's own reader returns.
func TestRealTensorBoard(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	var found map[string][][]any
	if err := json.Unmarshal(transfertest.Python(t, "tensorboard_make.py", logs), &found); err != nil {
		t.Fatal(err)
	}
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{KeepAll: true})
	var want []string
	for file, points := range found {
		folder := filepath.ToSlash(filepath.Dir(file))
		run, part := folder, ""
		if rest, ok := strings.CutPrefix(folder, "plain/acc/"); ok {
			run, part = "plain", "/"+rest
		}
		if strings.HasPrefix(folder, "plain/1") {
			run = "plain"
		}
		for _, p := range points {
			key, step, value, ms := p[0].(string)+part, p[1].(float64), p[2].(string), p[3].(float64)
			if len(key) == 300 {
				key = strings.Repeat("x", 241) + "~0d4e2ca9"
			}
			want = append(want, fmt.Sprintf("point|%s|%s|%.0f|%s|%.0f", run, key, step, number(t, value), ms))
		}
	}
	var got []string
	for line := range strings.Lines(transfertest.Dump(t, path, "point")) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "point|damaged|") {
			continue
		}
		f := strings.Split(line, "|")
		got = append(got, strings.Join(append(f[:4], number(t, f[4]), f[5]), "|"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) < 200 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Found != 4 || r.Lost != 2 {
		t.Errorf("%+v", r)
	}
	params := transfertest.Dump(t, path, "param")
	if params != "param|plain|amp|true\nparam|plain|batch|32\nparam|plain|lr|0.1\nparam|plain|opt|adam\n" {
		t.Errorf("the parameters are\n%s", params)
	}
	artifacts := transfertest.Dump(t, path, "artifact")
	for _, name := range []string{"|histograms/weights/1.jsonl|application/x-ndjson|", "|images/digit/2.png|image/png|", "|text/note/3.md|text/markdown|"} {
		if !strings.Contains(artifacts, name) {
			t.Errorf("%s is not in\n%s", name, artifacts)
		}
	}
	checked(t, db)

	again := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{KeepAll: true})
	if again.Unchanged != 4 || again.Points+again.Parameters+again.Artifacts != 0 {
		t.Errorf("again: %+v", again)
	}
}

// number converts a number written by Python or SQLite to a common format.
func number(t *testing.T, s string) string {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	if math.IsNaN(x) {
		return "NaN"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
