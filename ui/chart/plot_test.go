package chart_test

import (
	"math"
	"slices"
	"testing"

	"tracker/store/scalar"
	"tracker/ui/chart"
)

// TestTicksDiffer checks that no label of an axis repeats, however narrow the axis is.
func TestTicksDiffer(t *testing.T) {
	for _, span := range []float64{1, 1e-3, 1e-5, 1e-7, 1e-9} {
		c := chart.Curve{ID: "a", Key: "loss", X: []scalar.Value{0, 1, 2},
			Y: []scalar.Value{scalar.Value(0.69334), scalar.Value(0.69334 + span/2), scalar.Value(0.69334 + span)}}
		p := chart.New("loss", []chart.Curve{c}, map[string]chart.Run{"a": {Name: "a"}}, chart.View{})
		seen := map[string]bool{}
		for _, tick := range p.Y {
			if seen[tick.Label] {
				t.Errorf("over %v the label %s repeats", span, tick.Label)
			}
			seen[tick.Label] = true
		}
		if len(seen) < 3 {
			t.Errorf("over %v there are only %d labels", span, len(seen))
		}
	}
}

// The average of a constant curve is the constant, and the average of a step approaches the new
// value with the weight of the former values. The bias correction makes the first average the
// first value.
func TestSmooth(t *testing.T) {
	t.Parallel()
	values := func(n int, v func(i int) float64) []scalar.Value {
		all := make([]scalar.Value, n)
		for i := range all {
			all[i] = scalar.Value(v(i))
		}
		return all
	}
	constant := chart.Curve{Y: values(50, func(int) float64 { return 3 }), Count: 50, Total: 50}
	for i, v := range chart.Smooth(constant, nil, 0.9) {
		if math.Abs(float64(v)-3) > 1e-12 {
			t.Fatalf("the average of 3 at %d is %v", i, v)
		}
	}
	const weight = 0.6
	noisy := chart.Curve{Y: values(40, func(i int) float64 { return math.Sin(float64(7 * i)) }), Count: 40, Total: 40}
	noisy.Y[5] = scalar.Value(math.NaN())
	mean, size := 0.0, 0.0
	for i, got := range chart.Smooth(noisy, nil, weight) {
		v := float64(noisy.Y[i])
		if math.IsNaN(v) {
			if !math.IsNaN(float64(got)) {
				t.Errorf("NaN is %v", got)
			}
			continue
		}
		mean, size = weight*mean+(1-weight)*v, weight*size+1-weight
		if math.Abs(float64(got)-mean/size) > 1e-9 {
			t.Fatalf("at %d: %v, want %v", i, got, mean/size)
		}
	}
	// The points before a range count.
	before := chart.Curve{Y: noisy.Y[:20], Count: 20, Total: 40}
	after := chart.Curve{Y: noisy.Y[20:], Count: 20, Total: 40}
	whole, part := chart.Smooth(noisy, nil, weight), chart.Smooth(after, &before, weight)
	for i := range part {
		if math.Abs(float64(part[i]-whole[20+i])) > 1e-9 {
			t.Fatalf("in a range at %d: %v, want %v", i, part[i], whole[20+i])
		}
	}
}

// A view limits the axes, draws bands, and smooths.
func TestView(t *testing.T) {
	t.Parallel()
	c := chart.Curve{ID: "0", Key: "loss", Count: 4, Total: 4, X: []scalar.Value{0, 1, 2, 3}, Y: []scalar.Value{1, 2, 3, 4}, N: []int{2, 2, 2, 2}}
	for _, y := range c.Y {
		c.Low, c.High = append(c.Low, new(y-1)), append(c.High, new(y+1))
	}
	named := map[string]chart.Run{"0": {Name: "a", Class: "c1"}}
	classes := func(v chart.View) (all []string) {
		for _, l := range chart.New("loss", []chart.Curve{c}, named, v).Lines {
			all = append(all, l.Class)
		}
		return all
	}
	if got := classes(chart.View{}); !slices.Equal(got, []string{"band c1", "line c1"}) {
		t.Errorf("a mean is drawn as %q", got)
	}
	if got := classes(chart.View{Smooth: 0.5}); !slices.Equal(got, []string{"band c1", "line faint c1", "line c1"}) {
		t.Errorf("a smoothed mean is drawn as %q", got)
	}
	at := func(ticks []chart.Tick) (all []string) {
		for _, tick := range ticks {
			all = append(all, tick.Label)
		}
		return all
	}
	p := chart.New("loss", []chart.Curve{c}, named, chart.View{From: new(1.0), To: new(2.0), Low: new(0.0), High: new(10.0)})
	if x, y := at(p.X), at(p.Y); x[0] != "1" || x[len(x)-1] != "2" || y[0] != "0" || y[len(y)-1] != "10" || !p.Clip {
		t.Errorf("the axes are %q and %q", x, y)
	}
	hours := c
	hours.X = []scalar.Value{0, 3_600_000, 7_200_000, 10_800_000}
	if p = chart.New("loss", []chart.Curve{hours}, named, chart.View{X: chart.ByAge}); p.About != "Hours since the start" || p.X[len(p.X)-1].Label != "3" {
		t.Errorf("%q, %q", p.About, at(p.X))
	}
	if p = chart.New("loss", []chart.Curve{hours}, named, chart.View{X: chart.ByTime}); p.X[0].Label != "00:00" || p.X[len(p.X)-1].Label != "03:00" {
		t.Errorf("%q, %q", p.About, at(p.X))
	}
}
