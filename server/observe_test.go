package server_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracker/server"
	"tracker/store/sqlite"
)

func TestServerMetricsHaveThePromisedFamilies(t *testing.T) {
	a := start(t)
	w := a.world()
	a.get("/project/" + w["project"]).wants(200)
	a.get("/project/" + w["project"] + "/").wants(200)
	a.get("/project/" + nobody).wants(404)
	a.do("POST", "/metric/iteration/"+w["iteration"], `{"key":"loss","value":1}`).wants(201)
	a.do("PROPFIND", "/project", "").wants(405)
	a.get("/etc/passwd").wants(404)
	got := a.get("/metrics").wants(200)
	if ct := got.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain") {
		t.Errorf("it is %s", ct)
	}
	for _, want := range []string{
		`tracker_http_requests_total{method="GET",route="/project/{id}",status="200"} 2`,
		`tracker_http_requests_total{method="GET",route="/project/{id}",status="404"} 1`,
		`tracker_http_requests_total{method="POST",route="/metric/iteration/{iteration_id}",status="201"} 1`,
		`tracker_http_requests_total{method="other",route="/project",status="405"} 1`,
		`tracker_http_requests_total{method="GET",route="",status="404"} 1`,
		`tracker_http_request_seconds_count{method="GET",route="/project/{id}"} 3`,
		`tracker_write_queue_length 0`,
		`tracker_commit_failures_total 0`,
	} {
		if !strings.Contains(got.body, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for _, want := range []string{`tracker_commit_pieces_sum (\S+)`, `tracker_commit_pieces_count (\S+)`, `tracker_commit_seconds_count (\S+)`,
		`tracker_commit_seconds_sum (\S+)`, `tracker_database_bytes (\S+)`, `tracker_wal_bytes (\S+)`, `go_goroutines (\S+)`} {
		found := regexp.MustCompile(`(?m)^` + want + `$`).FindStringSubmatch(got.body)
		if found == nil || found[1] == "0" || strings.HasPrefix(found[1], "-") {
			t.Errorf("%s is %v", want, found)
		}
	}
	// Ids in labels would create a time series for every record.
	for _, id := range w {
		if strings.Contains(got.body, id) {
			t.Errorf("%s is in it", id)
		}
	}
	// Every metric family has a help text and a type.
	for name := range strings.SplitSeq(got.body, "\n") {
		if family, ok := strings.CutPrefix(name, "# TYPE "); ok && !strings.Contains(got.body, "# HELP "+strings.Fields(family)[0]+" ") {
			t.Errorf("%s has no help", family)
		}
	}
}

type logLine struct {
	Level     string `json:"level"`
	Method    string `json:"method"`
	Route     string `json:"route"`
	Status    int    `json:"status"`
	Took      *int64 `json:"took"`
	User      string `json:"user"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
}

// lines stops the server, so that the log is complete, and returns the lines of the log.
func (a api) lines() []logLine {
	a.t.Helper()
	a.server.Close()
	var all []logLine
	for text := range strings.Lines(a.log.String()) {
		var l logLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			a.t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

func TestRequestLogSaysWhoDidWhat(t *testing.T) {
	a := start(t)
	ada, w := a.user("ada"), a.world()
	id := func(n int) opt { return header("X-Request-Id", fmt.Sprint("request-", n)) }
	a.get("/project/"+w["project"], id(0)).wants(200)
	a.get("/project/"+w["project"], as(ada), id(1)).wants(403)
	a.get("/health", anonymous, id(2)).wants(200)
	a.do("POST", "/metric/iteration/"+w["iteration"]+"/", `{"key":"loss","value":1}`, id(3)).wants(201)
	a.do("PUT", "/project", "", anonymous, id(4)).wants(405)
	a.get("/nothing", id(5)).wants(404)
	a.get("/project", anonymous, id(6)).wants(401)
	a.do("POST", "/project", `{"name":"x"}`, append(fromPage(stranger), id(7))...).wants(403)
	want := []logLine{
		{Method: "GET", Route: "/project/{id}", Status: 200, User: "default"},
		{Method: "GET", Route: "/project/{id}", Status: 403, User: "ada"},
		{Method: "GET", Route: "/health", Status: 200},
		{Method: "POST", Route: "/metric/iteration/{iteration_id}", Status: 201, User: "default"},
		{Method: "PUT", Route: "/project", Status: 405},
		{Method: "GET", Route: "", Status: 404},
		{Method: "GET", Route: "/project", Status: 401},
		{Method: "POST", Route: "", Status: 403},
	}
	got := a.lines()
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for n, l := range got {
		if l.Took == nil || *l.Took < 0 {
			t.Errorf("line %d has no duration", n)
		}
		want[n].Level, want[n].Took, want[n].RequestID = "INFO", l.Took, fmt.Sprint("request-", n)
		if l != want[n] {
			t.Errorf("line %d is %+v, want %+v", n, l, want[n])
		}
	}
}

// The cause of a failure is logged with the request id and is not sent to the client.
func TestFailureIsLoggedAndNotSent(t *testing.T) {
	a := start(t)
	a.must(a.db.Close())
	got := a.get("/project", header("X-Request-Id", "mine")).wants(503)
	got.fails(503, "UNAVAILABLE", "")
	if got.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	a.get("/health", anonymous).fails(503, "UNAVAILABLE", "")
	lines := a.lines()
	if l := lines[0]; l.Level != "ERROR" || l.Status != 503 || l.RequestID != "mine" || l.Error == "" {
		t.Errorf("the log says %+v", l)
	}
	a.open() // the cleanup of the test closes it
}

func TestServerErrorTellsNothing(t *testing.T) {
	a := start(t)
	project := a.project(a.root)
	db, err := sql.Open("sqlite", sqlite.DSN(a.file))
	a.must(err)
	_, err = db.ExecContext(t.Context(), `DROP TABLE tag`)
	a.must(errors.Join(err, db.Close()))
	got := a.get("/tag/project/"+project, header("X-Request-Id", "mine")).fails(500, "SERVER_ERROR", "")
	if strings.Contains(got.body, "table") || strings.Contains(got.body, "SELECT") {
		t.Errorf("it tells %s", got.body)
	}
	a.get("/project/" + project).wants(200)
	if l := a.lines()[0]; l.Level != "ERROR" || l.Status != 500 || l.RequestID != "mine" || !strings.Contains(l.Error, "no such table: tag") {
		t.Errorf("the log says %+v", l)
	}
}

func TestRequestLogHasNoSecrets(t *testing.T) {
	a := start(t)
	const hidden = "s3cr3t-in-a-body"
	ada := a.user("ada")
	w := a.world()
	var tokens []string
	for _, s := range samples {
		path, body := s.in(a, w)
		query := "?name=" + hidden
		tokens = append(tokens, a.do("POST", "/auth", credentials("ada", password), anonymous).session().AccessToken)
		a.do(s.method, path+query, body, as(ada), header("Cookie", "c="+hidden), header("Idempotency-Key", hidden))
		if s.body != "" {
			a.do(s.method, path, `{"`+hidden+`":"`+hidden+`"}`)
		}
	}
	a.do("POST", "/auth", credentials(hidden, hidden), anonymous).wants(401)
	a.get("/project/unknown", header("Authorization", "Bearer "+hidden)).wants(401)
	a.get("/unknown?" + hidden).wants(404)
	lines := a.lines()
	if len(lines) < 2*len(samples) {
		t.Errorf("only %d lines", len(lines))
	}
	text := a.log.String()
	for _, secret := range append(tokens, hidden, password, ada.token, a.root.token, "Bearer") {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	templates := []string{""}
	for _, r := range server.Routes() {
		templates = append(templates, r[1])
	}
	for _, l := range lines {
		if !slices.Contains(templates, l.Route) {
			t.Errorf("%q is not a template", l.Route)
		}
	}
}
