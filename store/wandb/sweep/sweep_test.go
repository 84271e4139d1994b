package sweep_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tracker/store/wandb/sweep"
)

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func parse(t *testing.T, text string) sweep.Config {
	t.Helper()
	c, err := sweep.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// TestGrid checks that a grid returns each combination once and then ends, and that the settings
// are nested like the parameters.
func TestGrid(t *testing.T) {
	c := parse(t, `{method: grid, parameters: {a: {values: [1, 2, x]}, n: {min: 3, max: 5}, b: {value: true},
		opt: {parameters: {lr: {distribution: q_uniform, min: 0, max: 1, q: 0.25}}}}}`)
	if c.Size() != 3*3*5 {
		t.Fatalf("the grid has %d cells", c.Size())
	}
	found := map[string]bool{}
	for i := range c.Size() {
		_, s, ok := c.Next(random(1), i, nil)
		if !ok {
			t.Fatalf("cell %d is missing", i)
		}
		found[fmt.Sprint(s)] = true
		if s["b"] != true || reflect.TypeOf(s["opt"]) != reflect.TypeFor[map[string]any]() {
			t.Fatalf("the settings are %v", s)
		}
	}
	if len(found) != c.Size() {
		t.Errorf("%d of %d cells are different", len(found), c.Size())
	}
	if _, _, ok := c.Next(random(1), c.Size(), nil); ok {
		t.Error("the grid does not end")
	}
	for _, cell := range []string{"map[a:x b:true n:5 opt:map[lr:1]]", "map[a:1 b:true n:3 opt:map[lr:0]]"} {
		if !found[cell] {
			t.Errorf("there is no %s", cell)
		}
	}
}

var distributions = map[string][2]float64{
	"min: 2.0, max: 5.0":                                             {2, 5},
	"min: -3, max: 4":                                                {-3, 4},
	"distribution: uniform, min: 0.1, max: 0.1":                      {0.1, 0.1},
	"distribution: q_uniform, min: 0.5, max: 10, q: 2":               {0.5, 10},
	"distribution: log_uniform, min: -5, max: 2":                     {math.Exp(-5), math.Exp(2)},
	"distribution: log_uniform_values, min: 0.00001, max: 0.1":       {0.00001, 0.1},
	"distribution: inv_log_uniform_values, min: 0.00001, max: 0.1":   {0.00001, 0.1},
	"distribution: q_log_uniform_values, min: 8, max: 1000, q: 8":    {8, 1000},
	"distribution: inv_log_uniform, min: 1, max: 3":                  {math.Exp(-3), math.Exp(-1)},
	"distribution: normal, mu: 3, sigma: 2":                          {-20, 26},
	"distribution: q_normal, mu: 3, sigma: 2, q: 5":                  {-20, 30},
	"distribution: log_normal, mu: 0, sigma: 1":                      {0, 1000},
	"values: [1, 5, 9], probabilities: [0.2, 0, 0.8]":                {1, 9},
	"distribution: int_uniform, min: 1, max: 1":                      {1, 1},
	"distribution: q_log_normal, mu: 1, sigma: 0.5, q: 0.5":          {0, 100},
	"distribution: q_log_uniform, min: 0, max: 5, q: 1":              {1, 149},
	"distribution: uniform, min: -1000000000000, max: 1000000000000": {-1e12, 1e12},
}

// TestValues checks that values are within the bounds, do not decrease with the quantile, and are
// multiples of q.
func TestValues(t *testing.T) {
	for text, bounds := range distributions {
		c := parse(t, "{method: random, parameters: {x: {"+text+"}}}")
		down := strings.Contains(text, "inv_")
		last := math.NaN()
		for i := range 2001 {
			x := asNumber(t, c.Dimensions[0].Value(float64(i)/2000))
			if x < bounds[0]-1e-9 || x > bounds[1]+1e-9 {
				t.Errorf("%s: %g is not from %g to %g", text, x, bounds[0], bounds[1])
				break
			}
			if !math.IsNaN(last) && (x < last) != down && x != last {
				t.Errorf("%s: %g follows %g", text, x, last)
				break
			}
			last = x
			if _, q, ok := strings.Cut(text, "q: "); ok {
				var step float64
				fmt.Sscan(q, &step)
				if r := math.Mod(math.Abs(x), step); r > 1e-9 && step-r > 1e-9 {
					t.Errorf("%s: %g is not a multiple of %g", text, x, step)
					break
				}
			}
		}
		for _, u := range []float64{math.NaN(), -1, 2, math.Inf(1)} {
			if x := asNumber(t, c.Dimensions[0].Value(u)); x < bounds[0]-1e-9 || x > bounds[1]+1e-9 {
				t.Errorf("%s: the share %g gives %g", text, u, x)
			}
		}
	}
}

func asNumber(t *testing.T, v any) float64 {
	t.Helper()
	switch n := v.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case float64:
		return n
	}
	t.Fatalf("%v is a %T", v, v)
	return 0
}

// TestShares checks that the frequencies of values match the distribution.
func TestShares(t *testing.T) {
	c := parse(t, `{method: random, parameters: {p: {values: [a, b, c], probabilities: [0.5, 0.5, 0]},
		lr: {distribution: log_uniform_values, min: 0.0001, max: 1}, n: {distribution: normal, mu: 10, sigma: 2}}}`)
	r := random(3)
	counts := map[any]int{}
	small, sum, squares := 0, 0.0, 0.0
	const n = 4000
	for i := range n {
		_, s, _ := c.Next(r, i, nil)
		counts[s["p"]]++
		if s["lr"].(float64) < 0.01 {
			small++
		}
		x := s["n"].(float64)
		sum += x
		squares += x * x
	}
	if counts["c"] != 0 || math.Abs(float64(counts["a"])/n-0.5) > 0.05 {
		t.Errorf("the values are %v", counts)
	}
	if math.Abs(float64(small)/n-0.5) > 0.05 {
		t.Errorf("%d of %d are below the middle", small, n)
	}
	if mean := sum / n; math.Abs(mean-10) > 0.2 || math.Abs(math.Sqrt(squares/n-mean*mean)-2) > 0.2 {
		t.Errorf("the mean is %g, the deviation %g", mean, math.Sqrt(squares/n-mean*mean))
	}
}

// TestBayes checks that the bayes method finds better settings than a random search.
func TestBayes(t *testing.T) {
	const text = `metric: {name: loss, goal: GOAL}, parameters: {x: {min: -5.0, max: 5.0}, y: {distribution: log_uniform_values, min: 0.0001, max: 1},
		k: {values: [a, b, c, d]}}}`
	loss := func(s map[string]any) float64 {
		x, y := s["x"].(float64)-2, math.Log10(s["y"].(float64))+2
		if s["k"] != "c" {
			return x*x + y*y + 3
		}
		return x*x + y*y
	}
	mean := func(method, goal string, sign float64) float64 {
		c := parse(t, "{method: "+method+", "+strings.Replace(text, "GOAL", goal, 1))
		total := 0.0
		for seed := range uint64(20) {
			r := random(seed)
			var seen []sweep.Observation
			least := math.Inf(1)
			for i := range 60 {
				p, s, ok := c.Next(r, i, seen)
				if !ok {
					t.Fatal("it ended")
				}
				l := loss(s)
				least = min(least, l)
				o := sweep.Observation{Point: p, Value: sign * l}
				if i%13 == 5 {
					o.Value = math.NaN() // a failed run
				}
				seen = append(seen, o)
			}
			total += least / 20
		}
		return total
	}
	atRandom, minimized, maximized := mean("random", "minimize", 1), mean("bayes", "minimize", 1), mean("bayes", "maximize", -1)
	if minimized > atRandom/3 || maximized > atRandom/3 {
		t.Errorf("at random %g, minimized %g, maximized %g", atRandom, minimized, maximized)
	}
	t.Logf("at random %g, minimized %g, maximized %g", atRandom, minimized, maximized)
}

// TestBayesOddly checks that observations are accepted even if they do not match the configuration
// or have no value.
func TestBayesOddly(t *testing.T) {
	c := parse(t, `{method: bayes, metric: {name: m}, parameters: {x: {min: 0.0, max: 1.0}, y: {values: [1, 2], probabilities: [1, 0]}}}`)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0} {
		var seen []sweep.Observation
		for i := range 700 {
			seen = append(seen, sweep.Observation{Point: sweep.Point{"other": 3, "x": float64(i%3 - 1)}, Value: v})
		}
		for i := range 20 {
			_, s, ok := c.Next(random(uint64(i)), i, seen)
			if x := s["x"].(float64); !ok || x < 0 || x > 1 || s["y"] != 1 {
				t.Fatalf("the settings are %v", s)
			}
		}
	}
}

func TestBrackets(t *testing.T) {
	for text, want := range map[string][]int{
		"min_iter: 3, eta: 3":            {3, 9, 27, 81},
		"max_iter: 27, s: 2":             {3, 9},
		"max_iter: 27, s: 2, eta: 3.0":   {3, 9},
		"max_iter: 8, s: 10, eta: 2":     {1, 2, 4},
		"min_iter: 1, eta: 1.5":          {1, 2, 3, 5},
		"min_iter: 5, eta: 2, strict: 1": {5, 10, 20, 40},
	} {
		c := parse(t, "{method: random, metric: {name: m}, parameters: {x: {min: 0, max: 9}}, early_terminate: {type: hyperband, "+text+"}}")
		if got := c.Early.Brackets; !reflect.DeepEqual(got[:min(len(got), 4)], want) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestStops checks that at least the best third of the runs continues, in whatever order the runs
// reach a bracket.
func TestStops(t *testing.T) {
	h := sweep.Hyperband{Eta: 3}
	for seed := range uint64(50) {
		r := random(seed)
		var before []float64
		for range 30 {
			mine := r.Float64()
			stops := h.Stops(sweep.Metric{}, mine, before)
			better := 0
			for _, v := range before {
				if v < mine {
					better++
				}
			}
			if better == 0 && stops {
				t.Fatalf("%g is the best of %v, and stopped", mine, before)
			}
			if better == len(before) && len(before) >= 2 && !stops {
				t.Fatalf("%g is the worst of %v, and goes on", mine, before)
			}
			before = append(before, mine)
		}
	}
	if !h.Stops(sweep.Metric{Maximize: true}, 1, []float64{2, 3}) || h.Stops(sweep.Metric{Maximize: true}, 4, []float64{2, 3}) {
		t.Error("what is maximized is stopped the wrong way")
	}
	if !h.Stops(sweep.Metric{}, math.NaN(), []float64{1, 2}) || h.Stops(sweep.Metric{}, 5, []float64{1}) {
		t.Error("a run without a value goes on, or one with too few others is stopped")
	}
}

func TestRefused(t *testing.T) {
	ok := `parameters: {x: {min: 0, max: 1}}`
	for _, text := range []string{
		"", "[]", "method: grid", "method: none\n" + ok, "method: random\nparameters: {x: 3}", "method: random\nparameters: {x: {}}",
		"method: bayes\n" + ok, "method: random\nrun_cap: -1\n" + ok, "method: random\nrun_cap: x\n" + ok,
		"method: random\nparameters: {x: {min: 2, max: 1}}", "method: random\nparameters: {x: {values: []}}",
		"method: random\nparameters: {x: {values: [1], probabilities: [0.5, 0.5]}}", "method: random\nparameters: {x: {values: [1], probabilities: [0]}}",
		"method: random\nparameters: {x: {distribution: beta, a: 1, b: 1}}", "method: random\nparameters: {x: {distribution: log_uniform, min: 0, max: 10000}}",
		"method: random\nparameters: {x: {distribution: log_uniform_values, min: 0, max: 1}}", "method: grid\nparameters: {x: {min: 0.0, max: 1.0}}",
		"method: random\nparameters: {x: {distribution: q_uniform, q: 0, min: 0, max: 1}}", "method: random\nparameters: {x: {mu: 0, sigma: -1}}",
		"method: random\nmetric: {name: m, goal: up}\n" + ok, "method: random\nearly_terminate: {type: hyperband, min_iter: 3}\n" + ok,
		"method: random\nmetric: {name: m}\nearly_terminate: {type: other}\n" + ok, "method: random\nmetric: {name: m}\nearly_terminate: {type: hyperband}\n" + ok,
		"method: random\nmetric: {name: m}\nearly_terminate: {type: hyperband, min_iter: 3, eta: 1}\n" + ok,
		"method: random\nmetric: {name: m}\nearly_terminate: {type: hyperband, max_iter: 3}\n" + ok,
		"method: random\ncontroller: {type: local}\n" + ok, "method: random\nparameters: {x: {min: .nan, max: 1}}",
		"method: random\nparameters: {x: {min: -1.7e308, max: 1.7e308}}", strings.Repeat("x", sweep.MaxConfig+1),
		"method: random\nparameters: {x: {value: .nan}}", "method: random\nparameters: {x: {values: [{a: .inf}]}}", "method: random\nparameters: {x: {value: 2001-01-01}}",
		"a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: {<<: *c}",
	} {
		_, err := sweep.Parse(text)
		var wrong *sweep.Error
		if !errors.As(err, &wrong) || !strings.HasSuffix(wrong.Message, ".") {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("method: bayes\nmetric: {name: m}\nparameters: {x: {min: 0.0, max: 1.0}, y: {values: [1, b]}}\nearly_terminate: {type: hyperband, min_iter: 3}")
	f.Add("method: grid\nparameters: {x: {parameters: {y: {values: [null, 1]}}}, q: {distribution: q_uniform, min: 0, max: 1, q: 0.1}}")
	for text := range distributions {
		f.Add("method: random\nparameters: {x: {" + text + "}}")
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := sweep.Parse(text)
		if err != nil {
			return
		}
		for i := range min(c.Size(), 20) {
			if _, s, ok := c.Next(random(uint64(i)), i, nil); !ok || len(s) == 0 {
				t.Fatalf("the settings of run %d are %v", i, s)
			}
		}
		for _, d := range c.Dimensions {
			_ = d.String()
		}
	})
}

// TestAliasesAreCounted checks that the size of the aliased value is counted for a YAML alias,
// although the alias itself has only three bytes.
func TestAliasesAreCounted(t *testing.T) {
	long := "a: &a " + strings.Repeat("x", 50_000) + "\nmethod: random\nparameters: "
	for _, values := range []string{"{x: {value: *a}}", "{x: {values: [*a, *a]}}"} {
		if _, err := sweep.Parse(long + values); err != nil {
			t.Errorf("%s: %v", values, err)
		}
	}
	many := strings.Repeat("*a,", 500)
	for _, values := range []string{"{x: {value: [" + many + "]}}", "{x: {values: [" + many + "]}}", "{x: {parameters: {y: {values: [{z: [[" + many + "]]}]}}}}",
		"{b: {value: *a}, c: {value: *a}, d: {value: *a}, e: {value: *a}, f: {value: *a}, g: {value: *a}}"} {
		_, err := sweep.Parse(long + values)
		if err == nil || !strings.Contains(err.Error(), "with each alias expanded") {
			t.Errorf("%.40s: %v", values, err)
		}
	}
}
