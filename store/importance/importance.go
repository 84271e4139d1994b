// Package importance estimates how much a result depends on each parameter of a set of
// runs.
//
// It computes the permutation importance of a random forest (Breiman, "Random forests",
// 2001): trees predict the result from the parameters, and the importance of a parameter
// is the increase of the squared error of the predictions when its values are shuffled
// among the runs. Trees need no assumption about the form of a dependence, and can use
// texts and missing values. Results are replaced by their ranks, so that a few diverged
// runs do not hide all others.
//
// Predictions are made only for runs that were not used to grow the tree. Each of several
// forests is grown on a random half of the runs and judged on the other half. The standard
// deviation of an estimate among these halves is its standard error. This is the delete-d
// jackknife with d = n/2 (Shao and Wu, "A general theory for jackknife variance
// estimation", 1989), which Ishwaran and Lu recommend for forests ("Standard errors and
// confidence intervals for variable importance in random forest regression", 2019).
//
// The result for the same table is always the same.
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
	// MinRuns is the minimum number of runs for an estimate.
	MinRuns = 10
	// MaxColumns is the maximum number of columns that vary. Further columns are ignored.
	MaxColumns = 128

	halves    = 24   // number of forests, each grown on a different half of the runs
	trees     = 12   // number of trees in a forest
	mostSeen  = 1000 // maximum number of runs to grow a forest
	mostJudge = 500  // maximum number of runs to judge a forest
	shapeRuns = 50   // maximum number of runs to average the shape of a dependence
	quantile  = 1.96 // two-sided 95 % quantile of the normal distribution
)

// Column holds the values of one parameter in the runs.
type Column struct {
	Name   string
	Values []*string // one for each run; nil for a missing value
}

// Shape is the form of the dependence of a result on a parameter.
type Shape string

// The shapes of a dependence.
const (
	Unknown Shape = ""        // the forests do not agree on a shape
	Rising  Shape = "rising"  // the result rises with the parameter
	Falling Shape = "falling" // the result falls as the parameter rises
	Lowest  Shape = "lowest"  // the result is lowest at At, and higher on both sides
	Highest Shape = "highest" // the result is highest at At, and lower on both sides
	Between Shape = "between" // texts: the result is lowest at At and highest at Top
)

// Estimate is the estimated importance of a parameter.
type Estimate struct {
	Name string
	// Share is the part of the variance of the ranks that the parameter explains, alone
	// and together with others; at least 0. It is Sobol's total index, which is half the
	// permutation importance if the parameters are independent.
	Share float64
	Error float64 // standard error of Share
	Runs  int     // number of runs with the parameter
	Shape Shape
	At    string // the value in the description of Shape, or ""
	Top   string // the value with the highest result, for Between
}

// Low returns the lower end of the 95 % confidence interval of the share, at least 0.
func (e Estimate) Low() float64 { return max(0, e.Share-quantile*e.Error) }

// High returns the upper end of the 95 % confidence interval of the share, at most 1.
func (e Estimate) High() float64 { return min(1, e.Share+quantile*e.Error) }

// Known reports whether the importance is significant: whether Share is above 0 and above
// 1.96 standard errors.
func (e Estimate) Known() bool { return e.Share > quantile*e.Error && e.Share > 0 }

// Result holds the estimates for a table.
type Result struct {
	Runs    int
	Fit     float64    // R² of the predicted ranks of unseen runs; at 0 or below, the predictions are useless
	Columns []Estimate // estimates of the columns that vary, the most important first
}

// Of estimates the importance of each column for target, which has a number for each run and
// no NaN. Columns with the same value in all runs are left out. The result has no columns if
// there are fewer than MinRuns runs or target does not vary. Of returns an error only if ctx is
// done.
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
	curve [][]float64 // mean prediction, by column and code
}

// judge grows and judges the forests, with as many goroutines as there are cores.
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
		// Partial dependence: the mean prediction if all runs had the same code (Friedman,
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

// ranks returns the rank of each value, from 0 to 1. Equal values have the mean of their
// ranks.
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
