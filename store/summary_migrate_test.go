package store_test

import (
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

// TestSummariesOfAnOlderFileAreSearched opens a file from a version that stored the texts of W&B's
// summaries only in the summaries. A text with a name that is too long is omitted, as for new runs.
func TestSummariesOfAnOlderFileAreSearched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	all := must(store.ReadMigrations())(t)
	old := must(sql.Open("sqlite", path))(t)
	for _, script := range all[:31] {
		execSQL(t, old, script)
	}
	for _, script := range []string{
		`PRAGMA application_id = 0x54524b52; PRAGMA user_version = 31`,
		`INSERT INTO project (id, name, created_date) VALUES ('p', 'p', 1)`,
		`INSERT INTO experiment (id, project_id, name, status, created_date) VALUES ('e', 'p', 'e', 'IN_PROGRESS', 1)`,
		`INSERT INTO iteration (num, id, experiment_id, name, status, created_date, last_seen)
			VALUES (1, 'a', 'e', 'a', 'RUNNING', 1, 1), (2, 'b', 'e', 'b', 'RUNNING', 1, 1), (3, 'c', 'e', 'c', 'RUNNING', 1, 1)`,
		`INSERT INTO property (iteration_num, key, value) VALUES (2, 'tracker.summary.best', 'newer')`,
		`INSERT INTO wandb_run (iteration_num, name, config, summary, about) VALUES
			(1, 'x', '{}', '{"best": "ckpt-3", "done": true, "loss": NaN, "net": {"names": ["a", 1]}, "_wandb": {"x": "y"}, "word": "true", "image": {"_type": "image-file"}, "` +
			strings.Repeat("k", 300) + `": "long"}', '{}'),
			(2, 'y', '{}', '{"best": "older", "note": "` + strings.Repeat("ü", 5000) + `"}', '{}'),
			(3, 'z', '{}', 'broken', '{}')`,
	} {
		execSQL(t, old, script)
	}
	wantOK(t, old.Close())
	db := open(t, store.Options{Path: path})
	texts := func(id string) string {
		t.Helper()
		found := must(db.Runs.Summary(ctx, domain.System, id))(t).Texts
		var list []string
		for _, name := range slices.Sorted(maps.Keys(found)) {
			list = append(list, fmt.Sprintf("%.20s=%.12s", name, found[name]))
		}
		return strings.Join(list, " ")
	}
	for id, want := range map[string]string{
		"a": `best=ckpt-3 done=true net/names=["a", 1] word="true"`,
		"b": "best=newer note=" + strings.Repeat("ü", 12),
		"c": "",
	} {
		if got := texts(id); got != want {
			t.Errorf("the texts of %s are %s, want %s", id, got, want)
		}
	}
	q := runs.IterationQuery{Page: domain.FirstPage, Filter: "summary.best = 'ckpt-3'"}
	if found := must(db.Runs.Iterations(ctx, domain.System, "e", q))(t); len(found.Data) != 1 || found.Data[0].Name != "a" {
		t.Errorf("found %+v", found.Data)
	}
	for _, p := range must(db.Check(ctx, false))(t) {
		t.Error(p.Text)
	}
}
