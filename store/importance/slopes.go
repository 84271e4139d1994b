package importance

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"tracker/store/distribution"
	"tracker/store/goal"
)

// With few runs, forests do not find interactions. The functions in this file look for one kind of
// interaction: the best value of a number differs between the levels of a second parameter. They
// fit a parabola over the logarithm of the number to the ranks of each level.
const (
	mostFitted  = 500   // maximum number of runs for which parabolas are fitted
	leastFitted = 10    // minimum number of runs in a level
	leastBend   = 4.0   // minimum curvature of a parabola, in standard errors
	leastShift  = 4.0   // minimum distance of two best values, in standard errors
	leastChance = 0.001 // maximum probability that chance explains the difference between the parabolas
	bestPart    = 0.25  // fraction of a level's runs from which its best value is computed
	curvePlaces = 12    // number of points of a fitted curve
)

// parabola is a least-squares fit a + b*z + c*z² of ranks for one level.
type parabola struct {
	level  int
	at     [3]float64    // a, b, c
	inside [3][3]float64 // inverse of XᵀX
	rest   float64       // residual sum of squares
	n      int
	best   float64 // position of the best value: the mean of the level's best runs
	off    float64 // standard error of best
	zs     []float64
	runs   []int
}

// shifts finds the numbers whose best values differ between the levels of another column. It
// describes at most one partner for each number. It does nothing if the goal is unknown, or if
// the forests have found an interaction of the number.
func (t *table) shifts(r *Result, sorted []float64) {
	if t.aim == "" || len(t.y) > mostFitted {
		return
	}
	var order []int
	for c := range r.Columns {
		order = append(order, c)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Columns[b].Share, r.Columns[a].Share) })
	order = order[:min(len(order), mostPairs)]
	tests := float64(len(order) * (len(order) - 1))
	for _, c := range order {
		e := &r.Columns[c]
		zs := t.logs(c)
		if zs == nil || e.With != "" {
			continue
		}
		var found []parabola
		var partner int
		top := 0.0
		for _, other := range order {
			if other == c {
				continue
			}
			fits, gain, chance := t.parabolas(zs, other)
			if len(fits) < 2 || chance*tests > leastChance || gain <= top || contrastOf(fits) == nil {
				continue
			}
			found, partner, top = fits, other, gain
		}
		if found == nil {
			continue
		}
		e.Known, e.Form = true, Form{}
		o := &r.Columns[partner]
		e.With, e.Levels, e.Contrast = o.Name, nil, nil
		all := t.levelsOf(partner)
		for _, p := range found {
			l := all[p.level]
			level := Level{From: l.from, To: l.to, Curve: p.curve(t, sorted)}
			level.Form = p.form(t.aim)
			e.Levels = append(e.Levels, level)
		}
		e.Contrast = contrastOf(found)
		r.Interactions = append(r.Interactions, Interaction{A: e.Name, B: o.Name, Share: top})
		o.Known, o.Form = true, Form{}
	}
}

// logs returns the logarithm of the numbers in column c. It returns nil if the column
// does not hold positive numbers over a wide range in all runs.
func (t *table) logs(c int) []float64 {
	column := t.columns[c]
	if column.bins < len(column.labels) || column.bins < 5 {
		return nil
	}
	low, high := column.ends[0].middle, column.ends[len(column.ends)-1].middle
	if low <= 0 || high < wideRange*low {
		return nil
	}
	zs := make([]float64, len(column.codes))
	for i, code := range column.codes {
		zs[i] = math.Log(column.ends[code].middle)
	}
	return zs
}

type levelRuns struct {
	from, to string
	runs     []int
}

// levelsOf divides the runs into the levels of a column: its strings, or thirds of its numbers.
func (t *table) levelsOf(c int) []levelRuns {
	g, column := t.groups[c], t.columns[c]
	place := make([]int, len(g.middle))
	var all []levelRuns
	for i, label := range g.middle {
		place[i] = -1
		switch {
		case i >= g.numbers && (label == "" || len(all) == mostLevels):
			continue
		case i >= g.numbers, g.numbers <= 3, i == 0 || i == (g.numbers+2)/3 || i == (2*g.numbers+2)/3:
			all = append(all, levelRuns{from: label, to: label})
		default:
			all[len(all)-1].to = label
		}
		place[i] = len(all) - 1
	}
	for run, code := range column.codes {
		if at := place[g.of[code]]; at >= 0 {
			all[at].runs = append(all[at].runs, run)
		}
	}
	return all
}

// parabolas fits a parabola for each level of a column with enough runs. gain is the fraction of
// the variance of the ranks that separate slopes and curvatures for each level explain in
// addition to common ones. chance is the probability of such a gain if the slopes and curvatures
// are equal in all levels (Chow, "Tests of equality between sets of coefficients in two linear
// regressions", 1960). fits has only parabolas with a clear best value.
func (t *table) parabolas(zs []float64, other int) (fits []parabola, gain, chance float64) {
	var rest, common, total, mean, n float64
	var pooled [2][2]float64
	var cross [2]float64
	count := 0
	var all []parabola
	for at, l := range t.levelsOf(other) {
		if len(l.runs) < leastFitted {
			continue
		}
		p, ok := fitParabola(zs, t.y, l.runs)
		if !ok {
			continue
		}
		p.level = at
		count++
		rest += p.rest
		n += float64(p.n)
		// Within-level sums of squares give the common slope and curvature.
		var mz, mzz, my float64
		for _, i := range l.runs {
			mz, mzz, my = mz+zs[i]/float64(p.n), mzz+zs[i]*zs[i]/float64(p.n), my+t.y[i]/float64(p.n)
		}
		mean += my * float64(p.n)
		for _, i := range l.runs {
			a, b, y := zs[i]-mz, zs[i]*zs[i]-mzz, t.y[i]-my
			pooled[0][0] += a * a
			pooled[0][1] += a * b
			pooled[1][1] += b * b
			cross[0] += a * y
			cross[1] += b * y
			common += y * y
			total += t.y[i] * t.y[i]
		}
		all = append(all, p)
	}
	if count < 2 {
		return nil, 0, 1
	}
	total -= mean * mean / n
	det := pooled[0][0]*pooled[1][1] - pooled[0][1]*pooled[0][1]
	if det <= 1e-9*pooled[0][0]*pooled[1][1] || total == 0 {
		return nil, 0, 1
	}
	b := (cross[0]*pooled[1][1] - cross[1]*pooled[0][1]) / det
	c := (cross[1]*pooled[0][0] - cross[0]*pooled[0][1]) / det
	common -= b*cross[0] + c*cross[1]
	free, more := n-3*float64(count), 2*float64(count-1)
	if free < 5 {
		return nil, 0, 1
	}
	f := (common - rest) / more / (max(rest, 1e-12) / free)
	chance = distribution.FTail(f, more, free)
	for _, p := range all {
		if p.settle(zs, t.y, t.aim) {
			fits = append(fits, p)
		}
	}
	return fits, (common - rest) / total, chance
}

// fitParabola fits a parabola to the given runs. ok is false if the runs do not determine the
// parabola.
func fitParabola(zs, y []float64, runs []int) (p parabola, ok bool) {
	var m [3][3]float64
	var v [3]float64
	for _, i := range runs {
		x := [3]float64{1, zs[i], zs[i] * zs[i]}
		for a := range x {
			for b := range x {
				m[a][b] += x[a] * x[b]
			}
			v[a] += x[a] * y[i]
		}
	}
	if p.inside, ok = inverse(m); !ok {
		return p, false
	}
	for a := range v {
		for b := range v {
			p.at[a] += p.inside[a][b] * v[b]
		}
	}
	for _, i := range runs {
		d := y[i] - p.value(zs[i])
		p.rest += d * d
		p.zs = append(p.zs, zs[i])
	}
	slices.Sort(p.zs)
	p.n, p.runs = len(runs), runs
	return p, true
}

func (p *parabola) value(z float64) float64 { return p.at[0] + p.at[1]*z + p.at[2]*z*z }

// deviation returns the standard error of the parabola at z.
func (p *parabola) deviation(z float64) float64 {
	x := [3]float64{1, z, z * z}
	var sum float64
	for a := range x {
		for b := range x {
			sum += x[a] * p.inside[a][b] * x[b]
		}
	}
	return math.Sqrt(max(0, sum) * p.rest / float64(p.n-3))
}

// settle sets the best value and its standard error. It reports whether the parabola clearly
// bends. The best value is the mean of the runs with the best results, because the vertex of the
// parabola is wrong if the true curve has another form.
func (p *parabola) settle(zs, y []float64, aim goal.Goal) bool {
	bend, sign := p.at[2], 1.0
	if aim == goal.Maximize {
		bend, sign = -bend, -1
	}
	if bend <= 0 || bend < leastBend*math.Sqrt(p.rest/float64(p.n-3)*p.inside[2][2]) {
		return false
	}
	order := slices.Clone(p.runs)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sign*y[a], sign*y[b]) })
	var best []float64
	for _, i := range order[:max(4, int(bestPart*float64(p.n)))] {
		best = append(best, zs[i])
	}
	p.best, p.off = deviation(best)
	p.off /= math.Sqrt(float64(len(best)))
	return true
}

// contrastOf compares the two parabolas whose best values are farthest apart. It returns nil if
// their difference is not clear.
func contrastOf(fits []parabola) *Contrast {
	more, less := 0, 0
	for i, p := range fits {
		if p.best > fits[more].best {
			more = i
		}
		if p.best < fits[less].best {
			less = i
		}
	}
	d, sd := fits[more].best-fits[less].best, math.Hypot(fits[more].off, fits[less].off)
	if d < leastShift*sd || d-quantile*sd < math.Log(leastRatio) {
		return nil
	}
	return &Contrast{More: more, Less: less, Ratio: math.Exp(d), RatioLow: math.Exp(d - quantile*sd), RatioHigh: math.Exp(d + quantile*sd)}
}

// places returns the positions of the points of the curve.
func (p *parabola) places() []float64 {
	all := make([]float64, curvePlaces)
	low, high := p.zs[0], p.zs[p.n-1]
	for i := range all {
		all[i] = low + (high-low)*float64(i)/float64(curvePlaces-1)
	}
	return all
}

func (p *parabola) curve(t *table, sorted []float64) []Point {
	var all []Point
	places := p.places()
	for _, z := range places {
		mean, sd := p.value(z), p.deviation(z)
		one := Point{Value: round(strconv.FormatFloat(math.Exp(z), 'g', -1, 64)), Mean: atRank(sorted, mean),
			Low: atRank(sorted, mean-quantile*sd), High: atRank(sorted, mean+quantile*sd)}
		all = append(all, one)
	}
	step := places[1] - places[0]
	for _, z := range p.zs {
		all[max(0, min(curvePlaces-1, int(math.Round((z-places[0])/step))))].Runs++
	}
	return all
}

// form returns the form of the parabola. The range includes the positions whose confidence
// interval includes the best result.
func (p *parabola) form(aim goal.Goal) Form {
	text := func(z float64) string { return round(strconv.FormatFloat(math.Exp(z), 'g', -1, 64)) }
	sign := 1.0
	if aim == goal.Maximize {
		sign = -1
	}
	best := sign * p.value(p.best)
	from, to := p.best, p.best
	for _, z := range p.places() {
		if sign*p.value(z)-quantile*p.deviation(z) <= best {
			from, to = min(from, z), max(to, z)
		}
	}
	r := Range{At: text(p.best), From: text(from), To: text(to)}
	if aim == goal.Maximize {
		return Form{Shape: Highest, Max: r}
	}
	return Form{Shape: Lowest, Min: r}
}

// inverse returns the inverse of a symmetric matrix. ok is false if it is nearly singular.
func inverse(m [3][3]float64) (out [3][3]float64, ok bool) {
	minor := func(a, b, c, d int) float64 { return m[a][c]*m[b][d] - m[a][d]*m[b][c] }
	det := m[0][0]*minor(1, 2, 1, 2) - m[0][1]*minor(1, 2, 0, 2) + m[0][2]*minor(1, 2, 0, 1)
	if !(math.Abs(det) > 1e-10*m[0][0]*m[1][1]*m[2][2]) {
		return out, false
	}
	out = [3][3]float64{
		{minor(1, 2, 1, 2), -minor(0, 2, 1, 2), minor(0, 1, 1, 2)},
		{-minor(1, 2, 0, 2), minor(0, 2, 0, 2), -minor(0, 1, 0, 2)},
		{minor(1, 2, 0, 1), -minor(0, 2, 0, 1), minor(0, 1, 0, 1)},
	}
	for a := range out {
		for b := range out[a] {
			out[a][b] /= det
		}
	}
	return out, true
}
