package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/sqlite"
	"tracker/store/users"
)

// A database without owners and limits of keys keeps its rights. The account that created a project
// becomes its owner. Keys still have all rights of their account.
func TestOwnerMigrationKeepsRights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	scripts := must(store.ReadMigrations())(t)
	until := slices.IndexFunc(scripts, func(s string) bool { return strings.Contains(s, "Limits of API keys") })
	old := must(sql.Open("sqlite", sqlite.DSN(path)))(t)
	defer old.Close()
	old.SetMaxOpenConns(1)
	for _, s := range scripts[:until] {
		execSQL(t, old, s)
	}
	execSQL(t, old, `PRAGMA application_id = 0x54524b52`)
	execSQL(t, old, fmt.Sprintf(`PRAGMA user_version = %d`, until))
	execSQL(t, old, `INSERT INTO user (id, username, password_hash, created_date) VALUES ('a', 'ada', '', 1), ('b', 'bob', '', 1)`)
	execSQL(t, old, `INSERT INTO project (id, name, created_date, created_by) VALUES ('p', 'p', 1, 'ada'), ('q', 'q', 1, NULL), ('r', 'r', 1, 'eve')`)
	execSQL(t, old, `INSERT INTO user_permission VALUES ('1', 'a', 'p', 1, 1, 1, 1), ('2', 'b', 'p', 1, 1, 1, 1),
		('3', 'b', 'q', 1, 1, 1, 1), ('4', 'a', 'q', 0, 1, 0, 0), ('5', 'b', 'r', 1, 1, 1, 1)`)
	execSQL(t, old, `INSERT INTO api_key (id, user_id, name, hash, created_date) VALUES ('k', 'a', 'cluster', x'00', 1)`)
	wantOK(t, old.Close())

	db := open(t, store.Options{Path: path})
	var owners []string
	for _, project := range []string{"p", "q", "r"} {
		for _, m := range must(db.Users.ProjectMembers(ctx, domain.System, project, domain.FirstPage))(t).Data {
			if project == "p" && !(m.Create && m.Read && m.Update && m.Delete) || project == "q" && m.Username == "ada" && (m.Create || !m.Read) {
				t.Errorf("%+v", m)
			}
			if m.Owner {
				owners = append(owners, project+":"+m.Username)
			}
		}
	}
	if got := strings.Join(owners, " "); got != "p:ada q:bob" {
		t.Errorf("the owners are %s", got)
	}
	keys := must(db.Users.APIKeys(ctx, domain.Actor{UserID: "a"}, "a"))(t).Data
	if len(keys) != 1 || keys[0].Scope != users.KeyAll || keys[0].ProjectID != nil || keys[0].ExpiresDate != nil || keys[0].UsedDate != nil {
		t.Errorf("%+v", keys)
	}
}
