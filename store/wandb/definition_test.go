package wandb

import (
	"fmt"
	"strings"
	"testing"
)

// TestDefinitions reads the metric definitions that clients 0.17 and 0.31 send.
func TestDefinitions(t *testing.T) {
	for _, c := range []struct{ name, records, want string }{
		{"0.17", `[{"1":"epoch","6":[2,3]},{"1":"acc","6":[3],"7":[4],"8":2},{"1":"loss","5":1,"6":[1,3],"7":[1,2,3]},
			{"1":"train/global_step","4":"train/global_step","6":[1]},{"1":"eval/loss","5":1,"6":[1],"7":[1]},{"1":"train/x","5":4,"6":[1]}]`,
			`epoch {"hidden":true}
acc {"goal":"maximize"}
loss {"step_metric":"epoch"}
train/global_step {"step_metric":"train/global_step"}
eval/loss {"step_metric":"epoch","goal":"minimize"}
train/x {"step_metric":"train/global_step"}`},
		{"0.31", `[{"1":"epoch","6":[3,2],"7":[]},{"2":"eval/*","5":1,"6":[1],"7":[1]},{"5":4,"6":[1],"7":[],"2":"*"},{"1":"train/global_step","6":[],"7":[]}]`,
			`epoch {"hidden":true}
eval/* {"step_metric":"epoch","goal":"minimize"}
* {"step_metric":"train/global_step"}`},
		{"no list", `{"1":"epoch"}`, ""},
		{"a place outside of the list", `[{"1":"loss","5":9},{"1":"","6":[2]},{"1":"` + strings.Repeat("x", 600) + `","6":[2]}]`, ""},
	} {
		var got []string
		for _, p := range definitions(`{"lr":{"value":0.1},"_wandb":{"value":{"m":` + c.records + `}}}`) {
			got = append(got, fmt.Sprint(strings.TrimPrefix(p.Key, "tracker.metric."), " ", p.Value))
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, text, c.want)
		}
	}
	if definitions(`{}`) != nil || definitions(`nothing`) != nil {
		t.Error("definitions in a configuration without any")
	}
}
