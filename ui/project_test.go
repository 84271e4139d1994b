package ui_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/users"
)

func TestProjects(t *testing.T) {
	s := start(t, setup{})
	s.project("default", "iris", "Softmax classifiers\non 150 measurements", 2, 3)
	s.clock.move(3 * time.Hour)
	s.project("default", "mnist", "", 0, 0)
	s.clock.move(10 * time.Minute)

	a := s.get("/")
	a.wants(t, 200,
		`<bdi class="name">iris</bdi></a> <bdi class="description">Softmax classifiers …</bdi>`,
		`data-label="Experiments">2<`, `data-label="Runs">6<`,
		`<time datetime="2026-11-21T09:30:00Z" title="21 Nov 2026, 09:30:00 UTC">3 hours ago</time>`,
		`>10 minutes ago</time>`,
		`data-testid="found">2<`)
	if strings.Index(a.body, "mnist") > strings.Index(a.body, "iris") {
		t.Error("the newest project is not the first")
	}
	a.lacks(t, `data-testid="lesson"`, `aria-label="Pages"`, "150 measurements")

	found := s.get("/?q=RI")
	found.wants(t, 200, "iris", `value="RI"`, `data-testid="found">1 found<`)
	found.lacks(t, `class="name">mnist`)
	s.get("/?q=100%25").wants(t, 200, "No project has “<bdi>100%</bdi>” in its name.")
	s.get("/?q=%ff%00").wants(t, 200, `data-testid="nothing"`)
	s.get("/?q="+strings.Repeat("a", 60_000)).wants(t, 200, `data-testid="nothing"`)
}

func TestProjectPages(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	for i := range 7 {
		s.project("default", fmt.Sprintf("sweep %d", i), "", 0, 0)
	}
	for _, tc := range []struct{ query, shown, previous, next string }{
		{"", "", "", ""},
		{"?limit=3", "1–3 of 7", "", "/lab/?limit=3&offset=3"},
		{"?limit=3&offset=3", "4–6 of 7", "/lab/?limit=3", "/lab/?limit=3&offset=6"},
		{"?limit=3&offset=6", "7–7 of 7", "/lab/?limit=3&offset=3", ""},
		{"?limit=3&offset=2&q=sweep", "3–5 of 7", "/lab/?limit=3&q=sweep", "/lab/?limit=3&offset=5&q=sweep"},
		{"?offset=5", "6–7 of 7", "/lab/?", ""},
		{"?limit=0", "", "", ""},
		{"?limit=-1&offset=-1", "", "", ""},
		{"?limit=x&offset=x", "", "", ""},
		{"?limit=100000", "", "", ""},
		{"?limit=99999999999999999999", "", "", ""},
	} {
		t.Run(tc.query, func(t *testing.T) {
			a := s.get("/lab/" + tc.query)
			a.wants(t, 200, `data-testid="project"`)
			for what, want := range map[string]string{
				`data-testid="shown">([^<]*)<`: tc.shown,
				`rel="prev" href="([^"]*)"`:    tc.previous,
				`rel="next" href="([^"]*)"`:    tc.next,
			} {
				if got := find(a.body, what); got != want {
					t.Errorf("%s is %q, want %q", what, got, want)
				}
			}
		})
	}
	for _, offset := range []string{"7", "1000", "9223372036854775807"} {
		a := s.get("/lab/?limit=3&offset=" + offset)
		a.wants(t, 200, "This page is past the end of the list.", `href="/lab/?limit=3"`)
		a.lacks(t, `rel="next"`, `rel="prev"`)
	}
}

// find returns the first group of a pattern in a page, without escapes.
func find(body, pattern string) string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

func TestMarkupInText(t *testing.T) {
	const bad = `</bdi><script>alert(1)</script>"'><img src=x onerror=alert(1)>&amp;`
	s := start(t, setup{auth: true})
	s.project("alice", bad, bad, 0, 0)
	cookie := s.signIn("alice")
	escaped := html.EscapeString(bad)
	a := s.get("/", with(cookie))
	a.wants(t, 200, `<bdi class="name">`+escaped+`</bdi></a>`, `<bdi class="description">`+escaped+`</bdi>`)
	for _, page := range []answer{
		a,
		s.get("/?q="+url.QueryEscape(bad), with(cookie)),
		s.get("/?q=x"+url.QueryEscape(bad), with(cookie)),
		s.get("/?limit="+url.QueryEscape(bad), with(cookie)),
		s.get("/login?next=" + url.QueryEscape("/"+bad)),
		s.get("/"+url.PathEscape(bad), with(cookie)),
		s.post("/login", credentials(bad, bad, "/"+bad)),
	} {
		page.lacks(t, "<script>alert", "<img")
	}
}

func TestProjectsOfOthers(t *testing.T) {
	s := start(t, setup{auth: true})
	shared := s.project("alice", "shared project", "", 1, 1)
	writable := s.project("alice", "unreadable project", "", 1, 1)
	s.project("alice", "secret project", "", 1, 1)
	no := false
	for id, p := range map[string]users.PermissionPatch{shared: {}, writable: {Read: &no}} {
		if _, err := s.db.Users.CreateUserPermission(t.Context(), domain.System, s.actor("bob").UserID, id, p); err != nil {
			t.Fatal(err)
		}
	}
	bob := with(s.signIn("bob"))
	a := s.get("/", bob)
	a.wants(t, 200, "shared project", `data-testid="found">1<`)
	a.lacks(t, "secret project", "unreadable project")
	s.get("/?q=secret", bob).wants(t, 200, `data-testid="nothing"`)
	s.get("/", with(s.signIn("alice"))).wants(t, 200, "secret project", `data-testid="found">3<`)
}

func TestFirstSteps(t *testing.T) {
	for _, auth := range []bool{false, true} {
		t.Run(fmt.Sprint("auth ", auth), func(t *testing.T) {
			s := start(t, setup{auth: auth, base: "/lab"})
			var edits []edit
			if auth {
				edits = append(edits, with(s.signIn("bob")))
			}
			a := s.get("/lab/", edits...)
			a.wants(t, 200, `data-testid="lesson"`)
			lines := find(a.body, `(?s)data-testid="lines">(.*?)</pre>`)
			for _, want := range []string{
				"API='http://127.0.0.1:9000/lab'",
				`"$API/project"`,
				`"$API/experiment/project/$PROJECT"`,
				`"$API/iteration/experiment/$EXPERIMENT"`,
				`"$API/metric/iteration/$ITERATION"`,
				`'{"key": "loss", "value": 0.25}'`,
			} {
				if !strings.Contains(lines, want) {
					t.Errorf("no %s in\n%s", want, lines)
				}
			}
			bearers := strings.Count(lines, `-H "Authorization: Bearer $TOKEN"`)
			if want := map[bool]int{true: 4}[auth]; bearers != want {
				t.Errorf("%d lines send a token, want %d", bearers, want)
			}
			if signsIn := strings.Contains(lines, `"$API/auth"`); signsIn != auth {
				t.Errorf("there is a line that signs in: %t", signsIn)
			}
			// A search without results shows no lesson.
			s.get("/lab/?q=x", edits...).lacks(t, `data-testid="lesson"`)
		})
	}
}

func TestFirstStepsQuoteTheName(t *testing.T) {
	const name = `o'brien "$(id)" \ <b>`
	s := start(t, setup{auth: true})
	_, err := s.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: name, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	a := s.get("/", with(s.signIn(name)))
	body := find(a.body, `-d &#39;(\{&#34;username.*\})&#39; \|`)
	if strings.Contains(body, "'") {
		t.Errorf("a quote ends the argument: %s", body)
	}
	var got struct{ Username string }
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Username != name {
		t.Errorf("%s names %q (%v)", body, got.Username, err)
	}
}
