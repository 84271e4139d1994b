package workspace_test

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"tracker/server/wandb/workspace"
	"tracker/store/filter"
	"tracker/store/projects"
)

var find = workspace.Find{
	Run: func(name string) (string, error) {
		switch name {
		case "unknown":
			return "", nil
		case "broken":
			return "", errBroken
		}
		return "id-" + name, nil
	},
	Experiment: func(project string) (string, error) {
		if project != "p" {
			return "", nil
		}
		return "e", nil
	},
}

var errBroken = errors.New("the database is broken")

func TestFailureOfAReferenceIsReturned(t *testing.T) {
	spec := `{"section": {"runSets": [{"baselineRunId": "broken"}]}}`
	if _, err := workspace.Read(spec, find); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// runSet returns the definition of a workspace with a run set.
func runSet(members string) string {
	return `{"section":{"runSets":[{` + members + `}]}}`
}

func TestFilters(t *testing.T) {
	t.Parallel()
	v2 := func(items string) string {
		return runSet(`"filters":{"filterFormat":"filterV2","filters":[` + items + `]}`)
	}
	item := func(section, name, op, value string) string {
		return fmt.Sprintf(`{"key":{"section":%q,"name":%q},"op":%q,"value":%s`, section, name, op, value)
	}
	for spec, want := range map[string]string{
		v2(item("config", "lr", "<=", "0.1") + `}`):                                                     `param.lr <= 0.1`,
		v2(item("config", "net.value.depth", "=", "2") + `}`):                                           `param.net/depth = 2`,
		v2(item("config", "a b", "!=", `"it's"`) + `}`):                                                 "not param.`a b` = 'it\\'s'",
		v2(item("config", "amp", "=", "true") + `}`):                                                    `param.amp = 'true'`,
		v2(item("summary", "loss", ">", "1e-9") + `}`):                                                  `metric.loss > 1e-09`,
		v2(item("summary", "best", "=", `"ckpt"`) + `}`):                                                `summary.best = 'ckpt'`,
		v2(item("run", "state", "IN", `["crashed","Finished"]`) + `}`):                                  `status in ('LOST', 'SUCCEEDED')`,
		v2(item("run", "name", "NIN", `["a","b"]`) + `}`):                                               `not id in ('id-a', 'id-b')`,
		v2(item("run", "createdAt", "WITHINSECONDS", "3600") + `}`):                                     `created > -3600s`,
		v2(item("run", "group", "=", `"g"`) + `}`):                                                      `param.group = 'g'`,
		v2(item("tags", "", "IN", `["x"]`) + `}`):                                                       `tag in ('x')`,
		v2(item("config", "lr", "=", "1") + `,"disabled":true}`):                                        ``,
		v2(item("config", "a", "=", "1") + `},` + item("config", "b", "=", "2") + `,"connector":"OR"}`): `param.a = 1 or param.b = 2`,
		v2(item("config", "a", "=", "1") + `},{"connector":"AND","filters":[` + item("config", "b", "=", "2") + `},` +
			item("config", "c", "=", "3") + `,"connector":"OR"}]}`): `param.a = 1 and (param.b = 2 or param.c = 3)`,
		runSet(`"filters":{"op":"OR","filters":[{"op":"AND","filters":[` + item("config", "a", "=", "1") + `},` + item("run", "displayName", "!=", `"x"`) + `}]}]}`): `param.a = 1 and not name = 'x'`,
		runSet(`"filters":{"op":"OR","filters":[{"op":"AND","filters":[` + item("config", "a", "=", "1") + `},` + item("config", "b", "=", "1") + `}]},` +
			item("config", "c", "=", "1") + `}]}`): `(param.a = 1 and param.b = 1) or param.c = 1`,
		runSet(`"search":{"query":"it's"}`): `name contains 'it\'s'`,
	} {
		v, err := workspace.Read(spec, find)
		if err != nil {
			t.Fatal(err)
		}
		query, err := url.ParseQuery(v.Query)
		if err != nil {
			t.Fatal(err)
		}
		got := query.Get("filter")
		if got != want || len(v.Omitted) > 0 {
			t.Errorf("%s\ngot  %s (without %q)\nwant %s", spec, got, v.Omitted, want)
		}
		if got != "" {
			if _, err := new(filter.Parser).Filter(got); err != nil {
				t.Errorf("%s: %v", got, err)
			}
		}
	}
	for _, bad := range []string{item("run", "name", "=", `"unknown"`), item("run", "username", "=", `"a"`), item("config", "a", "=", "null"),
		item("config", "a", "IN", "[]"), item("config", "a", "REGEX", `"a"`), item("run", "state", "=", `"odd"`), item("keys_info", "a", "=", "1"),
		item("run", "duration", ">", `"long"`)} {
		v, err := workspace.Read(v2(bad+`}`), find)
		if err != nil || v.Query != "" || len(v.Omitted) != 1 {
			t.Errorf("%s: %q without %q (%v)", bad, v.Query, v.Omitted, err)
		}
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	v, err := workspace.Read(`{"section":{
		"runSets":[{"sort":{"keys":[{"key":{"section":"summary","name":"loss"},"ascending":true},{"key":{"section":"run","name":"createdAt"}}]},
			"grouping":[{"section":"config","name":"lr.value"},{"section":"run","name":"jobType"},{"section":"run","name":"state"}],
			"runFeed":{"columnOrder":["run:displayName","config:net.value.depth","summary:loss","config:hidden.value"],
				"columnPinned":{"run:displayName":true,"config:net.value.depth":true,"summary:loss":true}},
			"baselineRunId":"UnVuOnYxOnIxOnA6ZQ=="}],
		"settings":{"xAxis":"epoch","smoothingType":"exponential","smoothingWeight":0.6,"ignoreOutliers":true,"xAxisMin":1,"xAxisMax":9,"maxRuns":25},
		"panelBankConfig":{"sections":[{"name":" ","panels":[
			{"viewType":"Run History Line Plot","config":{"metrics":["a","b","c","d","e","f","g","h","i","config.lr.value"]}},
			{"viewType":"Bar Chart","config":{"chartTitle":"T","metrics":["acc"]}},
			{"viewType":"Scatter Plot","config":{"xAxis":"config:lr.value","yAxis":"summary:loss.min"}},
			{"viewType":"Markdown Panel","config":{"value":"text"}},
			{"viewType":"Media Browser","config":{"chartTitle":"images"}},
			{"viewType":7}]}]}}}`, find)
	if err != nil {
		t.Fatal(err)
	}
	query, _ := url.ParseQuery(v.Query)
	want := url.Values{"sort": {"metric.loss, -created"}, "group": {"param.lr, param.job_type"}, "columns": {"param.net/depth, metric.loss"},
		"base": {"id-r1"}, "x": {"metric:epoch"}, "smooth": {"0.6"}, "trim": {"1"}, "zoom": {"1~9"}, "top": {"25"}}
	if !reflect.DeepEqual(query, want) {
		t.Errorf("query %v, want %v", query, want)
	}
	panels := []projects.Panel{
		{ID: "p1", Type: projects.LinePanel, Metrics: []string{"a", "b", "c", "d", "e", "f", "g", "h"}},
		{ID: "p2", Type: projects.LinePanel, Metrics: []string{"i"}},
		{ID: "p3", Type: projects.BarPanel, Title: "T", X: "metric.acc"},
		{ID: "p4", Type: projects.ScatterPanel, X: "param.lr", Y: "metric.`loss.min`"},
		{ID: "p5", Type: projects.TextPanel, Text: "text"},
	}
	if len(v.Panels.Sections) != 2 || v.Panels.Sections[0].Name != "Charts" || !reflect.DeepEqual(v.Panels.Sections[0].Panels, panels) {
		t.Fatalf("panels %+v", v.Panels.Sections)
	}
	omitted := []string{"the groups by state", "Run History Line Plot of config.lr.value", "Media Browser “images”", "unknown panel"}
	if !reflect.DeepEqual(v.Omitted, omitted) {
		t.Errorf("without %q, want %q", v.Omitted, omitted)
	}
	for _, o := range omitted {
		if note := v.Panels.Sections[1].Panels[0].Text; !strings.Contains(strings.ReplaceAll(note, `\`, ""), "- "+o+"\n") {
			t.Errorf("%q is not in %s", o, note)
		}
	}
}

// A view stays within the limits of the store, whatever the definition.
func TestLargeView(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`\"`, 8<<10)
	sections := strings.Repeat(`{"name":"s","panels":[{"viewType":"Markdown Panel","config":{"value":"`+text+`"}},{"viewType":"Bar Chart","config":{"metrics":["x"]}}]},`, 60)
	v, err := workspace.Read(`{"section":{"panelBankConfig":{"sections":[`+strings.TrimSuffix(sections, ",")+`]}}}`, find)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, s := range v.Panels.Sections {
		for _, p := range s.Panels {
			size += 2 * len(p.Text)
		}
	}
	if n := len(v.Panels.Sections); n > projects.MaxSections || size > projects.MaxLayout {
		t.Errorf("%d sections, %d bytes", n, size)
	}
	deep := strings.Repeat(`{"op":"AND","filters":[`, 5000) + strings.Repeat(`]}`, 5000)
	_, _ = workspace.Read(runSet(`"filters":`+deep), find) // must return
	for _, bad := range []string{"", "[]", "nonsense", `{"a":` + strings.Repeat("[", 20_000), strings.Repeat(" ", projects.MaxClientSpec+1)} {
		if _, err := workspace.Read(bad, find); err == nil {
			t.Errorf("%.20s was read", bad)
		}
	}
	if v, err := workspace.Read(`{"section":{"runSets":7,"settings":[],"panelBankConfig":{"sections":[3,{"panels":{"a":1}}]}}}`, find); err != nil || v.Query != "" {
		t.Errorf("%+v %v", v, err)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	text, err := workspace.Report("p", "1. about", `{"blocks":[
		{"type":"heading","level":2,"children":[{"text":"A *b*"}]},
		{"type":"paragraph","children":[{"text":"# not a heading\n"+1},{"type":"link","url":"http://x/(y)","children":[{"text":"l"}]},{"text":"a`+"`"+`b","inlineCode":true}]}]}`, find)
	if err == nil {
		t.Fatalf("invalid JSON became %s", text)
	}
	text, err = workspace.Report("p", "1. about", `{"blocks":[
		{"type":"heading","level":2,"children":[{"text":"A *b*"}]},
		{"type":"paragraph","children":[{"text":"# no heading\n+1 "},{"type":"link","url":"http://x/(y)","children":[{"text":"l"}]},{"text":"a`+"`"+`b","inlineCode":true}]},
		{"type":"list","ordered":true,"children":[{"type":"list-item","checked":true,"children":[{"type":"paragraph","children":[{"text":"one"}]},
			{"type":"list","children":[{"type":"list-item","children":[{"text":"two"}]}]}]}]},
		{"type":"code-block","language":"python","children":[{"children":[{"text":"`+"```chart"+`"}]}]},
		{"type":"markdown-block","content":"`+"```"+`py\nx"},
		{"type":"callout-block","children":[{"children":[{"text":"a"}]},{"children":[{"text":"b"}]}]},
		{"type":"odd"},
		{"type":"panel-grid","metadata":{"hideRunSets":true,"runSets":[{"name":"R"},{"name":"other","project":{"name":"q"}},{"enabled":false,"name":"off"}],
			"panelBankSectionConfig":{"panels":[
				{"viewType":"Bar Chart","config":{"metrics":["acc","config:lr.value"]}},
				{"viewType":"Parameter Importance","config":{"targetKey":"loss"}},
				{"viewType":"Run History Line Plot","config":{"metrics":["a,b"]}}]}}}]}`, find)
	if err != nil {
		t.Fatal(err)
	}
	want := `1\. about

## A \*b\*

\# no heading
\+1 [l](http://x/%28y%29)` + "``a`b``" + `

1. [x] one
   - two

    ` + "```chart" + `

` + "```py\nx\n```" + `

> a
> b

` + "```bar\nx: metric.acc\nexperiment: e\ncaption: R\n```\n\n```bar\nx: param.lr\nexperiment: e\ncaption: R\n```\n\n```importance\nmetrics: loss\ngoals: none\nexperiment: e\ncaption: R\n```" + `

## Not shown

This report was saved by a W&B client. It does not have:

- a block of the type odd
- charts of several run sets together; each run set has its own charts
- Run History Line Plot of a,b
- the run set other of the project q, which has no runs or is not this project
- the disabled run set off
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}
