// Package diagnosis explains why a run failed. It compares the metrics of the run with their own
// history and with the metrics of finished runs, and the parameters of the run with the
// parameters of finished runs. It also looks for known signs of crashes in the error message and
// the last console lines. The result is a list of sentences. A sentence states what the data show
// and does not claim a cause. If the data show nothing unusual, there is no sentence.
//
// The package does not read the database. The caller passes curves, and functions that read
// further parts of them.
package diagnosis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store/goal"
)

// FindingKind is the kind of a Finding.
type FindingKind string

// Values of FindingKind, in the order of a Diagnosis.
const (
	End       FindingKind = "end"       // how the run ended
	BadValue  FindingKind = "bad_value" // the first metric that was NaN or infinite, or that exploded
	Moved     FindingKind = "moved"     // another metric that changed before the first bad value
	Band      FindingKind = "band"      // a metric that left the band of the finished runs
	Parameter FindingKind = "parameter" // a parameter that sets the run apart
	System    FindingKind = "system"    // state of the machine at the end
	Alike     FindingKind = "alike"     // number of other runs that failed in the same way
)

// Finding is one sentence of a Diagnosis.
type Finding struct {
	Kind FindingKind `json:"kind"`
	Text string      `json:"text"`
	Key  string      `json:"key"`  // name of the metric or parameter, "" for none
	Step *int64      `json:"step"` // step of the metric, nil for none
}

// Diagnosis explains the end of a run.
type Diagnosis struct {
	Outcome  Outcome   `json:"outcome"`
	Crash    *Crash    `json:"crash"` // nil if there is no sign of a crash
	Findings []Finding `json:"findings"`
}

// Input holds the data about the run that Of explains.
type Input struct {
	Failure
	LastSeen string   // formatted time
	End      int64    // time of the last value of the run's metrics, in Unix milliseconds
	Series   []Series // metrics of the run
	System   []Series // system metrics of the last minutes
	Finished int      // number of runs that finished

	// Read reads a part of a metric of the run. Siblings reads a metric of finished runs.
	Read     Reader
	Siblings func(key string) ([]Series, error)

	Traits []Trait // parameters that set the run apart
	Alike  int     // number of other runs that failed in the same way
}

const (
	mostMoved      = 5 // maximum number of findings of the kind Moved
	mostCandidates = 8 // maximum number of metrics that are compared with finished runs
	mostNamed      = 3 // maximum number of other metrics in a sentence

	explodedSDs, explodedFactor = 6, 5  // minimum size of an explosion in a metric to minimize, in deviations and as a factor
	gradientSDs, gradientFactor = 8, 10 // the same for a gradient
	movedSDs, movedFactor       = 5, 2  // the same for a change before a bad value
)

// Of explains a run.
func Of(in Input) (Diagnosis, error) {
	d := Diagnosis{Outcome: in.Outcome, Findings: []Finding{}}
	if in.Crash.Kind != None {
		d.Crash = &in.Crash
	}
	if text := in.endText(); text != "" {
		d.Findings = append(d.Findings, Finding{Kind: End, Text: text})
	}
	bad, err := in.firstBad()
	if err != nil {
		return d, err
	}
	if bad != nil {
		d.add(BadValue, bad.key, bad.step, bad.text())
		moved, err := in.movedBefore(*bad)
		if err != nil {
			return d, err
		}
		for _, m := range moved {
			d.add(Moved, m.key, m.to, m.text())
		}
	}
	if bad != nil || in.Failed() {
		left, err := in.departure(bad)
		if err != nil {
			return d, err
		}
		if left != nil {
			d.add(Band, left.key, left.step, left.text())
		}
		for _, t := range in.Traits {
			d.Findings = append(d.Findings, Finding{Kind: Parameter, Key: t.Name, Text: t.Text})
		}
	}
	d.Findings = append(d.Findings, machine(in.System, in.Crash.Kind, in.Outcome, in.End)...)
	if in.Alike > 0 {
		d.Findings = append(d.Findings, Finding{Kind: Alike, Text: capital(counted(in.Alike, "other run", "other runs")) + " failed in the same way."})
	}
	return d, nil
}

func (d *Diagnosis) add(kind FindingKind, key string, step int64, text string) {
	d.Findings = append(d.Findings, Finding{Kind: kind, Text: text, Key: key, Step: &step})
}

// endText returns the sentence about the end of the run. It returns "" for a run that is running
// or succeeded.
func (in *Input) endText() string {
	c := in.Crash
	message := sentence(clip(c.Message, maxMessage))
	where := ""
	if c.Traceback {
		where = " In " + c.Place()
		if c.Function != "" && c.Function != "<module>" {
			where += ", function " + c.Function
		}
		where += "."
	}
	if message != "" {
		message = ": " + message
	} else {
		message = "."
	}
	start := map[Outcome]string{Failed: "The run failed", Killed: "The run was killed", Lost: "The run was lost: it was last seen at " + in.LastSeen + " and did not report its end"}[in.Outcome]
	if start == "" {
		return ""
	}
	if in.Outcome == Lost && c.Kind != None {
		start += ". Its last lines show "
	} else {
		start += " with "
	}
	switch c.Kind {
	case Exception:
		return start + c.Exception + message + where
	case GPUMemory:
		return start + "a lack of GPU memory" + message + where
	case Memory:
		return start + "a lack of memory" + message + where
	case Signal:
		if strings.Contains(c.Message, c.Signal) {
			message = "."
		}
		if in.Outcome == Lost {
			return start + "the signal " + c.Signal + message
		}
		return "The run was ended by the signal " + c.Signal + message
	case TimeLimit:
		return start + "the time limit of its job" + message
	case Preempted:
		return start + "a preemption" + message
	}
	start = strings.TrimSuffix(start, " with ")
	line := firstLine(in.Message)
	switch {
	case line == "" && in.Outcome == Lost:
		return start + "."
	case line == "":
		return start + " without an error message."
	case in.Outcome == Lost:
		return start + ". Its error message is: " + sentence(clip(line, maxMessage))
	}
	return start + ": " + sentence(clip(line, maxMessage))
}

// badValue is the first bad value of a run.
type badValue struct {
	key      string
	step     int64
	unfinite *unfinite
	others   []badValue // other metrics that become NaN or infinite at the same step or later
	rise     *shift     // explosion of the metric before
}

// firstBad returns the first bad value: at the earliest step from which a metric has no finite
// value, or at which it exploded. It returns nil if there is none. It ignores a metric if
// finished runs have the same bad value.
func (in *Input) firstBad() (*badValue, error) {
	var found []badValue
	for _, s := range in.Series {
		if !isResult(s.Key) {
			continue
		}
		u, ok, err := firstUnfinite(s, in.Read)
		if err != nil {
			return nil, err
		}
		b := badValue{key: s.Key}
		last := int64(math.MaxInt64)
		if ok {
			b.step, b.unfinite = u.step, &u
			last = u.step - 1
		}
		if rise, ok := in.exploded(s.until(last), b.unfinite != nil); ok {
			b.rise = &rise
			if b.unfinite == nil {
				b.step = rise.at
			}
		}
		if b.unfinite != nil || b.rise != nil {
			found = append(found, b)
		}
	}
	// A metric that becomes NaN is more informative than a metric that rises. A metric that is NaN
	// from its start is least informative.
	starts := func(b badValue) int {
		switch {
		case b.unfinite == nil:
			return 1
		case b.unfinite.start:
			return 2
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b badValue) int {
		return cmp.Or(cmp.Compare(starts(a), starts(b)), cmp.Compare(a.step, b.step),
			cmp.Compare(rank(a.key), rank(b.key)), cmp.Compare(a.key, b.key))
	})
	for i, b := range found[:min(len(found), mostCandidates)] {
		usual, err := in.isUsual(b)
		if err != nil {
			return nil, err
		}
		if usual {
			continue
		}
		for _, o := range found[i+1:] {
			if b.unfinite != nil && o.unfinite != nil && !b.unfinite.start && !o.unfinite.start {
				b.others = append(b.others, o)
			}
		}
		return &b, nil
	}
	return nil, nil
}

// rank orders metrics that became bad at the same step. Results on training data come first,
// because results on held-out data become bad after them.
func rank(key string) int {
	switch goal.InterestOf(key) {
	case goal.Learned:
		return 0
	case goal.HeldOut:
		return 1
	}
	return 2
}

// exploded returns the explosion that ends the values of s. Only metrics to minimize and
// gradients explode. If they become NaN or infinite afterwards, a smaller rise counts.
func (in *Input) exploded(s Series, before bool) (shift, bool) {
	sds, factor := float64(explodedSDs), float64(explodedFactor)
	switch {
	case before:
		sds, factor = movedSDs, movedFactor
	case goal.Of(s.Key) == goal.Minimize:
	case strings.Contains(strings.ToLower(s.Key), "grad"):
		sds, factor = gradientSDs, gradientFactor
	default:
		return shift{}, false
	}
	steps, values := s.finites()
	rise, ok := lastShift(steps, values, sds, factor, true)
	rise.key = s.Key
	return rise, ok && (math.IsNaN(rise.factor()) || rise.factor() >= factor)
}

// isUsual reports whether finished runs have the same bad value. This is the case if the metric
// of more than 5% of them ends without a finite value, or reaches the level of the explosion.
func (in *Input) isUsual(b badValue) (bool, error) {
	curves, err := in.Siblings(b.key)
	if err != nil || len(curves) == 0 {
		return false, err
	}
	same := 0
	for _, c := range curves {
		n := len(c.Value)
		if n == 0 {
			continue
		}
		last := c.Value[n-1]
		if b.unfinite != nil && !finite(last) || b.unfinite == nil && finite(last) && last >= b.rise.new {
			same++
		}
	}
	return 20*same > len(curves), nil
}

// movedBefore returns the largest changes of other metrics before a bad value, at most mostMoved,
// in the order of their steps.
func (in *Input) movedBefore(bad badValue) ([]shift, error) {
	last := bad.step - 1
	if bad.unfinite == nil {
		last = bad.rise.at
	}
	var found []shift
	for _, s := range in.Series {
		if s.Key == bad.key || !isResult(s.Key) || len(s.Step) == 0 || s.Step[0] >= last {
			continue
		}
		near, ok := in.window(s, last)
		if !ok {
			continue
		}
		m, ok := changed(s, last)
		if !ok || m.at < near.from {
			part, err := in.Read(s.Key, near.from-(near.to-near.from), last)
			if err != nil {
				return nil, err
			}
			if m, ok = changed(part, last); !ok || m.at < near.from {
				continue
			}
		}
		m.key = s.Key
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b shift) int { return cmp.Compare(b.sds, a.sds) })
	var moved []shift
	for _, m := range found[:min(len(found), mostCandidates)] {
		curves, err := in.Siblings(m.key)
		if err != nil {
			return nil, err
		}
		if low, high, runs := bandAt(curves, m.to); runs >= leastFinished && m.new >= low && m.new <= high {
			continue // usual at this step, such as a step of a schedule
		}
		moved = append(moved, m)
	}
	moved = moved[:min(len(moved), mostMoved)]
	slices.SortStableFunc(moved, func(a, b shift) int { return cmp.Compare(a.from, b.from) })
	return moved, nil
}

func changed(s Series, last int64) (shift, bool) {
	steps, values := s.until(last).finites()
	return lastShift(steps, values, movedSDs, movedFactor, false)
}

// window returns the range of steps before last in which changes are reported: the last fifth of
// the steps of s, but at least the steps of the last mostHistory points.
func (in *Input) window(s Series, last int64) (w struct{ from, to int64 }, ok bool) {
	n := len(s.until(last).Step)
	if n < 2 {
		return w, false
	}
	span := last - s.Step[0]
	width := span / 5
	if s.whole() && n <= 5*mostHistory {
		width = max(width, int64(float64(span)*min(1, mostHistory/float64(n))))
	}
	w.from, w.to = last-width, last
	return w, true
}

// departure returns the departure of a metric from the band of the runs that finished. It
// prefers the bad metric, and then the most interesting metric with a goal.
func (in *Input) departure(bad *badValue) (*departure, error) {
	var all []Series
	for _, s := range in.Series {
		if goal.Of(s.Key) != "" && isResult(s.Key) || bad != nil && s.Key == bad.key {
			all = append(all, s)
		}
	}
	first := func(s Series) int {
		if bad != nil && s.Key == bad.key {
			return -1
		}
		return int(goal.InterestOf(s.Key))
	}
	slices.SortStableFunc(all, func(a, b Series) int { return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.Key, b.Key)) })
	for _, s := range all[:min(len(all), 3)] {
		curves, err := in.Siblings(s.Key)
		if err != nil {
			return nil, err
		}
		if d, ok := departs(s, curves); ok {
			return &d, nil
		}
	}
	return nil, nil
}

func (b badValue) text() string {
	if b.unfinite == nil {
		return b.rise.text()
	}
	is, at := " is NaN or infinite", " from step "+stepText(b.step)+" on."
	if b.unfinite.nan {
		is = " is NaN"
	}
	if b.unfinite.start {
		at = " from its first step on."
	}
	text := b.key + is + at
	if b.rise != nil {
		text += " Before that, it" + strings.TrimPrefix(b.rise.text(), b.rise.key)
	}
	for i, o := range b.others[:min(len(b.others), mostNamed)] {
		switch {
		case i == 0:
			text += " The same applies to "
		case i == len(b.others)-1:
			text += " and "
		default:
			text += ", "
		}
		text += o.key
		if o.step != b.step {
			text += " from step " + stepText(o.step)
		}
	}
	if more := len(b.others) - mostNamed; more > 0 {
		text += " and " + counted(more, "other metric", "other metrics")
	}
	if len(b.others) > 0 {
		text += "."
	}
	return text
}

func (s shift) text() string {
	verb := " rose"
	if s.new < s.old {
		verb = " fell"
	}
	switch f := s.factor(); {
	case f >= 1.5:
		verb += " " + number2(f) + "-fold"
	case f <= 1/1.5:
		verb += " to " + percent(f) + " of its value"
	}
	return s.key + verb + " between steps " + stepText(s.from) + " and " + stepText(s.to) + ", from " + number(s.old) + " to " + number(s.new) + "."
}

func (d departure) text() string {
	side, most := " is above", "at most"
	if !d.above {
		side, most = " is below", "at least"
	}
	from := " from step " + stepText(d.step) + " on"
	if d.first {
		from = " from its first step on"
	}
	if d.runs < leastSpread {
		return d.key + side + " all " + strconv.Itoa(d.runs) + " runs that finished" + from + ": " + number(d.value) + " there, and " +
			most + " " + number(d.limit) + " in the others."
	}
	return d.key + side + " the band of the runs that finished" + from + ": " + number(d.value) + " there, and " + most + " " + number(d.limit) +
		" in 95% of " + strconv.Itoa(d.runs) + " runs."
}

func stepText(step int64) string { return humanize.Comma(step) }

// exact returns f with all its digits if there are only a few, or else with three significant
// digits.
func exact(f float64) string {
	if text := strconv.FormatFloat(f, 'g', -1, 64); len(text) <= 8 {
		return text
	}
	return number(f)
}

// number returns f with three significant digits.
func number(f float64) string { return digits(f, 3) }

// number2 returns f with two significant digits.
func number2(f float64) string { return digits(f, 2) }

func digits(f float64, n int) string {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', n-1, 64), 64); err == nil && finite(rounded) {
		if size := math.Abs(rounded); size >= 1e-4 && size < 1e6 || size == 0 {
			if size >= 1000 {
				return humanize.CommafWithDigits(rounded, 0)
			}
			return strconv.FormatFloat(rounded, 'f', -1, 64)
		}
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', n, 64)
}

func percent(f float64) string { return number2(100*f) + "%" }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
