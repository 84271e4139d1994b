package suggest_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"tracker/store/goal"
	"tracker/store/importance"
	"tracker/store/suggest"
)

// data holds the runs of a random search. truth returns the noise-free result of a setting.
type data struct {
	target  []float64
	columns []importance.Column
	truth   func(map[string]string) float64
	aim     goal.Goal
	noise   float64
}

func number(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// searched returns a random search over a learning rate, an optimizer, a batch size and a seed.
// The best learning rate depends on the optimizer, and adamw is better than sgd.
func searched(runs int, noise float64, aim goal.Goal, seed uint64) data {
	random := rand.New(rand.NewPCG(seed, 3))
	sign := 1.0
	if aim == goal.Maximize {
		sign = -1
	}
	d := data{aim: aim, noise: noise, truth: func(of map[string]string) float64 {
		best, worse := -3.0, 0.0
		if of["optimizer"] == "sgd" {
			best, worse = -1, 0.3
		}
		off := math.Log10(number(of["lr"])) - best
		return sign * (1 + worse + 0.5*off*off + 0.1*math.Abs(math.Log2(number(of["batch"]))-7))
	}}
	names := []string{"lr", "optimizer", "batch", "seed"}
	d.columns = make([]importance.Column, len(names))
	for range runs {
		of := map[string]string{
			"lr":        strconv.FormatFloat(math.Pow(10, -5+5*random.Float64()), 'g', 4, 64),
			"optimizer": []string{"sgd", "adamw"}[random.IntN(2)],
			"batch":     strconv.Itoa(32 << random.IntN(5)),
			"seed":      strconv.Itoa(random.IntN(1000)),
		}
		for i, name := range names {
			d.columns[i].Name = name
			d.columns[i].Values = append(d.columns[i].Values, new(of[name]))
		}
		d.target = append(d.target, d.truth(of)+noise*random.NormFloat64())
	}
	return d
}

func (d data) next(t *testing.T) ([]suggest.Suggestion, suggest.Reason, importance.Result) {
	t.Helper()
	r, err := importance.Of(t.Context(), d.target, d.columns, d.aim)
	if err != nil {
		t.Fatal(err)
	}
	all, reason, err := suggest.Next(t.Context(), r, d.target, d.columns, d.aim)
	if err != nil {
		t.Fatal(err)
	}
	return all, reason, r
}

// settings returns the values of a suggestion. The other parameters do not change the result.
func settings(one suggest.Suggestion) map[string]string {
	of := map[string]string{"lr": "0.001", "optimizer": "adamw", "batch": "128"}
	for _, s := range one.Settings {
		of[s.Name] = s.Value
	}
	return of
}

// TestNext runs the suggested settings. The results are among the better results, and about 90%
// of them are inside the predicted intervals.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, aim := range []goal.Goal{goal.Minimize, goal.Maximize} {
		for runs, seeds := range map[int]uint64{60: 8, 200: 6, 1000: 4, 10_000: 1} {
			random := rand.New(rand.NewPCG(uint64(runs), 5))
			total, inside, worse, better, given := 0, 0, 0, 0, 0
			for seed := range seeds {
				d := searched(runs, 0.15, aim, seed)
				all, reason, _ := d.next(t)
				if reason == suggest.None {
					given++
				}
				for _, one := range all {
					of := settings(one)
					truth := d.truth(of)
					rank := 0
					for _, y := range d.target {
						if aim == goal.Minimize && y < truth || aim == goal.Maximize && y > truth {
							rank++
						}
					}
					if rank*2 < runs {
						better++
					}
					for range 50 {
						total++
						y := truth + d.noise*random.NormFloat64()
						if y >= one.Low && y <= one.High {
							inside++
						} else if (y > one.High) == (aim == goal.Minimize) {
							worse++
						}
					}
				}
			}
			if given*2 < int(seeds) || better*50*10 < total*9 {
				t.Errorf("%s, %d runs: %d of %d searches have suggestions; %d of %d suggestions are among the better half",
					aim, runs, given, seeds, better, total/50)
			}
			// An interval does not extend beyond the best result so far, so a new best result is
			// outside it.
			if inside*100 < 70*total || worse*100 > 10*total {
				t.Errorf("%s, %d runs: %d of %d results are inside their intervals, and %d are worse", aim, runs, inside, total, worse)
			}
		}
	}
}

// There are no suggestions if no parameter has an effect, if there are few runs, or if there is
// much noise.
func TestNoSuggestion(t *testing.T) {
	t.Parallel()
	if _, reason, _ := searched(suggest.MinRuns-1, 0.1, goal.Minimize, 1).next(t); reason != suggest.FewRuns {
		t.Errorf("few runs: %q", reason)
	}
	if _, reason, _ := searched(100, 0.1, "", 1).next(t); reason != suggest.NoGoal {
		t.Errorf("no goal: %q", reason)
	}
	given := 0
	for seed := range uint64(12) {
		for _, runs := range []int{20, 60, 300} {
			if all, reason, _ := searched(runs, 1e6, goal.Minimize, seed).next(t); reason == suggest.None || len(all) > 0 {
				given++
			}
		}
	}
	if given > 0 {
		t.Errorf("%d of 36 searches in noise have suggestions", given)
	}
}
