package ui_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/domain"
	"tracker/store/runs"
)

// analysisOf is the data of the Analyse tab.
type analysisOf struct {
	Wrong  *struct{ Message string }
	Metric string
	Goal   string
	Label  string
	Rows   []struct {
		Name  string
		Known bool
		Words []string
		Best  *struct{ From, To float64 }
		Curve []struct {
			Value string
			Mean  any
		}
	}
	Next struct {
		Words string
		Runs  []struct {
			Settings []struct{ Name, Value string }
			Result   string
			Command  string
		}
	}
	Summary string
}

func (s *site) data(path string, into any) {
	s.t.Helper()
	answer := s.get(path)
	if answer.StatusCode != 200 {
		s.t.Fatalf("%s: %d %s", path, answer.StatusCode, answer.body)
	}
	if err := json.Unmarshal([]byte(answer.body), into); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
}

func TestAnalysisData(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 120)
	for _, id := range ids {
		record := must(s.db.Runs.Iteration(t.Context(), domain.System, id))(t)
		params := map[string]string{}
		for _, p := range must(s.db.Runs.Parameters(t.Context(), domain.System, id, domain.Page{Limit: 10}))(t).Data {
			params[p.Key] = string(p.Value)
		}
		command := fmt.Sprintf("python 'my train.py' --lr=%s --optimizer %s --batch-size %s --name %q", params["lr"], params["optimizer"], params["batch_size"], record.Name)
		must(s.db.Runs.CreateSnapshot(t.Context(), domain.System, id, runs.NewSnapshot{Command: command}))(t)
	}
	path := "/data/experiment/" + experiment + "/analysis"
	var a analysisOf
	s.data(path, &a)
	if a.Metric != "val/loss" || a.Goal != "minimize" || a.Label != "val/loss min" || !strings.Contains(a.Summary, "120 runs") {
		t.Errorf("%s %s %s %s", a.Metric, a.Goal, a.Label, a.Summary)
	}
	lr := a.Rows[0]
	if lr.Name != "lr" || !lr.Known || len(lr.Curve) < 6 || lr.Best == nil || lr.Best.From > 1e-3 || lr.Best.To < 1e-3 {
		t.Errorf("lr is %+v, want a curve with the best range around 0.001", lr)
	}
	if len(lr.Words) != 2 || !strings.HasPrefix(lr.Words[0], "best near ") || !strings.HasSuffix(lr.Words[1], "is not clearly worse than the best.") {
		t.Errorf("words: %q", lr.Words)
	}
	if len(a.Next.Runs) == 0 {
		t.Fatalf("no suggestions: %s", a.Next.Words)
	}
	for _, run := range a.Next.Runs {
		if !strings.HasPrefix(run.Command, "python 'my train.py' --lr=") || !strings.Contains(run.Command, " --optimizer adamw ") {
			t.Errorf("command %q, want the best run's with adamw", run.Command)
		}
		for _, setting := range run.Settings {
			if !strings.Contains(run.Command, setting.Value) {
				t.Errorf("command %q lacks %s", run.Command, setting.Value)
			}
		}
	}

	// Without the command, there is a line for each setting.
	must(s.db.Runs.CreateSnapshot(t.Context(), domain.System, ids[0], runs.NewSnapshot{}))(t)
	a = analysisOf{}
	s.data(path+"?metric=val/accuracy&filter="+url.QueryEscape("param.optimizer = 'sgd'"), &a)
	if a.Goal != "maximize" || a.Label != "val/accuracy max" {
		t.Errorf("goal %s, label %s", a.Goal, a.Label)
	}
	for query, want := range map[string]string{
		"?goal=none": "Choose a goal to get suggestions.",
		"?filter=" + url.QueryEscape("name = 'sweep-001'"): "1 run is too few to suggest settings",
		"?filter=" + url.QueryEscape("name > 'sweep-110'"): "9 runs are too few to suggest settings",
		"?metric=amp/scale&goal=minimize":                  "No parameter clearly matters in 120 runs",
		"?metric=nothing":                                  "Choose a goal",
	} {
		a = analysisOf{}
		s.data(path+query, &a)
		if !strings.Contains(a.Next.Words, want) || len(a.Next.Runs) > 0 {
			t.Errorf("%s: %q, want %q", query, a.Next.Words, want)
		}
	}
	a = analysisOf{}
	s.data(path+"?filter=(", &a)
	if a.Wrong == nil || !strings.Contains(a.Wrong.Message, "filter is wrong at character") {
		t.Errorf("wrong filter: %+v", a.Wrong)
	}
}

func TestColumnsData(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 30)
	path := "/data/experiment/" + experiment + "/columns"
	var c struct {
		Wrong  any
		Total  int
		IDs    []string
		Names  []string
		Params []struct {
			Name, Column string
			Numbers      []*float64
			Texts        []*string
		}
		Metrics []struct {
			Key, Stat, Column string
			Values            []*float64
		}
	}
	s.data(path+"?columns="+url.QueryEscape("metric.val/loss.max"), &c)
	if c.Total != 30 || len(c.IDs) != 30 || c.IDs[0] != ids[29] || c.Names[29] != "sweep-000" {
		t.Errorf("%d runs, first %s", c.Total, c.Names[0])
	}
	kinds := map[string]bool{}
	for _, p := range c.Params {
		kinds[p.Name] = len(p.Numbers) == 30 && len(p.Texts) == 0
	}
	if fmt.Sprint(kinds) != "map[batch_size:false lr:true optimizer:false seed:true]" {
		t.Errorf("numbers: %v", kinds)
	}
	columns := ""
	for _, m := range c.Metrics {
		columns += m.Column + " "
		if len(m.Values) != 30 || m.Values[0] == nil {
			t.Errorf("%s has no values", m.Column)
		}
	}
	if !strings.HasPrefix(columns, "metric.val/loss.min metric.val/accuracy.max ") || !strings.HasSuffix(columns, " metric.val/loss.max ") {
		t.Errorf("columns %s", columns)
	}
	c.Total, c.IDs = 0, nil
	s.data(path+"?filter="+url.QueryEscape("name < 'sweep-002'"), &c)
	if c.Total != 2 || len(c.IDs) != 2 {
		t.Errorf("%d runs pass the filter, want 2", c.Total)
	}
	s.data(path+"?filter=(", &c)
	if c.Wrong == nil {
		t.Error("no error for an invalid filter")
	}
}

func TestFrontData(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 40)
	path := "/data/experiment/" + experiment + "/front"
	var f struct {
		X, Y       string
		Runs, Size int
		Front      []struct {
			Name string
			X, Y float64
		}
	}
	// The accuracy falls as the loss rises, so one run is the best in both metrics. With the
	// opposite goal for one of them, every run is on the front.
	s.data(path+"?x=val/loss&xgoal=minimize&y=val/accuracy&ygoal=maximize", &f)
	if f.Runs != 40 || f.Size != 1 || len(f.Front) != 1 || f.X != "metric.val/loss.min" || f.Y != "metric.val/accuracy.max" {
		t.Errorf("%+v", f)
	}
	s.data(path+"?x=val/loss&xgoal=minimize&y=val/accuracy&ygoal=minimize", &f)
	if f.Size != 40 || f.Front[0].X > f.Front[39].X || f.Front[0].Y < f.Front[39].Y {
		t.Errorf("%+v", f)
	}
	s.get(path+"?x=val/loss&xgoal=minimize").wants(t, 422, "Choose two metrics.")
	s.get(path+"?x=val/loss&xgoal=down&y=lr&ygoal=minimize").wants(t, 422, "xgoal")
}

// TestAnalyse opens the tab, selects runs with a brush and filters the table by the brush.
func TestAnalyse(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 120)
	b := s.openBrowser(t)
	page := "/experiment/" + experiment
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+page))
	b.is(`document.querySelector('#total').textContent`, "120")

	// One click shows the most important parameter with its curve, without scrolling.
	b.press(`[data-testid="show-analyse"]`)
	b.is(`document.querySelector('[data-testid="parameter"][open] .name').textContent`, "lr")
	b.is(`(r => r.top > 0 && r.bottom < innerHeight && r.width > 200)(document.querySelector('[data-testid="parameter"][open] [data-testid="fit"]').getBoundingClientRect())`, "true")
	b.is(`(r => r.top > 0 && r.bottom < innerHeight)(document.querySelector('[data-testid="parameter"][open] .words').getBoundingClientRect())`, "true")
	b.is(`new URLSearchParams(location.search).get('analyse')`, "1")
	b.is(`(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0))(document.querySelector('[data-testid="parameter"][open] canvas'))`, "true")
	b.is(`document.querySelector('[data-testid="parameter"][open] svg[role="img"]').getAttribute('aria-label').includes('best near')`, "true")

	// Another parameter can be opened by keyboard.
	b.do(chromedp.Focus(chromedp.CSS(`[data-name="optimizer"] > summary`)), chromedp.KeyEvent("\r"))
	b.is(`document.querySelectorAll('[data-name="optimizer"] [data-testid="mark"]').length > 2`, "true")
	b.is(`new URLSearchParams(location.search).get('pictures').split('\n').length`, "2")

	b.accessible("analyse", false)

	// A brush dims the other runs of the table.
	b.is(`document.querySelectorAll('#analyse-parallel .hit').length > 3`, "true")
	b.do(chromedp.Focus(chromedp.CSS(`#analyse-parallel [data-part="brush"][data-axis="objective"]`)), chromedp.KeyEvent(kb.ArrowUp))
	const brushed = `Number(document.querySelector('[data-testid="brushed"]').textContent.split(' ')[0])`
	b.is(brushed+` > 0 && `+brushed+` < 120`, "true")
	b.is(`document.querySelectorAll('#scroll tr.outside').length > 0`, "true")
	inside := b.text(`document.querySelector('[data-testid="brushed"]').textContent.split(' ')[0]`)
	b.press(`[data-testid="filter-these"]`)
	b.is(`document.querySelector('#total').textContent`, inside)
	b.is(`document.querySelector('#filter').value.startsWith('metric.val/loss.min ')`, "true")
	b.is(`document.querySelectorAll('#scroll tr.outside').length`, "0")

	// The page of importance redirects to the tab, and Back leaves it.
	b.do(chromedp.Navigate(s.url + page + "/importance?metric=val/accuracy"))
	b.is(`document.querySelector('#analyse')?.dataset.ready`, "yes")
	b.is(`location.pathname`, page)
	b.is(`document.querySelector('#analyse [name="metric"]').value`, "val/accuracy")
	b.press(`[data-testid="show-charts"]`)
	b.is(`getComputedStyle(document.querySelector('#analyse')).display`, "none")
	b.quiet()
}

// TestBrushOfImportance drags over the pictures of parameters, which selects runs in the table.
func TestBrushOfImportance(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 60)
	all := must(s.db.Runs.Iterations(t.Context(), domain.System, experiment, runs.IterationQuery{Page: domain.Page{Limit: 60}, Columns: "param.lr, param.optimizer"}))(t).Data
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+experiment+"?analyse=1&pictures=lr%0Aoptimizer"))
	b.is(`document.querySelector('#analyse')?.dataset.ready`, "yes")
	drag := func(name string, from, to float64) {
		t.Helper()
		left, top, width, height := b.box(`[data-name="` + name + `"] .layers svg`)
		b.do(chromedp.DragAndDropXY(left+from*width, top+height/3, left+to*width, top+height/2))
	}
	selected := func(inside func(lr float64, optimizer string) bool) {
		t.Helper()
		n := 0
		for _, r := range all {
			lr, err := strconv.ParseFloat(r.Params["lr"], 64)
			if err != nil {
				t.Fatal(err)
			}
			if inside(lr, r.Params["optimizer"]) {
				n++
			}
		}
		b.is(`document.querySelector('[data-testid="brushed"]').firstChild.textContent`, fmt.Sprintf("%d of 60 runs inside the brushes", n))
		b.is(`document.querySelectorAll('#scroll tr[data-id]:not(.outside)').length > 0 && document.querySelectorAll('#scroll tr.outside').length > 0`, "true")
	}
	// The left half of the axis of learning rates is selected.
	drag("lr", 0.1, 0.5)
	b.is(`new URLSearchParams(location.search).get('brush')?.split('\t')[0]`, "param.lr")
	high, err := strconv.ParseFloat(b.text(`new URLSearchParams(location.search).get('brush').split('\t')[2]`), 64)
	if err != nil || high < 1e-4 || high > 1e-2 {
		t.Fatalf("the range ends at %v (%v)", high, err)
	}
	selected(func(lr float64, _ string) bool { return lr <= high })
	b.is(`document.querySelectorAll('[data-name="lr"] [data-testid="brushed-range"]').length`, "1")
	// The texts are in the order adamw, lion, sgd.
	drag("optimizer", 0.42, 0.98)
	selected(func(lr float64, optimizer string) bool { return lr <= high && optimizer != "adamw" })
	b.press(`[data-testid="clear-brushes"]`)
	b.is(`document.querySelectorAll('[data-testid="brushed-range"], #scroll tr.outside').length`, "0")
	b.fits()
	b.quiet()
}

// TestAnalyseTwoRuns draws two runs, and says that they are too few for an estimate.
func TestAnalyseTwoRuns(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 2)
	b := s.openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/experiment/" + experiment + "?analyse=1"))
	b.is(`document.querySelector('[data-testid="analysis-summary"]').textContent`, "2 runs with this metric; an estimate needs at least 10.")
	b.is(`document.querySelector('[data-testid="next-words"]').textContent.startsWith('2 runs are too few')`, "true")
	b.is(`document.querySelectorAll('#analyse-parallel canvas, #analyse-scatter canvas').length`, "2")
	b.is(`document.querySelector('[data-testid="front-words"]').textContent.includes('of the 2 runs')`, "true")
	b.quiet()
}
