package server_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/users"
)

// TestAuditTrail checks that requests have entries with the account, the key and the address, and that
// only admins can read them.
func TestAuditTrail(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	key, err := a.db.Users.CreateAPIKey(t.Context(), domain.System, ada.id, users.NewAPIKey{Name: "cluster"})
	a.must(err)
	by := as(person{id: ada.id, token: key.Key})
	project := a.do("POST", "/project", `{"name":"iris"}`, by).wants(201).id()
	experiment := a.do("POST", "/experiment/project/"+project, `{"name":"sweep"}`, by).wants(201).id()
	run := a.do("POST", "/iteration/experiment/"+experiment, `{"name":"first"}`, by).wants(201).id()
	a.do("DELETE", "/iteration/"+run, "", by).wants(204)
	a.do("POST", "/trash/"+run+"/restore", "", by).wants(204)
	a.do("GET", "/project/"+project+"/archive", "", by).wants(200)
	a.do("POST", "/auth", `{"username":"ada","password":"`+password+`"}`).wants(200)
	for range 3 {
		a.do("POST", "/auth", `{"username":"ada","password":"wrong password"}`).wants(401)
	}
	entries := func(query string) answer { return a.get("/audit?" + query).wants(200) }
	entries("record=" + run).has(`{"next":null,"data":[
		{"source":"account","actor":"ada","key":"cluster","address":"127.0.0.1","action":"restore","kind":"iteration","name":"first","count":1},
		{"source":"account","actor":"ada","key":"cluster","address":"127.0.0.1","action":"delete","kind":"iteration","name":"first","count":1}]}`)
	entries("action=export").has(`{"data":[{"actor":"ada","kind":"project","record_id":"` + project + `","name":"iris"}]}`)
	entries("action=sign_in&record=" + ada.id).has(`{"data":[{"source":"account","actor":"ada","address":"127.0.0.1"}]}`)
	entries("action=sign_in_failed").has(`{"data":[{"source":"visitor","actor":"","address":"127.0.0.1","name":"ada","record_id":"` + ada.id + `","count":1}]}`)
	entries("limit=1&until=" + url.QueryEscape("2000-01-01T00:00:00Z")).has(`{"data":[],"next":null}`)
	var page struct{ Next string }
	a.must(json.Unmarshal([]byte(entries("limit=1").body), &page))
	entries("limit=1&cursor=" + page.Next).has(`{"data":[{"count":1}],"next":"<any>"}`)
	if all := entries("limit=1000").body; strings.Contains(all, password) || strings.Contains(all, "wrong password") || strings.Contains(all, key.Key) {
		t.Error("an entry contains a secret")
	}
	for _, name := range []string{"since", "cursor", "action", "kind"} {
		a.get("/audit?"+name+"=x").fails(422, "INVALID_PAYLOAD", name)
	}
	a.do("GET", "/audit", "", by).wants(403)

	// Only those who may delete in the project can purge a record.
	a.do("DELETE", "/iteration/"+run, "", by).wants(204)
	eve := a.user("eve")
	a.do("DELETE", "/trash/"+run, "", as(eve)).wants(403)
	a.permit(eve, project, "create read update")
	a.do("DELETE", "/trash/"+run, "", as(eve)).wants(403)
	a.permit(eve, project, "delete")
	a.do("DELETE", "/trash/"+run, "", as(eve)).wants(204)
	entries("action=purge").has(`{"data":[{"actor":"eve","kind":"iteration","name":"first","record_id":"` + run + `"}]}`)
}

// TestAuditWithoutSignIn checks that everybody can read the audit trail if sign-in is off, and that
// entries name no account.
func TestAuditWithoutSignIn(t *testing.T) {
	a := startWith(t, setup{open: true})
	project := a.do("POST", "/project", `{"name":"iris"}`).wants(201).id()
	a.do("DELETE", "/project/"+project, "").wants(204)
	a.get("/audit?record=" + project).wants(200).has(`{"data":[{"source":"open","actor":"","action":"delete","kind":"project","name":"iris"}]}`)
}
