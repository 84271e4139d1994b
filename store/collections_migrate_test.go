package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/archive"
	"tracker/store/collections"
	"tracker/store/domain"
	format "tracker/store/transfer/archive"
)

// oldVersions writes a database with the schema 27, in which the versions of artifacts were in
// tables of W&B's clients.
func oldVersions(t *testing.T, path string) {
	t.Helper()
	old := must(sql.Open("sqlite", path))(t)
	old.SetMaxOpenConns(1)
	for i, script := range must(store.ReadMigrations())(t)[:27] {
		execSQL(t, old, script)
		execSQL(t, old, fmt.Sprintf(`PRAGMA application_id = 0x54524b52; PRAGMA user_version = %d`, i+1))
	}
	const id = "0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a"
	for _, script := range []string{
		`INSERT INTO project (id, name, created_date) VALUES ('` + id + `1', 'p', 1)`,
		`INSERT INTO experiment (id, project_id, name, status, created_date) VALUES ('` + id + `2', '` + id + `1', 'e', 'IN_PROGRESS', 1)`,
		`INSERT INTO iteration (num, id, experiment_id, name, status, created_date, end_date, last_seen)
			VALUES (1, '` + id + `3', '` + id + `2', 'a', 'SUCCEEDED', 1, 2, 1), (2, '` + id + `4', '` + id + `2', 'b', 'SUCCEEDED', 1, 2, 1)`,
		`INSERT INTO wandb_artifact (id, experiment_id, iteration_num, collection, version, type, digest, client_id, aliases, description,
				metadata, state, size, files, created_date, updated_date)
			VALUES ('` + id + `5', '` + id + `2', 1, 'net', 4, 'model', 'd', 'c', '["best"]', 'words', '{"a": 1}', 'COMMITTED', 7, 1, 1, 2)`,
		`INSERT INTO wandb_alias VALUES ('` + id + `2', 'net', 'best', 1), ('` + id + `2', 'net', 'latest', 1)`,
		`INSERT INTO wandb_artifact_use VALUES (1, 2)`,
		`INSERT INTO wandb_file VALUES (1, 'a.bin', 'x')`,
	} {
		execSQL(t, old, script)
	}
	wantOK(t, old.Close())
}

// wantOldVersion checks the version of oldVersions.
func wantOldVersion(t *testing.T, db *store.DB) {
	t.Helper()
	project := ask[string](t, raw(t, db.Path()), `SELECT id FROM project`)
	a := must(db.Collections.Named(ctx, domain.System, project, "", "net:best"))(t)
	if a.Folder() != "net:v4" || a.Type != "model" || strings.Join(a.Aliases, " ") != "best latest" || a.Description != "words" || a.Metadata != `{"a": 1}` || len(a.Tags) != 0 {
		t.Errorf("the version is %+v", a)
	}
	if users := must(db.Collections.Users(ctx, domain.System, a.ID))(t); len(users) != 1 {
		t.Errorf("the users of the version are %q", users)
	}
	if md5 := ask[string](t, raw(t, db.Path()), `SELECT md5 FROM artifact_file`); md5 != "x" {
		t.Errorf("the MD5 is %q", md5)
	}
	must(db.Collections.UpdateVersion(ctx, domain.System, a.ID, collections.Patch{AddTags: []string{"t"}}))(t)
}

func TestVersionsOfAnOlderFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	oldVersions(t, path)
	wantOldVersion(t, open(t, store.Options{Path: path}))
}

// An archive from before the tables were renamed can be imported. Its manifest names the kinds of
// records as before, and a second import finds no differences.
func TestArchiveWithOldVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tracker.db")
	oldVersions(t, path)
	var out bytes.Buffer
	wantOK(t, format.Write(&out, format.Content{Database: path, Readme: []byte("old"),
		Manifest: format.Manifest{Scope: "project", Counts: map[string]int64{"wandb_artifact": 1}}}))
	archived := filepath.Join(t.TempDir(), "old.zip")
	wantOK(t, os.WriteFile(archived, out.Bytes(), 0o600))
	db := open(t, store.Options{})
	if r := must(db.Archive.Import(ctx, domain.System, archived, archive.ImportOptions{}))(t); len(r.Conflicts) > 0 || r.Created != 2 {
		t.Fatalf("the import returns %+v", r)
	}
	project := ask[string](t, raw(t, db.Path()), `SELECT id FROM project`)
	order, states, err := db.Archive.AllRecords(ctx, domain.System, project, func(string) bool { return true })
	wantOK(t, err)
	if last := order[len(order)-1]; !strings.HasPrefix(last, "wandb_artifact/") || states[last].Fingerprint != oldFingerprint {
		t.Errorf("the version is the record %s with the fingerprint %s, want %s", last, states[last].Fingerprint, oldFingerprint)
	}
	wantOldVersion(t, db)
	if r := must(db.Archive.Import(ctx, domain.System, archived, archive.ImportOptions{}))(t); len(r.Conflicts) > 0 {
		t.Errorf("a second import returns %+v", r)
	}
}

// oldFingerprint is the fingerprint that the program computed for the version of oldVersions before
// it had tags. Other servers and archives contain such fingerprints.
const oldFingerprint = "1cbfc474f7b24a8a640b6b81f3aa4d38"

// An archive has the versions with their aliases and tags, and the lineage of a version is equal in
// both databases.
func TestArchiveOfLineage(t *testing.T) {
	b := fullBed(t)
	id := ask[string](t, raw(t, b.Path()), `SELECT id FROM artifact_version`)
	must(b.Collections.UpdateVersion(ctx, domain.System, id, collections.Patch{Tags: []string{"baseline", "small"}, Add: []string{"best"}}))(t)
	archived := file(t, b.export(t, archive.Query{ProjectID: b.project}))
	db := open(t, store.Options{})
	must(db.Archive.Import(ctx, domain.System, archived, archive.ImportOptions{}))(t)
	root := collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.VersionNode, ID: id}}
	from, to := must(b.Collections.Lineage(ctx, domain.System, root))(t), must(db.Collections.Lineage(ctx, domain.System, root))(t)
	if len(from.Edges) < 2 || fmt.Sprint(from) != fmt.Sprint(to) {
		t.Errorf("the lineage is %+v, was %+v", to, from)
	}
	a := must(db.Collections.Version(ctx, domain.System, id))(t)
	if got := strings.Join(a.Tags, " ") + "; " + strings.Join(a.Aliases, " "); got != "baseline small; best latest" {
		t.Errorf("tags and aliases %q", got)
	}
}
