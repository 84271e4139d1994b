//go:build unix

package cmd

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// book holds the expected content of one iteration.
type book struct {
	id         string
	made       bool
	there      bool // whether the iteration exists: created and not removed
	trashed    bool // whether the iteration was removed and can be restored
	name       string
	parent     *book // nil for a book without a parent; the parent may have been removed
	status     string
	tags       map[string]bool
	parameters map[string]parameter // by key
	points     []point              // in the order of writing
}

type parameter struct{ id, value string }

func newBook(id string) *book {
	return &book{id: id, tags: map[string]bool{}, parameters: map[string]parameter{}}
}

func (b *book) clone() *book {
	c := *b
	c.tags, c.parameters, c.points = maps.Clone(b.tags), maps.Clone(b.parameters), slices.Clone(b.points)
	return &c
}

// open reports whether metrics and parameters may be written to the iteration.
func (b *book) open() bool { return b.there && b.status == "RUNNING" }

// parentID returns the id of the parent, or "" if the iteration has none or the parent was removed.
func (b *book) parentID() string {
	if b.parent == nil || !b.parent.there {
		return ""
	}
	return b.parent.id
}

// nextStep returns the step that the server gives to a point of the series key that is sent without
// a step.
func (b *book) nextStep(key string) int64 {
	next, found := int64(0), false
	for _, p := range b.points {
		if p.Key == key && (!found || p.Step >= next) {
			next, found = p.Step+1, true
		}
	}
	return next
}

// index returns the index of the point with the given id.
func (b *book) index(id string) int {
	return slices.IndexFunc(b.points, func(p point) bool { return p.ID == id })
}

// listed returns pointers to the points in the order in which the server lists them, so that learn
// can set their ids.
func (b *book) listed() []*point {
	all := make([]*point, len(b.points))
	for i := range b.points {
		all[i] = &b.points[i]
	}
	slices.SortStableFunc(all, func(p, q *point) int { return cmp.Compare(p.Step, q.Step) })
	return all
}

// readBook reads an iteration through the API.
func readBook(t testing.TB, w *conn, id string) *book {
	t.Helper()
	b := newBook(id)
	var record struct {
		Name   string   `json:"name"`
		Parent string   `json:"parent_iteration_id"` // null leaves it empty
		Status string   `json:"status"`
		Tags   []string `json:"tags"`
	}
	b.there = w.read(t, "/iteration/"+id, &record)
	b.name, b.status = record.Name, record.Status
	if record.Parent != "" {
		b.parent = &book{id: record.Parent, there: true}
	}
	for _, tag := range record.Tags {
		if b.tags[tag] {
			t.Errorf("iteration %s has the tag %q twice", id, tag)
		}
		b.tags[tag] = true
	}
	parameters, found := readAll[struct{ ID, Key, Value string }](t, w, "/parameter/iteration/"+id)
	if found != b.there {
		t.Errorf("iteration %s: found is %v, its parameters %v", id, b.there, found)
	}
	for _, p := range parameters {
		if _, twice := b.parameters[p.Key]; twice {
			t.Errorf("iteration %s has the parameter %q twice", id, p.Key)
		}
		b.parameters[p.Key] = parameter{p.ID, p.Value}
	}
	b.points, found = readAll[point](t, w, "/metric/iteration/"+id)
	if found != b.there {
		t.Errorf("iteration %s: found is %v, its metrics %v", id, b.there, found)
	}
	return b
}

// differs describes the differences between got and b, or returns "". An unknown id in b matches
// any id.
func (b *book) differs(got *book) string {
	if !b.there || !got.there {
		if b.there != got.there {
			return fmt.Sprintf("there is %v, want %v", got.there, b.there)
		}
		return ""
	}
	var all []string
	compare := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			all = append(all, fmt.Sprintf("%s: %v, want %v", what, got, want))
		}
	}
	compare("name", got.name, b.name)
	compare("parent", got.parentID(), b.parentID())
	compare("status", got.status, b.status)
	compare("tags", got.tags, b.tags)
	compare("parameters", len(got.parameters), len(b.parameters))
	for key, want := range b.parameters {
		have := got.parameters[key]
		if want.id == "" {
			want.id = have.id
		}
		compare("parameter "+key, have, want)
	}
	compare("points", len(got.points), len(b.points))
	for i, want := range b.listed() {
		if i >= len(got.points) || len(all) > 5 {
			break
		}
		have := got.points[i]
		if have.Key != want.Key || have.Step != want.Step || !have.Value.same(want.Value) || want.ID != "" && have.ID != want.ID {
			all = append(all, fmt.Sprintf("point %d: %v, want %v", i, have, *want))
		}
	}
	return strings.Join(all, "; ")
}

// learn copies unknown ids from got, which must otherwise be equal. It does not change a removed
// iteration.
func (b *book) learn(got *book) {
	if !b.there {
		return
	}
	for key, p := range got.parameters {
		b.parameters[key] = p
	}
	for i, p := range b.listed() {
		p.ID = got.points[i].ID
	}
}
