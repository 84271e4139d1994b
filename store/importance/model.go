package importance

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"tracker/store/goal"
)

const (
	modelTrees = 64   // number of trees for Score, and number of trees for Predict
	nearShare  = 0.15 // fraction of the tested runs from which the interval of a prediction is computed
	leastNear  = 20   // minimum number of these runs
	inInterval = 0.9  // probability that a result is inside the interval of its prediction
)

// Model predicts the results of settings from all runs of an estimate.
type Model struct {
	// Fit is R² of the predicted ranks. Each run is predicted by the trees that have not seen it
	// (out-of-bag; Breiman, "Random forests", 2001).
	Fit float64

	aim      goal.Goal
	columns  map[string]*coding
	at       map[string]int // index of each column in the forests
	choosing forest
	judging  forest
	tested   []tested // sorted by predicted rank
	sorted   []float64
}

// tested holds the predicted rank of a run, by trees that have not seen it, and its actual rank.
type tested struct{ predicted, actual float64 }

// Model returns a model of the results. It returns nil if there is no estimate. It returns an error
// only if ctx is done.
func (r *Result) Model(ctx context.Context) (*Model, error) {
	t := r.table
	if t == nil {
		return nil, ctx.Err()
	}
	m := &Model{aim: t.aim, columns: map[string]*coding{}, at: map[string]int{}, sorted: r.sorted}
	for i, name := range r.names {
		m.columns[name], m.at[name] = &t.columns[i], i
	}
	runs := rand.New(rand.NewPCG(1, uint64(len(t.y)))).Perm(len(t.y))
	runs = runs[:min(len(runs), mostSeen)]
	trees := make([]tree, 2*modelTrees)
	seen := make([]map[int]bool, len(trees))
	err := each(ctx, len(trees), func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), uint64(len(t.y))))
		sample := make([]int, len(runs))
		seen[i] = make(map[int]bool, len(runs))
		for k := range sample {
			sample[k] = runs[random.IntN(len(runs))]
			seen[i][sample[k]] = true
		}
		trees[i] = growOn(random, t.y, t.columns, sample)
	})
	if err != nil {
		return nil, err
	}
	m.choosing, m.judging = trees[:modelTrees], trees[modelTrees:]
	var off, spread float64
	mean, _ := deviation(t.y)
	for _, run := range runs {
		var sum, n float64
		var used columnSet
		for i, tree := range m.judging {
			if !seen[modelTrees+i][run] {
				sum += tree.predict(t.columns, run, -1, 0, &used)
				n++
			}
		}
		if n == 0 {
			continue
		}
		m.tested = append(m.tested, tested{sum / n, t.y[run]})
		off += (t.y[run] - sum/n) * (t.y[run] - sum/n)
		spread += (t.y[run] - mean) * (t.y[run] - mean)
	}
	if spread > 0 {
		m.Fit = 1 - off/spread
	}
	slices.SortFunc(m.tested, func(a, b tested) int {
		return cmp.Or(cmp.Compare(a.predicted, b.predicted), cmp.Compare(a.actual, b.actual))
	})
	return m, nil
}

// Prediction is the predicted result of a run with given settings.
type Prediction struct {
	// Mean is the expected result. A new run is between Low and High with a probability of 90%.
	Mean, Low, High float64
	// Rank is the fraction of the runs with a better result than Mean. RankHigh is the fraction
	// with a better result than the worse end of the interval.
	Rank, RankHigh float64
}

// Score returns the expected rank of a run with the given settings: 0 for the best result and 1
// for the worst. Score and Predict use different trees. ok is false if a value is unknown to the
// model. A parameter without a setting counts as missing.
func (m *Model) Score(settings map[string]string) (score float64, ok bool) {
	codes, ok := m.codes(settings)
	if !ok {
		return 0, false
	}
	score = m.choosing.mean(codes)
	if m.aim == goal.Maximize {
		score = 1 - score
	}
	return score, true
}

// Predict returns the predicted result of a run with the given settings. ok is false if a value is
// unknown to the model.
//
// The interval comes from the out-of-bag errors of the runs with the most similar predictions. It
// is a conformal interval of a random forest with a local calibration (Johansson, Boström,
// Löfström and Linusson, "Regression conformal prediction with random forests", 2014; Boström and
// Johansson, "Mondrian conformal regressors", 2020).
func (m *Model) Predict(settings map[string]string) (p Prediction, ok bool) {
	codes, ok := m.codes(settings)
	if !ok || len(m.tested) == 0 {
		return p, false
	}
	rank := m.judging.mean(codes)
	n := min(len(m.tested), max(leastNear, int(nearShare*float64(len(m.tested)))))
	at, _ := slices.BinarySearchFunc(m.tested, rank, func(t tested, rank float64) int { return cmp.Compare(t.predicted, rank) })
	from := max(0, min(at-n/2, len(m.tested)-n))
	var errors []float64
	var shift float64
	for _, t := range m.tested[from : from+n] {
		errors = append(errors, t.actual-t.predicted)
		shift += (t.actual - t.predicted) / float64(n)
	}
	slices.Sort(errors)
	tail := int((1 - inInterval) / 2 * float64(n+1))
	low, mid, high := rank+errors[tail], rank+shift, rank+errors[n-1-tail]
	p.Mean, p.Low, p.High = atRank(m.sorted, mid), atRank(m.sorted, low), atRank(m.sorted, high)
	p.Rank, p.RankHigh = max(0, min(1, mid)), max(0, min(1, high))
	if m.aim == goal.Maximize {
		p.Rank, p.RankHigh = 1-p.Rank, 1-max(0, min(1, low))
	}
	return p, true
}

// codes returns the codes of settings, by column.
func (m *Model) codes(settings map[string]string) ([]uint8, bool) {
	codes := make([]uint8, len(m.at))
	for name, c := range m.columns {
		var value *string
		if v, ok := settings[name]; ok {
			value = &v
		}
		code, ok := c.code(value)
		if !ok {
			return nil, false
		}
		codes[m.at[name]] = code
	}
	return codes, true
}

// mean returns the mean prediction of the trees for a run with the given codes.
func (f forest) mean(codes []uint8) float64 {
	var sum float64
	for _, t := range f {
		at := int32(0)
		for t[at].column >= 0 {
			n := &t[at]
			at = n.next(codes[n.column])
		}
		sum += t[at].value / float64(len(f))
	}
	return sum
}
