// Package importance estimates how a result depends on the parameters of a set of runs. It
// finds the parameters that matter, the values with good results, and the parameters that
// depend on one another.
//
// A random forest (Breiman, "Random forests", 2001) predicts the result from the parameters.
// Trees make no assumption about the form of a dependence, and handle strings and missing values.
// The package replaces results with their ranks, so that a few diverged runs do not hide the
// effects in all other runs.
//
// The share of a parameter is half its permutation importance. To measure it, the package
// shuffles the parameter's values among runs that the forest has not seen. The permutation
// importance is the resulting increase of the squared prediction error, relative to the variance
// of the results. The curve and the interactions of a parameter are terms of a functional
// analysis of variance of the forest (Hutter, Hoos and Leyton-Brown, "An efficient approach for
// assessing hyperparameter importance", 2014).
//
// The package halves the runs at random several times and grows a forest on each half. If forests
// of different halves agree, their agreement is not noise. The share of an interaction is the
// mean product of the estimates by two forests. To tune the other parameters for a string value,
// one forest chooses the best settings and the second forest predicts their results.
//
// The standard error of an estimate is its standard deviation among the halves. This is the
// delete-d jackknife with d = n/2 (Shao and Wu, "A general theory for jackknife variance
// estimation", 1989). Ishwaran and Lu recommend this jackknife for forests ("Standard errors
// and confidence intervals for variable importance in random forest regression", 2019).
//
// The result is deterministic: the same table always gives the same result.
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
	// MaxColumns is the maximum number of columns with varying values. Of ignores further
	// columns.
	MaxColumns = 128

	splits     = 12   // number of random divisions of the runs into two halves
	leastTrees = 12   // minimum number of trees in a forest, used for many runs
	mostTrees  = 40   // maximum number of trees in a forest, used for few runs
	mostSeen   = 1000 // maximum number of runs from which a forest is grown
	mostJudge  = 500  // maximum number of runs on which a forest is judged
	mostPairs  = 6    // maximum number of columns with estimated interactions
	mostTuned  = 200  // maximum number of runs whose settings the function tune tries
	quantile   = 1.96 // two-sided 95% quantile of the normal distribution
	familywise = 0.2  // probability that at least one column without an effect is Known
)

// Column holds the values of one parameter in the runs.
type Column struct {
	Name   string
	Values []*string // value of each run; nil for a missing value
}

// Estimate holds the estimated importance of a parameter.
type Estimate struct {
	Name string
	// Share is the fraction of the variance of the ranks that the parameter explains, alone and
	// together with other parameters. Share is at least 0. It estimates Sobol's total index,
	// which is half the permutation importance if the parameters are independent.
	Share float64
	Error float64 // standard error of Share
	Known bool    // set if chance does not explain the effect of the parameter
	Runs  int     // number of runs with a value of the parameter

	// Form describes the curve. It is empty if Known is false or if the form depends on the value
	// of another parameter.
	Form
	Curve []Point
	// Tuned holds the expected result of each string value if the other parameters are well
	// tuned. It is empty if the parameter has numbers or the goal is unknown.
	Tuned []Point
	// With is the parameter with the strongest interaction, or "". Levels holds a curve for
	// each range of With's values.
	With   string
	Levels []Level
	// Contrast compares the two levels whose best values are farthest apart. It is nil if the
	// runs do not show a large difference.
	Contrast *Contrast
}

// Point is a point of a curve. It holds the mean result of the runs with a value, in the units
// of the target. Low and High are the ends of the 95% confidence interval.
type Point struct {
	Value           string // value of the parameter; "" for missing values and rare strings
	Mean, Low, High float64
	Runs            int
}

// Level is the curve of a parameter for a range of another parameter's values.
type Level struct {
	From, To string // ends of the range, inclusive; equal for a string
	Form
	Curve []Point

	best []float64 // logarithm of the best value, by forest; nil if unknown
}

// Interaction is the fraction of the variance that two parameters explain only together.
type Interaction struct {
	A, B         string
	Share, Error float64
}

// Interval returns the 95% confidence interval of the share.
func (e Estimate) Interval() (low, high float64) {
	return max(0, e.Share-quantile*e.Error), min(1, e.Share+quantile*e.Error)
}

// Result holds the estimates for a set of runs.
type Result struct {
	Runs         int
	Fit          float64       // R² of the predicted ranks of unseen runs; the predictions are useless if Fit <= 0
	Columns      []Estimate    // estimates of the columns with varying values, most important first
	Interactions []Interaction // interactions that chance does not explain, strongest first

	table  *table // nil if there is no estimate
	names  []string
	sorted []float64
}

// Of estimates the importance of each column for target. target has a number for each run, and
// none is NaN. If aim is set, Of compares string values by their results with well-tuned other
// parameters. Of omits columns with the same value in all runs. The result has no columns if
// there are fewer than MinRuns runs or if target does not vary. Of returns an error only if ctx
// is done.
func Of(ctx context.Context, target []float64, columns []Column, aim goal.Goal) (Result, error) {
	r := Result{Runs: len(target)}
	t := table{y: ranks(target), aim: aim}
	codes := make([]coding, len(columns))
	if err := each(ctx, len(columns), func(i int) { codes[i] = encode(columns[i].Values) }); err != nil {
		return r, err
	}
	for i, code := range codes {
		if len(code.labels) > 1 && len(t.columns) < MaxColumns {
			t.columns = append(t.columns, code)
			t.groups = append(t.groups, group(code))
			r.Columns = append(r.Columns, Estimate{Name: columns[i].Name, Runs: code.known})
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
	sorted := slices.Sorted(slices.Values(target))
	t.describe(&r, judged, pairs, sorted)
	t.shifts(&r, sorted)
	r.table, r.sorted = &t, sorted
	for _, e := range r.Columns {
		r.names = append(r.names, e.Name)
	}
	slices.SortStableFunc(r.Columns, func(a, b Estimate) int {
		lowA, _ := a.Interval()
		lowB, _ := b.Interval()
		return cmp.Or(cmp.Compare(lowB, lowA), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	return r, nil
}

// table holds the runs in the form that forests need.
type table struct {
	y       []float64 // rank of each result
	aim     goal.Goal
	columns []coding
	groups  []grouping
}

// judgement holds a forest that was grown on half of the runs, and its results for the other
// half.
type judgement struct {
	forest  forest
	fit     float64
	share   []float64   // share of each column
	tuned   [][]float64 // for each column of strings and each code: result with well-tuned other parameters
	effects *effects
}

// each calls f with the numbers from 0 to n-1. It uses one goroutine for each CPU core. It
// returns the error of ctx if ctx is done.
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

// judge divides the runs into two halves and grows a forest on each half. It judges each forest
// on the other half.
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

// permute sets j.share. It uses the runs in unseen, with which j.forest was not trained.
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
				continue // the prediction does not change
			}
			d, p := t.y[run]-known[i].mean, t.y[run]-known[i].with(j.forest, t.columns, run, c, code)
			worse += p*p - d*d
		}
		j.share[c] = worse / (2 * spread)
	}
}

// tune estimates the result of each string value with well-tuned other parameters. One forest
// selects the tenth of the given runs with the best settings for the value. The second forest
// predicts the result of the value with these settings.
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

// deviation returns the mean and the standard deviation of values.
func deviation(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(sd)
}

// ranks returns the rank of each value as a number from 0 to 1. Equal values share the mean of
// their ranks.
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

// sortedBy returns the indexes of values, sorted by value.
func sortedBy(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// normalQuantile returns the p-quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
