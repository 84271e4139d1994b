package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tracker/store/scalar"
)

func texts(all ...string) (out []*string) {
	for _, text := range all {
		if text == "" {
			out = append(out, nil)
		} else {
			out = append(out, &text)
		}
	}
	return out
}

func TestParamValues(t *testing.T) {
	v := ParamValues("lr", texts("0.1", "", "10", "NaN"))
	if v.Names != nil || !v.Log || v.Numbers[0] != 0.1 || !math.IsNaN(v.Numbers[1]) || !math.IsNaN(v.Numbers[3]) || Known(v) != 2 {
		t.Errorf("%+v", v)
	}
	v = ParamValues("size", texts("32", "auto", "", "32"))
	if fmt.Sprint(v.Names, v.Numbers[0], v.Numbers[1], v.Numbers[3]) != "[32 auto] 0 1 0" || v.Log || Known(v) != 3 {
		t.Errorf("%+v", v)
	}
	inf := scalar.Value(math.Inf(1))
	if v := MetricValues("loss", []*scalar.Value{new(scalar.Value(2)), &inf, nil}); v.Log || Known(v) != 1 {
		t.Errorf("%+v", v)
	}
}

// Sturges' rule gives 8 bins for 100 numbers. Each value is in its bin, the largest in the last.
func TestBins(t *testing.T) {
	v := Values{Numbers: []float64{math.NaN()}}
	for i := range 100 {
		v.Numbers = append(v.Numbers, float64(i))
	}
	all, at := v.bins()
	var counts []int
	for _, b := range all {
		counts = append(counts, b.n)
	}
	if fmt.Sprint(counts) != "[13 12 13 12 12 13 12 13]" || at[1] != 0 || at[100] != 8 || !math.IsNaN(at[0]) {
		t.Errorf("%v, %v to %v", counts, at[1], at[100])
	}
	if all, _ := (Values{Numbers: []float64{5, 5}}).bins(); len(all) != 1 || all[0].n != 2 {
		t.Errorf("equal values: %v", all)
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("name %02d", i))
	}
	if all, _ := ParamValues("x", texts(many...)).bins(); len(all) != 21 || all[20].n != 10 || all[20].label != "others" {
		t.Errorf("many texts: %v", all)
	}
	if all, _ := (Values{Numbers: []float64{math.NaN()}}).bins(); all != nil {
		t.Errorf("no values: %v", all)
	}
}

// The charts of 10,000 runs are small, draw the runs with a colour above the others, and have no
// position that is not a number.
func TestRunPlots(t *testing.T) {
	for _, n := range []int{1, 3, 10_000} {
		x, y := Values{Label: "x"}, Values{Label: "y", Names: []string{"a", "b"}}
		for i := range n {
			x.Numbers, y.Numbers = append(x.Numbers, float64(n-i)), append(y.Numbers, float64(i%2))
		}
		x.scale()
		colors := map[int]Run{0: {Name: "first", Class: "c1"}}
		for name, p := range map[string]*Plot{"bars": RunBars(x, colors), "dots": Dots(x, y, colors), "histogram": RunHistogram(x, colors), "texts": RunHistogram(y, colors)} {
			size := 0
			for _, l := range p.Lines {
				if size += len(l.Path); strings.Contains(l.Path, "NaN") || strings.Contains(l.Path, "Inf") {
					t.Errorf("%s of %d runs: %s", name, n, l.Path)
				}
			}
			last := p.Lines[len(p.Lines)-1]
			if !strings.HasSuffix(last.Class, " c1") || !strings.HasPrefix(last.Name, "first") || size > 100_000 {
				t.Errorf("%s of %d runs: the last line is %s %q of %d bytes", name, n, last.Class, last.Name, size)
			}
		}
	}
	none := Values{Numbers: []float64{math.NaN()}}
	if RunBars(none, nil) != nil || Dots(none, none, nil) != nil || RunHistogram(none, nil) != nil {
		t.Error("a chart without values is drawn")
	}
	if p := RunBars(Values{Numbers: []float64{-2, 2}}, nil); p.Lines[0].Path != "M84.6 113.0V10.0H313.4V113.0zM370.6 113.0V216.0H599.4V113.0z" {
		t.Errorf("bars of both signs: %s", p.Lines[0].Path)
	}
}
