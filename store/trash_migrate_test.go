package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/sqlite"
)

// The migration that added the trash recreates the tables of models. Their rows and references
// are preserved.
func TestTrashMigrationKeepsModels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	scripts := must(store.ReadMigrations())(t)
	until := slices.IndexFunc(scripts, func(s string) bool { return strings.Contains(s, "kept_model") })
	old := must(sql.Open("sqlite", sqlite.DSN(path)))(t)
	defer old.Close()
	old.SetMaxOpenConns(1)
	application := ask[int](t, raw(t, open(t, store.Options{}).Path()), `PRAGMA application_id`)
	for _, s := range scripts[:until] {
		execSQL(t, old, s)
	}
	execSQL(t, old, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, application, until))
	execSQL(t, old, `
		INSERT INTO project (id, name, created_date) VALUES ('p', 'project', 1);
		INSERT INTO experiment (id, project_id, name, status, created_date) VALUES ('e', 'p', 'experiment', 'IN_PROGRESS', 1);
		INSERT INTO iteration (num, id, experiment_id, name, status, created_date, last_seen) VALUES (7, 'i', 'e', 'run', 'RUNNING', 1, 1);
		INSERT INTO parameter (iteration_num, key, id, value) VALUES (7, 'lr', 'x', '0.1');
		INSERT INTO model (id, project_id, name, last_version, created_date, updated_date) VALUES ('m', 'p', 'net', 3, 1, 2);
		INSERT INTO model_version (id, model_id, version, iteration_num, stage, description, created_date, updated_date)
			VALUES ('v', 'm', 2, 7, 'PRODUCTION', 'good', 1, 2)`)
	wantOK(t, old.Close())
	db := open(t, store.Options{Path: path, TrashAge: 30 * 24 * time.Hour})
	if m := must(db.Models.Model(ctx, domain.System, "m"))(t); m != (registry.Model{ID: "m", ProjectID: "p", Name: "net", CreatedDate: 1, UpdatedDate: 2}) {
		t.Errorf("the model is %+v", m)
	}
	v := must(db.Models.ProductionVersion(ctx, domain.System, "m"))(t)
	if v.ID != "v" || v.Version != 2 || v.IterationID == nil || *v.IterationID != "i" || v.Description != "good" || v.CreatedDate != 1 || v.UpdatedDate != 2 {
		t.Errorf("the version is %+v", v)
	}
	wantCode(t, db.Runs.DeleteIteration(ctx, domain.System, "i"), domain.CodeConflict)
	if next := must(db.Models.CreateModelVersion(ctx, domain.System, "m", registry.NewModelVersion{IterationID: "i"}))(t); must(db.Models.ModelVersion(ctx, domain.System, next.ID))(t).Version != 4 {
		t.Error("the next version is not 4")
	}
	_, err := db.Models.CreateModel(ctx, domain.System, "p", registry.NewModel{Name: "net"})
	wantCode(t, err, domain.CodeConflict)
	wantClean(t, db)
}
