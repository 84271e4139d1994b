package audit_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/storetest"
	"tracker/store/users"
)

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }

// bed returns a database of a server whose entries are kept for 60 days.
func bed(t *testing.T) *storetest.Bed {
	t.Helper()
	return storetest.NewWith(t, store.Options{Exclusive: true, TrashAge: time.Hour, AuditAge: 60 * 24 * time.Hour})
}

// lines returns the entries that q selects, newest first, as one line each.
func lines(t *testing.T, b *storetest.Bed, q audit.Query) (text string) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = domain.MaxLimit
	}
	for _, e := range must(b.Audit.Entries(t.Context(), domain.System, q))(t).Data {
		text += strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s (%s) ×%d", e.Source, e.Actor, e.Key, e.Address, e.Action, e.Kind+" "+domain.AuditKind(e.Name),
			e.Detail, e.Count)), " ") + "\n"
	}
	return text
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestChangesAreRecorded checks that changes of accounts, keys and rights and deletions have entries with
// the actor, the key and the address, also after the account was deleted, and that failed changes have none.
func TestChangesAreRecorded(t *testing.T) {
	b := bed(t)
	ctx := domain.WithAddress(t.Context(), "192.0.2.7")
	admin := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "root", Password: "correct horse", IsAdmin: true}))(t).ID
	root := domain.Actor{UserID: admin, Key: "cluster"}
	ada := must(b.Users.CreateUser(ctx, root, users.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	storetest.WantOK(t, b.Users.UpdateUser(ctx, root, ada, users.UserPatch{Password: new("another battery"), IsAdmin: new(false)}))
	secret := must(b.Users.CreateAPIKey(ctx, root, ada, users.NewAPIKey{Name: "laptop"}))(t).Key
	file := storetest.Raw(t, b.Path())
	storetest.WantOK(t, b.Users.DeleteAPIKey(ctx, root, ada, storetest.Ask[string](t, file, `SELECT id FROM api_key`)))
	project := must(b.Projects.CreateProject(ctx, root, domain.NewProject{Name: "iris"}))(t).ID
	permission := must(b.Users.CreateUserPermission(ctx, root, ada, project, users.PermissionPatch{Delete: new(true)}))(t).ID
	storetest.WantOK(t, b.Users.UpdateUserPermission(ctx, root, permission, users.PermissionPatch{Delete: new(false)}))
	storetest.WantCode(t, b.Projects.DeleteProject(ctx, domain.Actor{UserID: ada}, project), domain.CodeProjectPermissionRequired)
	storetest.WantOK(t, b.Users.DeleteUserPermission(ctx, root, permission))
	storetest.WantOK(t, b.Projects.DeleteProject(ctx, root, project))
	storetest.WantOK(t, b.Trash.Restore(ctx, root, project))
	storetest.WantOK(t, b.Projects.DeleteProject(ctx, domain.Actor{UserID: admin, Anonymous: true}, project))
	storetest.WantCode(t, b.Trash.Purge(ctx, domain.Actor{UserID: ada}, project), domain.CodeProjectPermissionRequired)
	storetest.WantOK(t, b.Trash.Purge(ctx, root, project))
	storetest.WantOK(t, b.Users.DeleteUser(ctx, root, ada))
	storetest.WantOK(t, b.Users.DeleteUser(ctx, domain.System, admin))
	got := lines(t, b, audit.Query{})
	want(t, got[:strings.Index(got, "server 192.0.2.7 create user root")], `server 192.0.2.7 delete user root () ×1
account root cluster 192.0.2.7 delete user ada () ×1
account root cluster 192.0.2.7 purge project iris () ×1
open 192.0.2.7 delete project iris () ×1
account root cluster 192.0.2.7 restore project iris () ×1
account root cluster 192.0.2.7 delete project iris () ×1
account root cluster 192.0.2.7 revoke project iris (ada) ×1
account root cluster 192.0.2.7 grant project iris (ada: read) ×1
account root cluster 192.0.2.7 grant project iris (ada: read, delete) ×1
account root cluster 192.0.2.7 delete api_key laptop (of ada) ×1
account root cluster 192.0.2.7 create api_key laptop (of ada) ×1
account root cluster 192.0.2.7 update user ada (password) ×1
account root cluster 192.0.2.7 create user ada () ×1
`)
	if n := storetest.Ask[int](t, file, `SELECT count(*) FROM audit WHERE instr(name || detail || key, ?) OR instr(name || detail, 'battery')`, secret); n > 0 {
		t.Errorf("%d entries contain a secret", n)
	}
	want(t, lines(t, b, audit.Query{Record: project, Action: domain.ActionRestore}), "account root cluster 192.0.2.7 restore project iris () ×1\n")
	want(t, lines(t, b, audit.Query{Actor: "root", Kind: domain.AuditUser, Action: domain.ActionDelete}), "account root cluster 192.0.2.7 delete user ada () ×1\n")
}

// TestPages checks that cursors lead through all entries once, also while entries are added, and that
// times bound the entries.
func TestPages(t *testing.T) {
	b := bed(t)
	since := b.Clock.Time()
	for i := range 5 {
		b.Clock.Add(time.Minute)
		must(b.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: fmt.Sprint("user", i), Password: "correct horse"}))(t)
	}
	until := b.Clock.Time()
	q := audit.Query{Limit: 2, Since: &since}
	var names []string
	for {
		p := must(b.Audit.Entries(t.Context(), domain.System, q))(t)
		for _, e := range p.Data {
			names = append(names, e.Name)
		}
		if p.Next == nil {
			break
		}
		q.Cursor = *p.Next
		must(b.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "later" + q.Cursor, Password: "correct horse"}))(t)
	}
	if got := strings.Join(names, " "); !strings.HasPrefix(got, "user4 user3 user2 user1 user0") {
		t.Errorf("the pages have %s", got)
	}
	if got := lines(t, b, audit.Query{Since: &since, Until: &until}); strings.Contains(got, "user4") || !strings.Contains(got, "user3") {
		t.Errorf("until %v there is %s", until, got)
	}
	for _, q := range []audit.Query{{Cursor: "x"}, {Action: "look"}, {Kind: "cat"}} {
		_, err := b.Audit.Entries(t.Context(), domain.System, q)
		storetest.WantCode(t, err, domain.CodeInvalidPayload)
	}
	u := must(b.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	_, err := b.Audit.Entries(t.Context(), domain.Actor{UserID: u}, audit.Query{Limit: 1})
	storetest.WantCode(t, err, domain.CodeAdminRequired)
}

// TestEntriesStay checks that the database refuses to change entries and to delete young ones, and that
// Expire deletes the old ones and records this.
func TestEntriesStay(t *testing.T) {
	b := bed(t)
	must(b.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "old", Password: "correct horse"}))(t)
	b.Clock.Add(59 * 24 * time.Hour)
	must(b.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "young", Password: "correct horse"}))(t)
	file := storetest.Raw(t, b.Path())
	for _, statement := range []string{`UPDATE audit SET name = 'x'`, `DELETE FROM audit WHERE name = 'young'`, `DELETE FROM audit`} {
		if _, err := file.Exec(statement); err == nil || !strings.Contains(err.Error(), "audit trail") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	storetest.WantOK(t, b.Audit.Expire(t.Context()))
	if got := lines(t, b, audit.Query{}); !strings.Contains(got, "user old") {
		t.Errorf("an entry is deleted too early: %s", got)
	}
	b.Clock.Add(2 * 24 * time.Hour)
	n := storetest.Ask[int](t, file, `SELECT count(*) FROM audit WHERE name <> 'young'`)
	storetest.WantOK(t, b.Audit.Expire(t.Context()))
	got := lines(t, b, audit.Query{})
	if strings.Contains(got, "user old") || !strings.Contains(got, "user young") ||
		!strings.HasPrefix(got, "server expire audit entries before 20") || !strings.Contains(got, fmt.Sprintf("×%d", n)) {
		t.Errorf("after 61 days there is %s", got)
	}
}

// TestRepeatsAreCounted checks that a flood of failed sign-ins adds few entries, that equal events become
// one entry with a count, and that no user name is stored that is not an account.
func TestRepeatsAreCounted(t *testing.T) {
	b := bed(t)
	u := must(b.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	b.Clock.Add(time.Second)
	since := b.Clock.Time()
	from := func(address string) context.Context { return domain.WithAddress(t.Context(), address) }
	for range 50 {
		b.Audit.SignInFailed(from("2001:db8::1"), "ada")
		b.Audit.SignInFailed(from("2001:db8::2"), "my password")
		b.Audit.SignedIn(from("192.0.2.7"), domain.User{ID: u, Username: "ada", Key: "k"})
	}
	first := `account ada k 192.0.2.7 sign_in user ada () ×1
visitor 2001:db8::2 sign_in_failed user (unknown user name) ×1
visitor 2001:db8::1 sign_in_failed user ada () ×1
`
	want(t, lines(t, b, audit.Query{Since: &since}), first)
	b.Audit.Flush(t.Context())
	want(t, lines(t, b, audit.Query{Since: &since}), first)
	b.Clock.Add(time.Minute)
	since = b.Clock.Time()
	b.Audit.Flush(t.Context())
	b.Audit.Flush(t.Context())
	got := lines(t, b, audit.Query{Since: &since})
	for _, line := range []string{"account ada k 192.0.2.7 sign_in user ada () ×49\n", "visitor 2001:db8::1 sign_in_failed user ada () ×49\n",
		"visitor 2001:db8::2 sign_in_failed user (unknown user name) ×49\n"} {
		if !strings.Contains(got, line) || strings.Count(got, "\n") != 3 {
			t.Errorf("the counts are\n%s", got)
		}
	}

	// No two addresses are in the same network.
	b.Clock.Add(time.Hour)
	since = b.Clock.Time()
	at := netip.MustParseAddr("203.0.0.0")
	for range 1000 {
		at = at.Next()
		b.Audit.SignInFailed(from(at.String()), "ada")
	}
	b.Audit.Flush(t.Context())
	got = lines(t, b, audit.Query{Since: &since})
	if n := strings.Count(got, "\n"); n != 101 || !strings.HasPrefix(got, "visitor sign_in_failed user (other addresses and names) ×900\n") {
		t.Errorf("%d entries: %.300s", n, got)
	}
}
