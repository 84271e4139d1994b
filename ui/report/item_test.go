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
	single, err := Item{Experiment: "e", Iterations: []string{"one", "two"}, Metrics: []string{"loss"}}.Block()
	if want := "```chart\nexperiment: e\nmetrics: loss\nfilter: id in ('one', 'two')\nruns: 2\n```\n"; err != nil || single != want {
		t.Errorf("%q, %v, want %q", single, err, want)
	}
	for want, c := range map[string]Item{
		"comma":        {Experiment: "e", Metrics: []string{"a,b"}},
		"1 to 8":       {Experiment: "e"},
		"one line":     {Experiment: "e", Metrics: []string{"loss"}, Filter: "a\n```"},
		"without spac": {Experiment: "e", Metrics: []string{" loss"}},
	} {
		if _, err := c.Block(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", c, err, want)
		}
	}
}
