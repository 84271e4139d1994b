package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

// TestKeysOfAnOlderFileAreCounted opens a file from a version that did not count names yet.
func TestKeysOfAnOlderFileAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	all := must(store.ReadMigrations())(t)
	old := must(sql.Open("sqlite", path))(t)
	for _, script := range []string{
		all[0],
		`PRAGMA application_id = 0x54524b52; PRAGMA user_version = 1`,
		`INSERT INTO project (id, name, created_date) VALUES ('p', 'p', 1)`,
		`INSERT INTO experiment (id, project_id, name, status, created_date) VALUES ('e', 'p', 'e', 'IN_PROGRESS', 1), ('f', 'p', 'f', 'IN_PROGRESS', 1)`,
		`INSERT INTO iteration (num, id, experiment_id, name, status, created_date, last_seen)
			VALUES (1, 'a', 'e', 'a', 'RUNNING', 1, 1), (2, 'b', 'e', 'b', 'RUNNING', 1, 1), (3, 'c', 'f', 'c', 'RUNNING', 1, 1)`,
		`INSERT INTO parameter (iteration_num, key, id, value) VALUES (1, 'lr', '1', '0.1'), (2, 'lr', '2', '0.2'), (3, 'lr', '3', '1')`,
		`INSERT INTO series (iteration_num, key, count, finite, last, last_step, last_at, min, min_step, max, max_step, sum)
			VALUES (1, 'loss', 1, 1, 5, 0, 1, 5, 0, 5, 0, 5), (3, 'loss', 1, 0, NULL, 0, 1, NULL, NULL, NULL, NULL, 0)`,
	} {
		execSQL(t, old, script)
	}
	wantOK(t, old.Close())
	db := open(t, store.Options{Path: path})
	var keys []string
	for _, k := range must(db.Runs.Keys(ctx, domain.System, "e", runs.KeyQuery{Page: domain.FirstPage}))(t).Data {
		keys = append(keys, fmt.Sprintf("%s.%s:%d", k.Kind, k.Key, k.Iterations))
	}
	if got, want := strings.Join(keys, " "), "metric.loss:1 param.lr:2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	found := must(db.Runs.Iterations(ctx, domain.System, "f", runs.IterationQuery{Page: domain.FirstPage, Filter: "metric.loss = NaN and param.lr = 1.0"}))(t)
	if len(found.Data) != 1 || found.Data[0].Name != "c" {
		t.Errorf("found %+v", found.Data)
	}
	for _, p := range must(db.Check(ctx, false))(t) {
		if !strings.HasPrefix(p.Text, "The statistics of metric") { // the series have no points
			t.Error(p.Text)
		}
	}
}
