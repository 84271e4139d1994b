package runs_test

import (
	"encoding/json"
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/storetest"
	"tracker/store/users"
)

// TestText checks that each value is read back with its type.
func TestText(t *testing.T) {
	for _, c := range []struct{ value, stored string }{
		{`"ckpt-3"`, `ckpt-3`},
		{`"3"`, `3`},
		{`true`, `true`},
		{`"true"`, `"true"`},
		{`null`, `null`},
		{`["a", 1]`, `["a", 1]`},
		{`"[1]"`, `"[1]"`},
		{`""`, ``},
		{`"\"x"`, `"\"x"`},
	} {
		text, ok := scalar.SummaryTextOf(c.value)
		if !ok || string(text) != c.stored {
			t.Errorf("%s is stored as %q, %v, want %q", c.value, text, ok, c.stored)
		}
		back := must(json.Marshal(text))(t)
		var got, want any
		if json.Unmarshal(back, &got) != nil || json.Unmarshal([]byte(c.value), &want) != nil || string(must(json.Marshal(got))(t)) != string(must(json.Marshal(want))(t)) {
			t.Errorf("%s is read back as %s", c.value, back)
		}
	}
	for _, value := range []string{`3`, `{"a": 1}`, `NaN`, `"x`} {
		if text, ok := scalar.SummaryTextOf(value); ok {
			t.Errorf("%s is stored as %q, want no text", value, text)
		}
	}
	if got := string(must(json.Marshal(scalar.SummaryText(`[NaN]`)))(t)); got != `"[NaN]"` {
		t.Errorf("an invalid list is read back as %s", got)
	}
}

// TestSummaryTexts filters, sorts, groups and lists by texts of summaries.
func TestSummaryTexts(t *testing.T) {
	b := newBed(t)
	run := func(name string, texts ...domain.Property) string {
		t.Helper()
		id := must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: &name}))(t).ID
		if err := b.Runs.SetProperties(ctx, domain.System, runs.IterationProperty, id, texts); err != nil {
			t.Fatal(err)
		}
		return id
	}
	text := func(name, value string) domain.Property { return runs.TextProperty(name, scalar.SummaryText(value)) }
	first := run("a", text("best_ckpt", "ckpt-3"), text("phase", "main"), text("ok", "true"), text("version", "10"))
	gone := run("b", text("best_ckpt", "ckpt-10"), text("phase", "warm-up"), text("version", "9"))
	run("c", text("phase", "main"))

	search1 := func(where, sort string) string {
		t.Helper()
		found := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Filter: where, Sort: sort, Columns: "summary.phase, summary.ok", Page: domain.FirstPage}))(t)
		names := ""
		for _, it := range found.Data {
			if it.Texts["phase"] != "" {
				names += it.Name
			}
		}
		return names
	}
	for _, c := range []struct{ where, sort, want string }{
		{"summary.best_ckpt = 'ckpt-3'", "name", "a"},
		{"summary.phase = 'main'", "name", "ac"},
		{"summary.phase != 'main'", "name", "b"},
		{"summary.ok = 'true'", "name", "a"},
		{"summary.version > 9", "name", "a"},
		{"summary.phase ~ 'WARM'", "name", "b"},
		{"not summary.best_ckpt ~ ''", "name", "c"},
		{"", "summary.version", "bac"},
		{"", "-summary.phase, name", "bac"},
		{"summary.nothing = 'x'", "", ""},
	} {
		if got := search1(c.where, c.sort); got != c.want {
			t.Errorf("filter %q, sort %q: found %q, want %q", c.where, c.sort, got, c.want)
		}
	}

	groups := must(storetest.Groups(ctx, b.DB, domain.System, b.Experiment, runs.GroupQuery{By: "summary.phase", Sort: "summary.phase", Page: domain.FirstPage}))(t)
	var sizes []int
	for _, g := range groups.Data {
		sizes = append(sizes, g.Iterations)
	}
	if groups.Total != 3 || len(sizes) != 3 || sizes[0] != 2 || sizes[1] != 1 {
		t.Errorf("the groups are %+v, want main with 2 runs, warm-up with 1, and the run without a phase", groups.Data)
	}

	names := func() map[string]int {
		t.Helper()
		kind := search.SummaryKey
		found := map[string]int{}
		for _, k := range must(b.Runs.Keys(ctx, domain.System, b.Experiment, runs.KeyQuery{Kind: &kind, Page: domain.FirstPage}))(t).Data {
			found[k.Key] = k.Iterations
		}
		return found
	}
	check := func(what string, phases, versions int) {
		t.Helper()
		if got := names(); got["phase"] != phases || got["version"] != versions {
			t.Errorf("%s: the names are %v, want %d phases and %d versions", what, got, phases, versions)
		}
		storetest.WantClean(t, b.DB)
	}
	check("at first", 3, 2)
	if err := b.Runs.DeleteProperty(ctx, domain.System, runs.IterationProperty, first, scalar.SummaryPrefix+"version"); err != nil {
		t.Fatal(err)
	}
	check("after a deletion", 3, 1)
	if err := b.Runs.DeleteIteration(ctx, domain.System, gone); err != nil {
		t.Fatal(err)
	}
	check("with a run in the trash", 2, 0)

	summary := must(b.Runs.Summary(ctx, domain.System, first))(t)
	if got := string(must(json.Marshal(summary.Texts))(t)); got != `{"best_ckpt":"ckpt-3","ok":true,"phase":"main"}` {
		t.Errorf("the texts are %s", got)
	}
}

// TestTextsAreLogged checks that an account that may only create can replace texts of a running
// run, and nothing else.
func TestTextsAreLogged(t *testing.T) {
	b := newBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	must(b.Users.CreateUserPermission(ctx, domain.System, user, b.Project, users.PermissionPatch{Create: new(true), Read: new(true), Update: new(false), Delete: new(false)}))(t)
	bob := domain.Actor{UserID: user}
	set := func(p domain.Property) error {
		return b.Runs.SetProperties(ctx, bob, runs.IterationProperty, b.Iteration, []domain.Property{p})
	}
	for _, value := range []string{"warm-up", "main"} {
		storetest.WantOK(t, set(runs.TextProperty("phase", scalar.SummaryText(value))))
	}
	storetest.WantOK(t, set(domain.Property{Key: "other", Value: "1"}))
	storetest.WantCode(t, set(domain.Property{Key: "other", Value: "2"}), domain.CodeProjectPermissionRequired)
	storetest.WantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.Iteration, runs.IterationPatch{Status: new(domain.Succeeded)}))
	storetest.WantCode(t, set(runs.TextProperty("phase", scalar.SummaryText("later"))), domain.CodeProjectPermissionRequired)
	if got := must(b.Runs.Summary(ctx, bob, b.Iteration))(t).Texts["phase"]; got != "main" {
		t.Errorf("the phase is %q, want main", got)
	}
}
