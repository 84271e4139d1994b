package wandb

import (
	"fmt"
	"reflect"
	"testing"

	"tracker/store/wandb/format"
)

func row(step Step, rest ...string) format.Row {
	r := format.Row{Step: step}
	for i := 0; i < len(rest); i += 2 {
		r.Rest = append(r.Rest, format.Member{Key: rest[i], Value: rest[i+1]})
	}
	return r
}

// If a step has several values with the same name, the last value is used.
func TestRestOf(t *testing.T) {
	got := restOf([]format.Row{row(1, "a", "1", "b", "2"), row(2), row(3, "a", "9"), row(1, "a", "3", "c", "4")})
	want := map[Step][]format.Member{
		1: {{Key: "a", Value: "3"}, {Key: "c", Value: "4"}, {Key: "b", Value: "2"}},
		3: {{Key: "a", Value: "9"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// Numbers with joined names become nested objects again. Non-numeric values replace numbers with
// the same name.
func TestNested(t *testing.T) {
	r := Run{About: About{Paths: map[string][]string{"loss/a": {"loss", "a"}, "loss/b/c": {"loss", "b", "c"}}, Start: 500}}
	n := nested{step: 7}
	n.add(r, "loss/b/c", 2, 1000)
	n.add(r, "loss/a", 0.5, 1500)
	n.add(r, "x/y", 1, 1000)
	n.add(r, "ok", 1, 1000)
	got := n.row(r, []format.Member{{Key: "ok", Value: "true"}})
	want := `{"_step":7,"_timestamp":1.5,"_runtime":1,"loss":{"a":0.5,"b":{"c":2}},"x/y":1,"ok":true}`
	if text := got.Text(r.Start); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// Samples are evenly distributed over all rows that match the query, and their memory is counted.
func TestKeptRows(t *testing.T) {
	var taken int64
	kept := keptRows{take: func(n int64) error { taken += n; return nil }, limit: 5000, stride: 1,
		q: HistoryQuery{Samples: 10, Keep: func(r Row) bool { return r.Step%2 == 0 }}}
	for step := range Step(4000) {
		if full, err := kept.add(Row{Step: step, Members: []format.Member{{Key: "x", Value: fmt.Sprint(step)}}}); full || err != nil {
			t.Fatal(full, err)
		}
	}
	if n := len(kept.all); n < 10 || n > 20 || kept.all[0].Step != 0 {
		t.Fatalf("%d rows", n)
	}
	for i := 1; i < len(kept.all); i++ {
		if kept.all[i].Step-kept.all[i-1].Step != kept.all[1].Step {
			t.Errorf("step %d follows %d", kept.all[i].Step, kept.all[i-1].Step)
		}
	}
	if kept.size == 0 && taken == 0 {
		t.Error("nothing is counted")
	}
}

func TestParameters(t *testing.T) {
	r := Run{Config: `{"lr":{"value":0.1,"desc":null},"_wandb":{"value":{}},"model":{"value":{"depth":3,"name":"a"}},"nan":{"value":NaN}}`,
		About: About{Group: "g", Sweep: "s"}}
	want := map[string]string{"lr": "0.1", "model/depth": "3", "model/name": "a", "nan": "NaN", "group": "g", "sweep": "s"}
	if got := r.Parameters(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
