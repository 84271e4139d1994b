// Package importance estimates how a result depends on the parameters of a set of runs: which of
// them matter, for which values the result is good, and which of them depend on one another.
//
// A random forest (Breiman, "Random forests", 2001) predicts the result from the parameters.
// Trees need no assumption about the form of a dependence, and can use texts and missing values.
// Results are replaced by their ranks, so that a few diverged runs do not hide all others.
//
// The share of a parameter is its permutation importance: the increase of the squared error of
// the predictions when its values are shuffled among runs that the forest has not seen. Its
// curve, and its interactions with other parameters, are the terms of a functional analysis of
// variance of the forest (Hutter, Hoos and Leyton-Brown, "An efficient approach for assessing
// hyperparameter importance", 2014).
//
// The runs are halved at random, several times, and a forest is grown on each half. What two
// forests of different halves agree on is not noise: the share of an interaction is the mean
// product of both estimates of it, and the value of a choice with well-tuned other parameters is
// predicted by one forest where the other one expects good results. The standard deviation of an
// estimate among the halves is its standard error. This is the delete-d jackknife with d = n/2
// (Shao and Wu, "A general theory for jackknife variance estimation", 1989), which Ishwaran and
// Lu recommend for forests ("Standard errors and confidence intervals for variable importance in
// random forest regression", 2019).
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

	"tracker/store/goal"
)

const (
	// MinRuns is the minimum number of runs for an estimate.
	MinRuns = 10
	// MaxColumns is the maximum number of columns that vary. Further columns are ignored.
	MaxColumns = 128

	splits     = 12   // number of times that the runs are divided into two halves
	leastTrees = 12   // number of trees in a forest for many runs
	mostTrees  = 40   // number of trees in a forest for few runs, whose forests differ more
	mostSeen   = 1000 // maximum number of runs to grow a forest
	mostJudge  = 500  // maximum number of runs to judge a forest
	mostPairs  = 6    // number of columns whose interactions are estimated
	mostTuned  = 200  // maximum number of runs whose settings are tried with each choice
	quantile   = 1.96 // two-sided 95 % quantile of the normal distribution
	familywise = 0.2  // probability that any column without an effect is said to matter
)

// Column holds the values of one parameter in the runs.
type Column struct {
	Name   string
	Values []*string // one for each run; nil for a missing value
}

// Estimate is the estimated importance of a parameter.
type Estimate struct {
	Name string
	// Share is the part of the variance of the ranks that the parameter explains, alone
	// and together with others; at least 0. It is Sobol's total index, which is half the
	// permutation importance if the parameters are independent.
	Share float64
	Error float64 // standard error of Share
	Known bool    // whether the parameter matters more than chance explains
	Runs  int     // number of runs with the parameter

	// Form describes the curve. It is empty if the parameter is not Known, or if its effect
	// depends on another one so much that no form is true of all of its values.
	Form
	Curve []Point
	// Tuned holds the results of texts where all other parameters are set well for them. It is
	// empty without a goal, and for numbers.
	Tuned []Point
	// With is the parameter with the strongest interaction, or "". Levels holds the curve
	// for its values.
	With   string
	Levels []Level
}

// Point is a point of a curve: the result of the runs with a value, in the units of the target.
// Low and High are the ends of the 95 % confidence interval.
type Point struct {
	Value           string // "" for missing values and rare texts
	Mean, Low, High float64
	Runs            int
}

// Level is the curve of a parameter in the runs in which another parameter has some values.
type Level struct {
	From, To string // the values; equal for a text
	Form
	Curve []Point
}

// Interaction is the part of the variance that two parameters explain only together.
type Interaction struct {
	A, B         string
	Share, Error float64
}

// Interval returns the 95 % confidence interval of the share.
func (e Estimate) Interval() (low, high float64) {
	return max(0, e.Share-quantile*e.Error), min(1, e.Share+quantile*e.Error)
}

// Result holds the estimates for a table.
type Result struct {
	Runs         int
	Fit          float64       // R² of the predicted ranks of unseen runs; at 0 or below, the predictions are useless
	Columns      []Estimate    // estimates of the columns that vary, the most important first
	Interactions []Interaction // interactions that are not explained by chance, the strongest first
}

// Of estimates the importance of each column for target, which has a number for each run and
// no NaN. With a goal, texts are compared by their results where the other parameters are set well.
// Columns with the same value in all runs are left out. The result has no columns if there are
// fewer than MinRuns runs or target does not vary. Of returns an error only if ctx is done.
func Of(ctx context.Context, target []float64, columns []Column, aim goal.Goal) (Result, error) {
	r := Result{Runs: len(target)}
	t := table{y: ranks(target), aim: aim}
	for _, c := range columns {
		if code := encode(c.Values); len(code.labels) > 1 && len(t.columns) < MaxColumns {
			t.columns = append(t.columns, code)
			t.groups = append(t.groups, group(code))
			r.Columns = append(r.Columns, Estimate{Name: c.Name, Runs: code.known})
		}
	}
	if len(t.y) < MinRuns || len(t.columns) == 0 || slices.Min(target) == slices.Max(target) {
		r.Columns = nil
		return r, ctx.Err()
	}
	judged := make([]judgement, 2*splits)
	err := each(ctx, splits, func(i int) { t.judge(judged[2*i:][:2], uint64(i)) })
	if err != nil {
		return r, err
	}
	enough := max(quantile, normalQuantile(1-familywise/float64(len(t.columns))))
	for c := range r.Columns {
		e := &r.Columns[c]
		var shares []float64
		for _, j := range judged {
			shares = append(shares, j.share[c])
		}
		e.Share, e.Error = deviation(shares)
		e.Share = max(0, e.Share)
		e.Known = e.Share > enough*e.Error && e.Share > 0
	}
	for _, j := range judged {
		r.Fit += j.fit / float64(len(judged))
	}
	pairs := strongest(r.Columns)
	for i := range judged {
		judged[i].effects = nil
	}
	err = each(ctx, len(judged), func(i int) {
		e := judged[i].forest.effects(t.groups, pairs)
		judged[i].effects = &e
	})
	if err != nil {
		return r, err
	}
	t.describe(&r, judged, pairs, slices.Sorted(slices.Values(target)))
	slices.SortStableFunc(r.Columns, func(a, b Estimate) int {
		lowA, _ := a.Interval()
		lowB, _ := b.Interval()
		return cmp.Or(cmp.Compare(lowB, lowA), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	return r, nil
}

// table holds the runs in the form that forests use.
type table struct {
	y       []float64 // ranks of the results
	aim     goal.Goal
	columns []coding
	groups  []grouping
}

// judgement is a forest that is grown on one half of the runs, with its results on the other half.
type judgement struct {
	forest  forest
	fit     float64
	share   []float64   // by column
	tuned   [][]float64 // by column of texts and code: results where the other parameters are set well
	effects *effects
}

// each calls f with the numbers below n, by as many goroutines as there are cores. It returns an
// error if ctx is done before all calls have been made.
func each(ctx context.Context, n int, f func(i int)) error {
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := range next {
				if ctx.Err() == nil {
					f(i)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	return ctx.Err()
}

// judge divides the runs into two halves, grows a forest on each, and judges it on the other one.
func (t *table) judge(out []judgement, seed uint64) {
	random := rand.New(rand.NewPCG(seed, uint64(len(t.y))))
	order := random.Perm(len(t.y))
	halves := [2][]int{order[:len(order)/2], order[len(order)/2:]}
	for i, half := range halves {
		for range max(leastTrees, min(mostTrees, mostTrees*100/len(t.y))) {
			out[i].forest = append(out[i].forest, grow(random, t.y, t.columns, half[:min(len(half), mostSeen)]))
		}
	}
	for i := range out {
		unseen := halves[1-i]
		t.permute(&out[i], random, unseen[:min(len(unseen), mostJudge)])
	}
	if t.aim != "" {
		t.tune(out, order[:min(len(order), mostTuned)])
	}
}

// permute estimates the shares of the columns from the runs of unseen.
func (t *table) permute(j *judgement, random *rand.Rand, unseen []int) {
	known := make([]predictions, len(unseen))
	var spread, off, mean float64
	for _, run := range unseen {
		mean += t.y[run] / float64(len(unseen))
	}
	for i, run := range unseen {
		known[i] = j.forest.predict(t.columns, run)
		spread += (t.y[run] - mean) * (t.y[run] - mean)
		off += (t.y[run] - known[i].mean) * (t.y[run] - known[i].mean)
	}
	j.share = make([]float64, len(t.columns))
	if spread == 0 {
		return
	}
	j.fit = 1 - off/spread
	for c, column := range t.columns {
		var worse float64
		for i, from := range random.Perm(len(unseen)) {
			run, code := unseen[i], column.codes[unseen[from]]
			if column.codes[run] == code {
				continue // the prediction is the same
			}
			d, p := t.y[run]-known[i].mean, t.y[run]-known[i].with(j.forest, t.columns, run, c, code)
			worse += p*p - d*d
		}
		j.share[c] = worse / (2 * spread)
	}
}

// tune estimates the result of each text where the other parameters are set well for it. One
// forest chooses the best tenth of the settings of runs, and the other one predicts their results.
func (t *table) tune(both []judgement, runs []int) {
	sign := 1.0
	if t.aim == goal.Maximize {
		sign = -1
	}
	var known [2][]predictions
	for i, j := range both {
		for _, run := range runs {
			known[i] = append(known[i], j.forest.predict(t.columns, run))
		}
		both[i].tuned = make([][]float64, len(t.columns))
	}
	best := max(min(len(runs), 3), len(runs)/10)
	for c, column := range t.columns {
		if column.bins > 0 {
			continue
		}
		for code := range column.labels {
			var results [2][]float64
			for i, j := range both {
				for k, run := range runs {
					results[i] = append(results[i], sign*known[i][k].with(j.forest, t.columns, run, c, uint8(code)))
				}
			}
			for i := range both {
				order := sortedBy(results[1-i])
				var sum float64
				for _, k := range order[:best] {
					sum += sign * results[i][k] / float64(best)
				}
				both[i].tuned[c] = append(both[i].tuned[c], sum)
			}
		}
	}
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
	order := sortedBy(values)
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

// sortedBy returns the places of values in the order of the values.
func sortedBy(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// normalQuantile returns the quantile p of the normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
