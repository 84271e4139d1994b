//go:build reallibs

package transfertest_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/dvclive"
	"tracker/store/transfer/sacred"
	"tracker/store/transfer/trackio"
	"tracker/store/transfertest"
)

// TestRealOthers checks that runs written by Trackio, Sacred and DVCLive are imported with all
// logged data. An import that is interrupted and repeated must have the same result.
func TestRealOthers(t *testing.T) {
	for _, test := range []struct {
		name   string
		kind   transfer.Kind
		points int
		lost   []string // parts of the messages
		has    []string // complete or partial lines
		ends   string
	}{
		{"trackio", trackio.Kind(), 1206, []string{`"picture" are neither numbers nor short texts`, "was changed to"},
			[]string{"|Trackio|größex|first ы|", "param|second|net/names|[\"x\",\"ы\"]\n", "param|second|none|null\n", "tag|second|group=g\n", "property|second|tracker.summary.text|hello\n", ".png|image/png|"}, "RUNNING RUNNING"},
		{"sacred", sacred.Kind(), 406, []string{"was changed to"},
			[]string{"|Sacred|größe|1|", "|my comment|", "ValueError: böse", "param|1|net/depth|3\n", "param|1|none|null\n", "|weights.bin|application/octet-stream|",
				"|sources/others_make.py|", `property|1|result|{"best":0.5}`}, "FAILED SUCCEEDED"},
		{"dvclive", dvclive.Kind(), 338, nil,
			[]string{"|DVCLive|", "|deep/two ы|", "param|one|net/names|[\"x\",\"ы\"]\n", "|plots/images/img.png|image/png|"}, "RUNNING RUNNING"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "w")
			var logged [][]any
			if err := json.Unmarshal(transfertest.Python(t, "others_make.py", dir, test.name), &logged); err != nil {
				t.Fatal(err)
			}
			db, path := transfertest.Open(t)
			r := transfertest.Import(t, db, test.kind, dir, transfer.Options{})
			short := func(key string) string {
				if runes := []rune(key); len(runes) >= 250 {
					return string(runes[:10]) + "…"
				}
				return key
			}
			var want, got, statuses []string
			for _, p := range logged {
				want = append(want, fmt.Sprintf("%s|%s|%.0f|%s", p[0], short(p[1].(string)), p[2], number(t, p[3].(string))))
			}
			for line := range strings.Lines(transfertest.Dump(t, path, "point")) {
				f := strings.Split(strings.TrimSpace(line), "|")
				got = append(got, strings.Join([]string{f[1], short(f[2]), f[3], number(t, f[4])}, "|"))
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) || len(got) != test.points {
				t.Errorf("%d points, want %d:\n%.600v\n%.600v", len(got), len(want), got, want)
			}
			all := transfertest.Dump(t, path)
			for line := range strings.Lines(transfertest.Dump(t, path, "run")) {
				if f := strings.Split(line, "|"); f[0] == "run" {
					statuses = append(statuses, f[5])
				}
			}
			slices.Sort(statuses)
			if strings.Join(statuses, " ") != test.ends {
				t.Errorf("the statuses are %v", statuses)
			}
			for _, part := range test.has {
				if !strings.Contains(all, part) {
					t.Errorf("%q is not in\n%.5000s", part, transfertest.Dump(t, path, "run", "param", "tag", "property", "artifact"))
				}
			}
			for _, l := range r.Losses {
				if !slices.ContainsFunc(test.lost, func(part string) bool { return strings.Contains(l.Reason, part) }) {
					t.Errorf("it was lost: %+v", l)
				}
			}
			checked(t, db)
			if again := transfertest.Import(t, db, test.kind, dir, transfer.Options{}); again.Unchanged != 2 || transfertest.Dump(t, path) != all {
				t.Errorf("again: %+v", again)
			}
			stopAnywhere(t, test.kind, dir, all, 2)
		})
	}
}
