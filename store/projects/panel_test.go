package projects_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/users"
)

// layout is a valid layout with all types of panels.
func layout() *projects.Layout {
	return &projects.Layout{Sections: []projects.Section{
		{Name: "Losses", Panels: []projects.Panel{
			{ID: "p1", Type: projects.LinePanel, Title: "both", Metrics: []string{"train/loss", "val/loss"}},
			{Type: projects.MetricPanel, Metrics: []string{"val/acc"}},
			{ID: "p2", Type: projects.BarPanel, X: "metric.val/loss.min"},
			{ID: "p3", Type: projects.ScatterPanel, X: "param.lr", Y: "metric.`two words`"},
			{ID: "p4", Type: projects.HistogramPanel, X: "param.seed"},
			{ID: "p5", Type: projects.TextPanel, Text: "# Notes"},
		}},
		{Name: "Validation", Prefix: new("val"), Panels: []projects.Panel{}},
		{Name: "Others", Prefix: new(""), Panels: []projects.Panel{}},
	}}
}

func TestViewLayout(t *testing.T) {
	b := newBed(t)
	layoutOf := func(id string) (*projects.Layout, error) {
		var found *projects.Layout
		err := b.View(ctx, domain.System, func(v *store.View) (err error) {
			found, err = v.Projects.ViewLayout(id)
			return err
		})
		return found, err
	}
	id := must(b.Projects.CreateSavedView(ctx, domain.System, b.Experiment, projects.NewSavedView{Name: "a", Panels: layout()}))(t).ID
	if l := must(layoutOf(id))(t); !reflect.DeepEqual(l, layout()) {
		t.Errorf("the layout is %+v", l)
	}
	plain := must(b.Projects.CreateSavedView(ctx, domain.System, b.Experiment, projects.NewSavedView{Name: "b", Panels: new(projects.Layout)}))(t).ID
	if l := must(layoutOf(plain))(t); l != nil {
		t.Errorf("the default layout is %+v", l)
	}
	views := must(b.Projects.SavedViews(ctx, domain.System, b.Experiment, domain.FirstPage))(t).Data
	if !views[0].HasPanels || views[1].HasPanels {
		t.Errorf("the views are %+v", views)
	}

	// A change without a layout keeps it, and an empty layout removes it.
	wantOK(t, b.Projects.UpdateSavedView(ctx, domain.System, id, projects.SavedViewPatch{Name: new("c")}))
	if l := must(layoutOf(id))(t); !reflect.DeepEqual(l, layout()) {
		t.Errorf("after a new name the layout is %+v", l)
	}
	wantOK(t, b.Projects.UpdateSavedView(ctx, domain.System, plain, projects.SavedViewPatch{Panels: layout()}))
	if l := must(layoutOf(plain))(t); !reflect.DeepEqual(l, layout()) {
		t.Errorf("the new layout is %+v", l)
	}
	wantOK(t, b.Projects.UpdateSavedView(ctx, domain.System, plain, projects.SavedViewPatch{Panels: new(projects.Layout)}))
	if l := must(layoutOf(plain))(t); l != nil {
		t.Errorf("the removed layout is %+v", l)
	}

	_, err := layoutOf("none")
	wantCode(t, err, domain.CodeNotFound)
	nobody := domain.Actor{UserID: must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "nobody", Password: "12345678"}))(t).ID}
	wantCode(t, b.View(ctx, nobody, func(v *store.View) error {
		_, err := v.Projects.ViewLayout(id)
		return err
	}), domain.CodeProjectPermissionRequired)
}

func TestInvalidLayout(t *testing.T) {
	b := newBed(t)
	id := must(b.Projects.CreateSavedView(ctx, domain.System, b.Experiment, projects.NewSavedView{Name: "a", Panels: layout()}))(t).ID
	panels := func(all ...projects.Panel) func(*projects.Layout) {
		return func(l *projects.Layout) { l.Sections[1].Panels = all }
	}
	many := make([]projects.Panel, projects.MaxPanels)
	for i := range many {
		many[i] = projects.Panel{ID: fmt.Sprint("x", i), Type: projects.TextPanel}
	}
	long := make([]projects.Panel, 5)
	for i := range long {
		long[i] = projects.Panel{ID: fmt.Sprint("x", i), Type: projects.TextPanel, Text: strings.Repeat("a", projects.MaxPanelText)}
	}
	for _, c := range []struct {
		name   string
		change func(*projects.Layout)
		field  string
		says   string
	}{
		{"section without a name", func(l *projects.Layout) { l.Sections[0].Name = " " }, "panels.sections[0].name", "must not be empty"},
		{"repeated prefix", func(l *projects.Layout) { l.Sections[2].Prefix = new("val") }, "panels.sections[2].prefix", `prefix "val"`},
		{"many sections", func(l *projects.Layout) { l.Sections = make([]projects.Section, projects.MaxSections+1) }, "panels", "at most 50 sections"},
		{"many panels", panels(many...), "panels", "at most 500 panels"},
		{"large layout", panels(long...), "panels", "at most 65536 are allowed"},
		{"unknown type", panels(projects.Panel{ID: "x", Type: "pie"}), "panels.sections[1].panels[0].type", "must be one of"},
		{"no id", panels(projects.Panel{Type: projects.TextPanel}), "panels.sections[1].panels[0].id", "must not be empty"},
		{"repeated id", panels(projects.Panel{ID: "p1", Type: projects.TextPanel}), "panels.sections[1].panels[0]", "occurs twice"},
		{"repeated metric", panels(projects.Panel{Type: projects.MetricPanel, Metrics: []string{"val/acc"}}), "panels.sections[1].panels[0]", "occurs twice"},
		{"two metrics", panels(projects.Panel{Type: projects.MetricPanel, Metrics: []string{"a", "b"}}), "panels.sections[1].panels[0]", "one metric"},
		{"no metrics", panels(projects.Panel{ID: "x", Type: projects.LinePanel}), "panels.sections[1].panels[0].metrics", "1 to 8"},
		{"many metrics", panels(projects.Panel{ID: "x", Type: projects.LinePanel, Metrics: strings.Split("a b c d e f g h i", " ")}), "panels.sections[1].panels[0].metrics", "1 to 8"},
		{"empty metric", panels(projects.Panel{ID: "x", Type: projects.LinePanel, Metrics: []string{""}}), "panels.sections[1].panels[0].metrics[0]", "names of metrics"},
		{"bars of metrics", panels(projects.Panel{ID: "x", Type: projects.BarPanel, X: "param.lr", Metrics: []string{"a"}}), "panels.sections[1].panels[0].metrics[0]", "names of metrics"},
		{"no value", panels(projects.Panel{ID: "x", Type: projects.BarPanel}), "panels.sections[1].panels[0].x", "Choose one"},
		{"two values", panels(projects.Panel{ID: "x", Type: projects.BarPanel, X: "param.lr, param.seed"}), "panels.sections[1].panels[0].x", "Choose one"},
		{"wrong value", panels(projects.Panel{ID: "x", Type: projects.ScatterPanel, X: "param.lr", Y: "lr <"}), "panels.sections[1].panels[0].y", "Choose one"},
		{"value too many", panels(projects.Panel{ID: "x", Type: projects.BarPanel, X: "param.lr", Y: "param.seed"}), "panels.sections[1].panels[0].y", "no value"},
		{"bars with text", panels(projects.Panel{ID: "x", Type: projects.BarPanel, X: "param.lr", Text: "a"}), "panels.sections[1].panels[0].text", "Only panels of type text"},
		{"long text", panels(projects.Panel{ID: "x", Type: projects.TextPanel, Text: strings.Repeat("a", projects.MaxPanelText+1)}), "panels.sections[1].panels[0].text", "at most 16384 bytes"},
		{"text that is not UTF-8", panels(projects.Panel{ID: "x", Type: projects.TextPanel, Text: "\xff"}), "panels.sections[1].panels[0].text", "UTF-8"},
	} {
		l := layout()
		c.change(l)
		_, err := b.Projects.CreateSavedView(ctx, domain.System, b.Experiment, projects.NewSavedView{Name: "x", Panels: l})
		wantCode(t, err, domain.CodeInvalidPayload)
		if e := domain.AsError(err); e.Field != c.field || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: field %q, message %q", c.name, e.Field, e.Message)
		}
		wantCode(t, b.Projects.UpdateSavedView(ctx, domain.System, id, projects.SavedViewPatch{Panels: l}), domain.CodeInvalidPayload)
	}

	// A layout that another program wrote into the file is checked, too.
	for _, text := range []string{`{`, `{"sections":[{"name":"","panels":[]}]}`} {
		if _, err := raw(t, b.Path()).Exec(`UPDATE experiment_view SET panels = ?`, text); err != nil {
			t.Fatal(err)
		}
		wantCode(t, b.View(ctx, domain.System, func(v *store.View) error {
			_, err := v.Projects.ViewLayout(id)
			return err
		}), domain.CodeInvalidPayload)
	}
}
