//go:build reallibs

package transfertest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/wandb"
	"tracker/store/transfertest"
)

// TestRealWandB checks that runs that W&B's client wrote offline are imported with all logged data.
// One of the runs was killed and resumed.
func TestRealWandB(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	var logged [][]any
	if err := json.Unmarshal(transfertest.Python(t, "wandb_make.py", dir), &logged); err != nil {
		t.Fatal(err)
	}
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, wandb.Kind(), dir, transfer.Options{})
	var want, got []string
	for _, p := range logged {
		key := p[1].(string)
		if len(key) == 300 {
			key = "k…"
		}
		want = append(want, fmt.Sprintf("%s|%s|%.0f|%s", p[0], key, p[2], number(t, p[3].(string))))
	}
	for line := range strings.Lines(transfertest.Dump(t, path, "point")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if f[2] == "last" { // depends on the time at which the run was killed
			continue
		}
		if len(f[2]) == 250 {
			f[2] = "k…"
		}
		got = append(got, strings.Join([]string{f[1], f[2], f[3], number(t, f[4])}, "|"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) < 9000 {
		t.Errorf("%d points, want %d", len(got), len(want))
	}
	runs := transfertest.Dump(t, path, "run")
	for _, part := range []string{"run|W&B|größe|ends|", "|FAILED|exit code 3|some\nnotes|", "run|W&B|größe|killed|", "|SUCCEEDED||"} {
		if !strings.Contains(runs, part) {
			t.Errorf("%q is not in\n%s", part, runs)
		}
	}
	const params = "param|ends|flag|true\nparam|ends|lr|0.1\nparam|ends|net/depth|3\nparam|ends|net/names|[\"x\",\"ы\"]\nparam|ends|none|null\nparam|ends|optimizer|adam\n"
	if got := transfertest.Dump(t, path, "param"); got != params {
		t.Errorf("the parameters are\n%s", got)
	}
	if got := transfertest.Dump(t, path, "tag"); got != "tag|ends|a\ntag|ends|b c\ntag|ends|group=g\ntag|ends|job_type=train\n" {
		t.Errorf("the tags are\n%s", got)
	}
	artifacts := transfertest.Dump(t, path, "artifact")
	for _, part := range []string{"|notes.txt|text/plain", "|artifacts/model/v0/sub/weights.bin|application/octet-stream|" + hashOf("first") + "|5|",
		"|artifacts/model/v1/sub/weights.bin|application/octet-stream|" + hashOf("second") + "|6|"} {
		if !strings.Contains(artifacts, part) {
			t.Errorf("%q is not in\n%s", part, artifacts)
		}
	}
	if r.Found != 2 {
		t.Errorf("%+v", r)
	}
	checked(t, db)
	before := transfertest.Dump(t, path)
	if again := transfertest.Import(t, db, wandb.Kind(), dir, transfer.Options{}); again.Unchanged != 2 || transfertest.Dump(t, path) != before {
		t.Errorf("again: %+v", again)
	}
	stopAnywhere(t, wandb.Kind(), dir, before, 2)
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
