package cmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
)

// signsIn reports whether a user can sign in with a password.
func signsIn(t *testing.T, username, password string) bool {
	t.Helper()
	_, err := openDB(t).Users.SignIn(t.Context(), username, password)
	if err != nil && domain.AsError(err).Code != domain.CodeInvalidCredentials {
		t.Fatal(err)
	}
	return err == nil
}

type listedUser struct {
	Username    string `json:"username"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name"`
	IsAdmin     bool   `json:"is_admin"`
	CreatedDate string `json:"created_date"`
}

func listedUsers(t *testing.T) map[string]listedUser {
	t.Helper()
	text := runMain(t, nil, "", "user", "list", "--json").must(t)
	if strings.Contains(text, "password") {
		t.Errorf("the list tells of passwords: %s", text)
	}
	var list []listedUser
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	users := map[string]listedUser{}
	for _, u := range list {
		users[u.Username] = u
	}
	return users
}

func TestUserAdd(t *testing.T) {
	seeded(t)
	runMain(t, nil, "ada's own password\n", "user", "add", "ada", "--first-name", "Ada", "--last-name", "Lovelace").must(t)
	runMain(t, nil, "grace's password\r\nnot this\n", "user", "add", "grace", "--admin", "--password-stdin").must(t)
	runMain(t, nil, "without an end", "user", "add", "alan").must(t)

	users := listedUsers(t)
	if u := users["ada"]; u.FirstName != "Ada" || u.LastName != "Lovelace" || u.IsAdmin || !strings.HasSuffix(u.CreatedDate, "Z") {
		t.Errorf("ada is %+v", u)
	}
	if !users["grace"].IsAdmin || users["alan"].IsAdmin || len(users) != 4 {
		t.Errorf("the accounts are %+v", users)
	}
	for name, password := range map[string]string{
		"ada": "ada's own password", "grace": "grace's password", "alan": "without an end", "default": adminPassword,
	} {
		if !signsIn(t, name, password) {
			t.Errorf("%s can't sign in", name)
		}
	}
}

func TestUserAddRefuses(t *testing.T) {
	seeded(t)
	for _, c := range []struct {
		name, stdin string
		says        string
	}{
		{"default", "long enough\n", "taken"},
		{"ada", "", "no password"},
		{"ada", "\nsecond line\n", "no password"},
		{"ada", "short\n", "8 to 72 bytes"},
		{"ada", strings.Repeat("x", 73) + "\n", "8 to 72 bytes"},
		{"ada", strings.Repeat("x", maxLine*2), "8 to 72 bytes"},
		{" ", "long enough\n", "must not be empty"},
		{"a\nb", "long enough\n", "printable"},
	} {
		runMain(t, nil, c.stdin, "user", "add", c.name).refused(t, 1, c.says)
	}
	if users := listedUsers(t); len(users) != 1 {
		t.Errorf("the accounts are %+v", users)
	}
}

func TestUserListAsTable(t *testing.T) {
	seeded(t)
	runMain(t, nil, "long enough\n", "user", "add", "ada", "--first-name", "Ada").must(t)
	lines := strings.Split(strings.TrimSpace(runMain(t, nil, "", "user", "list").must(t)), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "NAME") ||
		strings.Join(strings.Fields(lines[1])[:3], " ") != "ada no Ada" || strings.Join(strings.Fields(lines[2])[:2], " ") != "default yes" {
		t.Errorf("got %q", lines)
	}
}

// All accounts are listed, even if there are more than fit into one page of the store.
func TestUserListIsWhole(t *testing.T) {
	seeded(t)
	execSQL(t, "tracker.db", fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= %d)
		INSERT INTO user (id, username, password_hash, created_date) SELECT 'id' || i, 'user' || i, '', 0 FROM n`, domain.MaxLimit))
	if n := len(listedUsers(t)); n != domain.MaxLimit+2 {
		t.Errorf("%d accounts are listed, want %d", n, domain.MaxLimit+2)
	}
}

func TestUserSet(t *testing.T) {
	seeded(t)
	runMain(t, nil, "long enough\n", "user", "add", "ada", "--first-name", "Ada", "--last-name", "Byron").must(t)
	for _, step := range []struct {
		args []string
		want listedUser
	}{
		{[]string{"--admin"}, listedUser{IsAdmin: true, FirstName: "Ada", LastName: "Byron"}},
		{[]string{"--last-name", "Lovelace"}, listedUser{IsAdmin: true, FirstName: "Ada", LastName: "Lovelace"}},
		{[]string{"--admin=false", "--first-name="}, listedUser{LastName: "Lovelace"}},
	} {
		runMain(t, nil, "", append([]string{"user", "set", "ada"}, step.args...)...).must(t)
		got := listedUsers(t)["ada"]
		got.Username, got.CreatedDate = "", ""
		if got != step.want {
			t.Errorf("after %v: %+v, want %+v", step.args, got, step.want)
		}
	}
	if !signsIn(t, "ada", "long enough") {
		t.Error("the password has changed")
	}
	runMain(t, nil, "", "user", "set", "nobody", "--admin").refused(t, 1, `"nobody"`, "user list")
	runMain(t, nil, "", "user", "set", "default", "--admin=false").refused(t, 1, "can't be demoted")
}

func TestUserDelete(t *testing.T) {
	seeded(t)
	runMain(t, nil, "long enough\n", "user", "add", "ada").must(t)
	runMain(t, nil, "y\n", "user", "delete", "ada").refused(t, 2, "--yes")
	if _, there := listedUsers(t)["ada"]; !there {
		t.Fatal("the account is gone without a confirmation")
	}
	runMain(t, nil, "", "user", "delete", "ada", "--yes").must(t)
	if _, there := listedUsers(t)["ada"]; there {
		t.Error("the account is still there")
	}
	runMain(t, nil, "", "user", "delete", "ada", "--yes").refused(t, 1, `"ada"`)
	runMain(t, nil, "", "user", "delete", "default", "--yes").refused(t, 1, "can't be deleted")
}

func TestResetPassword(t *testing.T) {
	seeded(t)
	runMain(t, nil, "ada's first one\n", "user", "add", "ada").must(t)

	runMain(t, nil, "a new one for all\n", "reset-password").must(t)
	if signsIn(t, "default", adminPassword) || !signsIn(t, "default", "a new one for all") {
		t.Error("the default user has not got the new password")
	}
	runMain(t, nil, "ada's second one\n", "reset-password", "ada").must(t)
	if signsIn(t, "ada", "ada's first one") || !signsIn(t, "ada", "ada's second one") {
		t.Error("ada has not got the new password")
	}

	runMain(t, nil, "short\n", "reset-password", "ada").refused(t, 1, "8 to 72 bytes")
	runMain(t, nil, "", "reset-password", "ada").refused(t, 1, "no password")
	runMain(t, nil, "long enough\n", "reset-password", "nobody").refused(t, 1, `"nobody"`)
	if !signsIn(t, "ada", "ada's second one") {
		t.Error("a refused password has changed something")
	}
}
