package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func projectJSON(id, name, description string, experiments, iterations int) string {
	return fmt.Sprintf(`{"id":%q,"name":%q,"description":%q,"created_by":"<any>","created_key":null,"owner":"<any>","created_date":%q,"experiment_count":%d,"iteration_count":%d}`,
		id, name, description, nowText, experiments, iterations)
}

func TestProjectHappyPath(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	created := a.do("POST", "/project", `{"name":"iris","description":"Fisher's flowers"}`, as(ada))
	id := created.id()
	created.located("/project/" + id).is(`{"id":"` + id + `"}`)
	a.get("/project/"+id, as(ada)).is(projectJSON(id, "iris", "Fisher's flowers", 0, 0))

	// The creator has all four permissions.
	a.get("/user/"+ada.id+"/permissions", as(ada)).is(pageJSON(1,
		grantJSON("<any>", ada, id, "iris", "create read update delete owner")))

	e := a.experiment(id)
	a.iteration(e)
	a.iteration(e)
	a.iteration(a.experiment(id))
	a.get("/project/"+id, as(ada)).is(projectJSON(id, "iris", "Fisher's flowers", 2, 3))

	a.do("PATCH", "/project/"+id, `{"name":"iris 2"}`, as(ada)).wants(204)
	a.get("/project/"+id, as(ada)).is(projectJSON(id, "iris 2", "Fisher's flowers", 2, 3))
	a.do("PATCH", "/project/"+id, `{"description":""}`, as(ada)).wants(204)
	a.get("/project/"+id, as(ada)).is(projectJSON(id, "iris 2", "", 2, 3))
	a.unchanged(func() {
		for _, same := range []string{`{}`, `{"name":null,"description":null}`, `{"name":"iris 2"}`} {
			a.do("PATCH", "/project/"+id, same, as(ada)).wants(204)
		}
	})
	a.do("DELETE", "/project/"+id, "", as(ada)).wants(204)
	a.get("/project/"+id, as(ada)).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/project/"+id, "", as(ada)).fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/project/"+id, `{"name":"x"}`, as(ada)).fails(404, "NOT_FOUND", "")
}

// Names from several languages and with characters that need escaping are returned unchanged.
func TestNamesComeBackAsTheyWere(t *testing.T) {
	a := start(t)
	for _, name := range []string{"a", " padded ", strings.Repeat("é", 250), "quote \" and \\ and <b>&amp;", "линия 線 🙂", "100%_", "'; DROP TABLE project; --", "NaN", "null"} {
		id := a.do("POST", "/project", fmt.Sprintf(`{"name":%s,"description":%s}`, quote(name), quote(name+"\n\t"))).id()
		a.get("/project/" + id).has(fmt.Sprintf(`{"name":%s,"description":%s}`, quote(name), quote(name+"\n\t")))
	}
}

func TestProjectsAreListedNewestFirst(t *testing.T) {
	a := start(t)
	var ids []string
	for range 3 {
		ids = append(ids, a.project(a.root), a.project(a.root))
		a.clock.move(time.Second)
	}
	for i, got := range a.get("/project").ids() {
		if want := ids[len(ids)-1-i]; got != want {
			t.Errorf("number %d is %s, want %s", i, got, want)
		}
	}
	// A project keeps its position in the list when it is changed.
	before := a.get("/project").ids()
	a.do("PATCH", "/project/"+ids[0], `{"name":"zzz"}`).wants(204)
	if after := a.get("/project").ids(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v became %v", before, after)
	}
}

func TestProjectsAreThoseThatTheUserMayRead(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	mine := a.project(ada)
	shared, blind := a.project(a.root), a.project(a.root)
	a.project(a.root)
	a.permit(ada, shared, "read")
	a.permit(ada, blind, "create update delete")
	a.get("/project", as(ada)).is(pageJSON(2,
		projectJSON(shared, "iris", "", 0, 0), projectJSON(mine, "iris", "", 0, 0)))
	a.get("/project?limit=1&offset=1", as(ada)).has(fmt.Sprintf(`{"data":[{"id":%q}],"total":2}`, mine))
	a.get("/project").has(`{"total":4}`)
	a.get("/project", as(a.user("bob"))).is(pageJSON(0))
}

func TestProjectsAreFoundByPartOfTheirName(t *testing.T) {
	a := start(t)
	for _, name := range []string{"Iris baseline", "iris sweep", "100% done", "a_b", `back\slash`, "mnist"} {
		a.do("POST", "/project", fmt.Sprintf(`{"name":%s}`, quote(name))).wants(201)
	}
	for query, want := range map[string]int{
		"iris": 2, "IRIS": 2, "is%20b": 1, "%25": 1, "_": 1, "%5C": 1, "nothing": 0, "": 6, "s": 4, "*": 0, "%27": 0,
	} {
		got := a.get("/project?name=" + query)
		if len(got.ids()) != want {
			t.Errorf("name=%s: %s, want %d", query, got.body, want)
		}
		got.has(fmt.Sprintf(`{"total":%d}`, want))
	}
	a.get("/project?name=iris&limit=1").has(`{"total":2,"limit":1}`)
}

// Deleting a record removes everything inside it and nothing else.
func TestDeleteTakesEverythingInside(t *testing.T) {
	for _, what := range []string{"project", "experiment", "iteration"} {
		t.Run(what, func(t *testing.T) {
			a := start(t)
			w, other := a.world(), a.world()
			a.do("PATCH", "/metric/"+w["metric"], `{"key":"moved","step":5}`).wants(204)
			inside := []string{"/parameter/" + w["parameter"], "/metric/" + w["metric"], "/iteration/" + w["iteration"],
				"/iteration/" + w["iteration"] + "/snapshot", "/tag/iteration/" + w["iteration"]}
			if what != "iteration" {
				inside = append(inside, "/experiment/"+w["experiment"], "/tag/experiment/"+w["experiment"])
			}
			if what == "project" {
				inside = append(inside, "/project/"+w["project"], "/tag/project/"+w["project"],
					"/userpermission/user/"+w["user"]+"/project/"+w["project"])
			}
			a.do("DELETE", "/"+what+"/"+w[what], "").wants(204)
			for _, path := range inside {
				a.get(path).fails(404, "NOT_FOUND", "")
			}
			for _, s := range samples {
				if s.method == "GET" {
					s.send(a, other).wants(200)
				}
			}
			a.emptyTrash()
			before, rest, _ := strings.Cut(a.state(), "\naudit (") // the audit trail names deleted records
			_, after, _ := strings.Cut(rest, "\nblob (")
			state := before + after
			for name, id := range w {
				if what == "project" && name != "user" && name != "key" && name != "other" && name != "metric" && strings.Contains(state, id) {
					t.Errorf("%s %s is left in\n%s", name, id, state)
				}
			}
		})
	}
}
