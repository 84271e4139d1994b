// Package importance estimates how much each parameter of a set of runs matters for
// a result.
//
// It is the permutation importance of a random forest (Breiman, "Random forests",
// 2001): trees predict the result from the parameters, and a parameter matters as much
// as predictions change when its values are shuffled among the runs. Trees need no
// assumption about the form of a dependence, and treat texts and missing values as
// values of their own. Results are replaced by their ranks, so that a few diverged
// runs do not hide all others.
//
// Predictions are only made for runs that a tree has not seen. Each of several forests
// is grown on a random half of the runs and judged on the other half. The deviation of
// an estimate among these halves is its standard error: the delete-d jackknife with d =
// n/2 (Shao and Wu, "A general theory for jackknife variance estimation", 1989), which
// Ishwaran and Lu recommend for forests ("Standard errors and confidence intervals for
// variable importance in random forest regression", 2019).
//
// The same table always has the same result.
package importance

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

const (
	// MinRuns is the smallest number of runs for an estimate.
	MinRuns = 10
	// MaxColumns is the largest number of columns that vary; further ones are ignored.
	MaxColumns = 128

	halves    = 24   // forests, each of another half of the runs
	trees     = 12   // of one forest
	mostSeen  = 1000 // runs that a forest is grown on
	mostJudge = 500  // runs that it is judged on
	shapeRuns = 50   // that the shape of a dependence is averaged over
	quantile  = 1.96 // of the normal distribution: 95 % on both sides
)

// Column holds the values of one parameter in the runs.
type Column struct {
	Name   string
	Values []*string // one for each run, nil where it has none
}

// Shape is the form in which a result depends on a parameter.
type Shape string

// The shapes of a dependence.
const (
	Unknown Shape = ""        // no shape on which most forests agree
	Rising  Shape = "rising"  // the result rises with the parameter
	Falling Shape = "falling" // the result falls as the parameter rises
	Lowest  Shape = "lowest"  // the result is lowest at At, and higher on both sides
	Highest Shape = "highest" // the result is highest at At, and lower on both sides
	Between Shape = "between" // texts: the result is lowest at At and highest at Top
)

// Estimate is how much a parameter matters.
type Estimate struct {
	Name string
	// Share is the part of the variation of the ranks that the parameter explains,
	// alone and together with others: the total index of Sobol, which is half the
	// permutation importance where parameters are independent.
	Share float64
	Error float64 // standard error of Share
	Runs  int     // that have the parameter
	Shape Shape
	At    string // the value that Shape refers to, "" for none
	Top   string // where the result is highest, for Between
}

// Low returns the lower end of the 95 % confidence interval of the share, at least 0.
func (e Estimate) Low() float64 { return max(0, e.Share-quantile*e.Error) }

// High returns the upper end of the 95 % confidence interval of the share, at most 1.
func (e Estimate) High() float64 { return min(1, e.Share+quantile*e.Error) }

// Known reports whether the parameter matters more than chance would explain.
func (e Estimate) Known() bool { return e.Share > quantile*e.Error && e.Share > 0 }

// Result holds the estimates for a table.
type Result struct {
	Runs    int
	Fit     float64    // R² of the predictions of ranks, for runs that were not seen; 0 or less: they predict nothing
	Columns []Estimate // those that vary, the most important first
}

// Of estimates how much each column matters for target, which has a number for each run
// and no NaN. Columns that are the same in all runs are left out. The result has no columns when
// there are fewer than MinRuns runs or the target does not vary. The error is that of ctx.
func Of(ctx context.Context, target []float64, columns []Column) (Result, error) {
	r := Result{Runs: len(target)}
	y := ranks(target)
	var coded []coding
	var names []Estimate
	for _, c := range columns {
		if code := encode(c.Values); len(code.labels) > 1 && len(coded) < MaxColumns {
			coded = append(coded, code)
			names = append(names, Estimate{Name: c.Name, Runs: code.known})
		}
	}
	if len(y) < MinRuns || len(coded) == 0 || slices.Min(target) == slices.Max(target) {
		return r, ctx.Err()
	}
	judged, err := judge(ctx, y, coded)
	if err != nil {
		return r, err
	}
	for _, j := range judged {
		r.Fit += j.fit / float64(len(judged))
	}
	for c := range names {
		e := &names[c]
		var shares []float64
		for _, j := range judged {
			shares = append(shares, j.share[c])
		}
		e.Share, e.Error = deviation(shares)
		e.Share = max(0, e.Share)
		if e.Known() {
			var curves [][]float64
			for _, j := range judged {
				curves = append(curves, j.curve[c])
			}
			e.Shape, e.At, e.Top = shape(coded[c], curves)
		}
	}
	slices.SortStableFunc(names, func(a, b Estimate) int {
		return cmp.Or(cmp.Compare(b.Low(), a.Low()), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	r.Columns = names
	return r, nil
}

// judgement is the result of testing a forest, grown on one half of the runs, on
// the other half.
type judgement struct {
	fit   float64
	share []float64   // by column
	curve [][]float64 // by column and code: the mean prediction
}

// judge grows the forests and judges them, as many at once as there are cores.
func judge(ctx context.Context, y []float64, columns []coding) ([]judgement, error) {
	all := make([]judgement, halves)
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(halves, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := range next {
				if ctx.Err() == nil {
					all[i] = judgeHalf(rand.New(rand.NewPCG(uint64(i), uint64(len(y)))), y, columns)
				}
			}
		})
	}
	for i := range halves {
		next <- i
	}
	close(next)
	wait.Wait()
	return all, ctx.Err()
}

func judgeHalf(random *rand.Rand, y []float64, columns []coding) judgement {
	order := random.Perm(len(y))
	half := len(order) / 2
	seen, unseen := order[:half], order[half:]
	seen, unseen = seen[:min(len(seen), mostSeen)], unseen[:min(len(unseen), mostJudge)]
	var f forest
	for range trees {
		f = append(f, grow(random, y, columns, seen))
	}
	known := make([]predictions, len(unseen))
	var spread, off, mean float64
	for _, run := range unseen {
		mean += y[run] / float64(len(unseen))
	}
	for i, run := range unseen {
		known[i] = f.predict(columns, run)
		spread += (y[run] - mean) * (y[run] - mean)
		off += (y[run] - known[i].mean) * (y[run] - known[i].mean)
	}
	j := judgement{share: make([]float64, len(columns)), curve: make([][]float64, len(columns))}
	if spread == 0 {
		return j
	}
	j.fit = 1 - off/spread
	for c := range columns {
		var worse float64
		for i, from := range random.Perm(len(unseen)) {
			run, code := unseen[i], columns[c].codes[unseen[from]]
			if columns[c].codes[run] == code {
				continue // the prediction is the same
			}
			d, p := y[run]-known[i].mean, y[run]-known[i].with(f, columns, run, c, code)
			worse += p*p - d*d
		}
		j.share[c] = worse / (2 * spread)
		// The mean prediction if all runs had the same code: partial dependence (Friedman,
		// "Greedy function approximation", 2001).
		j.curve[c] = make([]float64, len(columns[c].labels))
		some := known[:min(len(known), shapeRuns)]
		for code := range j.curve[c] {
			for i := range some {
				j.curve[c][code] += some[i].with(f, columns, unseen[i], c, uint8(code)) / float64(len(some))
			}
		}
	}
	return j
}

// deviation returns the mean of values and their standard deviation.
func deviation(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(sd)
}

// ranks returns the place of each value among all, from 0 to 1; equal ones share the
// mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	all := make([]float64, len(values))
	for i := 0; i < len(order); {
		end := i
		for end < len(order) && values[order[end]] == values[order[i]] {
			end++
		}
		for _, at := range order[i:end] {
			all[at] = float64(i+end-1) / 2 / float64(max(1, len(values)-1))
		}
		i = end
	}
	return all
}
