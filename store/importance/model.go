package importance

import (
	"cmp"
	"slices"

	"tracker/store/goal"
)

const (
	nearShare  = 0.1 // fraction of the tested runs that give the interval of a prediction
	leastNear  = 60  // minimum number of these tests
	predicted9 = 0.9 // probability that a result is inside the interval of its prediction
)

// model predicts results from the forests of an estimate.
type model struct {
	aim      goal.Goal
	columns  map[string]*coding
	at       map[string]int // index of each column in the forests
	size     int
	choosing []forest
	judging  []forest
	tested   []tested // sorted by predicted rank
	sorted   []float64
}

func newModel(t *table, columns []Estimate, judged []judgement, sorted []float64) *model {
	m := &model{aim: t.aim, columns: map[string]*coding{}, at: map[string]int{}, size: len(t.columns), sorted: sorted}
	for i, e := range columns {
		m.columns[e.Name], m.at[e.Name] = &t.columns[i], i
	}
	for i, j := range judged {
		if i%2 == 0 {
			m.choosing = append(m.choosing, j.forest)
		} else {
			m.judging = append(m.judging, j.forest)
		}
		m.tested = append(m.tested, j.tested...)
	}
	slices.SortFunc(m.tested, func(a, b tested) int {
		return cmp.Or(cmp.Compare(a.predicted, b.predicted), cmp.Compare(a.actual, b.actual))
	})
	return m
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
// for the worst. It uses half of the forests, and Predict uses the other half. The settings
// with the best score are therefore not predicted by the forests that have chosen them. ok is
// false if there is no estimate, or if a value is unknown to the model. A parameter without a
// setting counts as missing.
func (r *Result) Score(settings map[string]string) (score float64, ok bool) {
	codes, ok := r.model.codes(settings)
	if !ok {
		return 0, false
	}
	score = mean(r.model.choosing, codes)
	if r.model.aim == goal.Maximize {
		score = 1 - score
	}
	return score, true
}

// Predict returns the predicted result of a run with the given settings. ok is false if there
// is no estimate, or if a value is unknown to the model.
//
// The interval comes from the errors of the forests for runs that they have not seen, among the
// runs with the most similar predictions. It is a split conformal interval with a local
// calibration (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-free predictive
// inference for regression", 2018; Boström and Johansson, "Mondrian conformal regressors",
// 2020).
func (r *Result) Predict(settings map[string]string) (p Prediction, ok bool) {
	m := r.model
	codes, ok := m.codes(settings)
	if !ok {
		return p, false
	}
	rank := mean(m.judging, codes)
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
	tail := int((1 - predicted9) / 2 * float64(n))
	low, mid, high := rank+errors[tail], rank+shift, rank+errors[n-1-tail]
	p.Mean, p.Low, p.High = atRank(m.sorted, mid), atRank(m.sorted, low), atRank(m.sorted, high)
	p.Rank, p.RankHigh = max(0, min(1, mid)), max(0, min(1, high))
	if m.aim == goal.Maximize {
		p.Rank, p.RankHigh = 1-p.Rank, 1-max(0, min(1, low))
	}
	return p, true
}

// codes returns the codes of settings, by column.
func (m *model) codes(settings map[string]string) ([]uint8, bool) {
	if m == nil {
		return nil, false
	}
	codes := make([]uint8, m.size)
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

// mean returns the mean prediction of the forests for a run with the given codes.
func mean(forests []forest, codes []uint8) float64 {
	var sum float64
	trees := 0
	for _, f := range forests {
		for _, t := range f {
			at := int32(0)
			for t[at].column >= 0 {
				n := &t[at]
				at = n.next(codes[n.column])
			}
			sum += t[at].value
			trees++
		}
	}
	return sum / float64(trees)
}
