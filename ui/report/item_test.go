package report

import (
	"reflect"
	"strings"
	"testing"
)

// A block that is appended to a report can be parsed, however the report ended before.
func TestAppendedBlocks(t *testing.T) {
	chart := Item{Experiment: "e", Filter: "param.lr < 0.1 and name = 'a: b'", Sort: "-created", Runs: 100, Metrics: []string{"val/loss", "train/loss"}, Y: "log", Outliers: "show"}
	text, err := chart.Block()
	if err != nil {
		t.Fatal(err)
	}
	want := block{kind: "chart", text: text, fields: map[string]string{"experiment": "e", "metrics": "val/loss, train/loss", "filter": "param.lr < 0.1 and name = 'a: b'",
		"sort": "-created", "runs": "30", "y": "log", "outliers": "show"}}
	for _, before := range []string{"", "\n", "# Found\n", "```python\nprint(1)", "```python\n```chart\nx\n```", "```chart\nexperiment: f\n```\n\n\n", "```chart\nexperiment: f", "```\n```\n```"} {
		blocks := parse(Append(before, text))
		if last := blocks[len(blocks)-1]; !reflect.DeepEqual(last, want) {
			t.Errorf("%q: %v, want %v", before, last, want)
		}
	}
	for want, c := range map[string]Item{
		"```difference\nexperiment: e\na: one, two\nb: three\ncaption: seeds\n```\n":                     {Kind: "difference", Experiment: "e", A: []string{"one", "two"}, B: []string{"three"}, Caption: "seeds"},
		"```bar\nexperiment: e\nx: metric.loss.min\nfilter: lr < 1\nsort: name\nruns: 5\n```\n":          {Kind: "bar", Experiment: "e", X: "metric.loss.min", Filter: "lr < 1", Sort: "name", Runs: 5},
		"```scatter\nexperiment: e\nx: param.lr\ny: metric.loss\nhighlight: id in ('a')\nruns: 1\n```\n": {Kind: "scatter", Experiment: "e", X: "param.lr", Y: "metric.loss", Highlight: "id in ('a')", Runs: 1},
		"```histogram\nexperiment: e\nx: param.lr\nruns: 0\n```\n":                                       {Kind: "histogram", Experiment: "e", X: "param.lr"},
	} {
		text, err := c.Block()
		if err != nil || text != want {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
		if blocks := parse(Append("# Found", text)); len(blocks) != 2 || blocks[1].kind != c.Kind || blocks[1].text != text || blocks[1].fields["experiment"] != "e" {
			t.Errorf("%v", blocks)
		}
	}
	single, err := Item{Experiment: "e", Iterations: []string{"one", "two"}, Metrics: []string{"loss"}}.Block()
	if want := "```chart\nexperiment: e\nmetrics: loss\nfilter: id in ('one', 'two')\nruns: 2\n```\n"; err != nil || single != want {
		t.Errorf("%q, %v, want %q", single, err, want)
	}
	for want, c := range map[string]Item{
		"comma":        {Experiment: "e", Metrics: []string{"a,b"}},
		"1 to 8":       {Experiment: "e"},
		"one line":     {Experiment: "e", Metrics: []string{"loss"}, Filter: "a\n```"},
		"both sides":   {Kind: "difference", Experiment: "e", A: []string{"one"}},
		"at most":      {Kind: "difference", Experiment: "e", A: []string{"one"}, B: make([]string, MaxSides)},
		"one value":    {Kind: "bar", Experiment: "e", X: "param.lr", Y: "param.seed"},
		"show two":     {Kind: "scatter", Experiment: "e", X: "param.lr"},
		"without spac": {Experiment: "e", Metrics: []string{" loss"}},
	} {
		if _, err := c.Block(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", c, err, want)
		}
	}
}
