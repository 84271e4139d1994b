package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestTagHappyPath(t *testing.T) {
	a := start(t)
	w := a.world()
	for _, kind := range []string{"project", "experiment", "iteration"} {
		t.Run(kind, func(t *testing.T) {
			a := a.on(t)
			path := "/tag/" + kind + "/" + w[kind]
			a.do("DELETE", path+"/old", "").wants(204)
			a.get(path).is(pageJSON(0))
			created := a.do("POST", path, `{"value":"baseline"}`)
			id := created.id()
			created.located(path + "/baseline").is(`{"id":"` + id + `"}`)

			// Attaching the same tag again succeeds and changes nothing.
			a.unchanged(func() {
				again := a.do("POST", path, `{"value":"baseline"}`).wants(200)
				again.is(`{"id":"` + id + `"}`)
				if place := again.header.Get("Location"); place != "" {
					t.Errorf("Location is %q though nothing was made", place)
				}
			})
			for _, value := range []string{"zebra", "Apple", "apple"} {
				a.do("POST", path, fmt.Sprintf(`{"value":%q}`, value)).wants(201)
			}
			var want []string
			for _, value := range []string{"Apple", "apple", "baseline", "zebra"} {
				want = append(want, fmt.Sprintf(`{"id":"<any>","value":%q,"created_date":%q}`, value, nowText))
			}
			a.get(path).is(pageJSON(4, want...))
			a.do("DELETE", path+"/baseline", "").wants(204)
			a.do("DELETE", path+"/baseline", "").fails(404, "NOT_FOUND", "")
			a.do("DELETE", path+"/BASELINE", "").fails(404, "NOT_FOUND", "")
			a.get(path).has(`{"total":3}`)
		})
	}
}

// The path that removes a tag contains its value, which can have any characters.
func TestTagLocationTakesItOff(t *testing.T) {
	a := startWith(t, setup{base: "/x"})
	path := "/tag/iteration/" + a.running()
	for _, value := range []string{"a/b", "/", "a b", "100%", "50%25", "?q=1", "#1", "a+b", "..", ".", "線 🙂", "é", `"`, "a;b", "a/", "%2F", strings.Repeat("線", 250)} {
		t.Run(value, func(t *testing.T) {
			a := a.on(t)
			place := a.do("POST", path, fmt.Sprintf(`{"value":%s}`, quote(value))).wants(201).header.Get("Location")
			a.get(path).has(`{"data":[{"value":` + quote(value) + `}]}`)
			a.send("DELETE", place, "").wants(204)
			a.get(path).is(pageJSON(0))
			a.do("POST", path, fmt.Sprintf(`{"value":%s}`, quote(value))).wants(201)
			a.do("DELETE", path+"/"+url.PathEscape(value)+"/", "").wants(204)
		})
	}
}

func TestTagKinds(t *testing.T) {
	a := start(t)
	w := a.world()
	for _, kind := range []string{"metric", "parameter", "user", "Project", "projects", "x"} {
		for _, id := range w {
			path := "/tag/" + kind + "/" + id
			a.get(path).fails(404, "NOT_FOUND", "")
			a.do("POST", path, `{"value":"x"}`).fails(404, "NOT_FOUND", "")
			a.do("DELETE", path+"/old", "").fails(404, "NOT_FOUND", "")
		}
	}
}

func TestTagsOfOneRecordAreItsOwn(t *testing.T) {
	a := start(t)
	w, other := a.world(), a.world()
	for _, kind := range []string{"project", "experiment", "iteration"} {
		a.do("POST", "/tag/"+kind+"/"+w[kind], fmt.Sprintf(`{"value":"to a %s"}`, kind)).wants(201)
	}
	for _, kind := range []string{"project", "experiment", "iteration"} {
		a.get("/tag/" + kind + "/" + w[kind]).has(fmt.Sprintf(`{"data":[{"value":"old"},{"value":"to a %s"}]}`, kind))
		a.get("/tag/" + kind + "/" + other[kind]).has(`{"data":[{"value":"old"}]}`)
	}
}
