// Package pace estimates how fast a run advances: its steps a second, the time left until a total
// that its parameters name, and whether it has become slow.
//
// The package does not use the database.
package pace

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tracker/store/scalar"
)

// Limits of the estimates.
const (
	// Window is the period before the last point whose points give the rate.
	Window = 5 * time.Minute
	// TailPoints is the number of points at the end of a metric that are needed.
	TailPoints = 200
	// MinSiblings is the minimum number of other runs whose median is compared.
	MinSiblings = 3

	minWindow  = 8                // minimum number of points of the window, if the metric has as many
	minEarlier = time.Minute      // minimum length of the time before the window
	minSpan    = 10 * time.Second // minimum length of the window for a run that is called slow
	minSilence = 2 * time.Minute  // minimum time without a point that counts as silence
	slow       = 0.5              // part of the usual rate below which a run is slow
)

// Sample is a point of a metric.
type Sample struct {
	Step  scalar.Step
	Value scalar.Value
	At    scalar.Time
}

// Metric is a metric that counts what a run has done.
type Metric struct {
	Key   string
	First Sample   // first point
	Tail  []Sample // up to TailPoints last points, in the order of steps
}

// last returns the last point.
func (m Metric) last() Sample { return m.Tail[len(m.Tail)-1] }

// Input holds the data of a running run.
type Input struct {
	Now    scalar.Time
	Params map[string]string
	// Main is the metric with the largest step. It has no points if the run has no metric.
	Main Metric
	// Counter is the metric that counts in the unit of Total, or nil. See Counters.
	Counter *Metric
	Total   *Total
	// StepsAreEpochs is set if the steps of other runs of the experiment ended at their number of
	// epochs.
	StepsAreEpochs bool
	Siblings       []float64 // rates of other runs, in steps a second
}

// Total is the amount of work that a parameter names.
type Total struct {
	Param string
	Of    float64
	Unit  Unit
}

// Unit is the unit of a Total.
type Unit string

// Units of totals.
const (
	Steps  Unit = "steps"
	Epochs Unit = "epochs"
)

// Pace is the estimate for a running run.
type Pace struct {
	Rate     float64   // steps a second of the main metric, 0 if unknown
	Progress *Progress // nil if no total is known
	Slow     string    // sentence that says in what respect the run is slow, "" for none
}

// Progress compares a run with its total.
type Progress struct {
	Total
	Done float64
	Left time.Duration // estimated time until Total, 0 if unknown
}

// Part returns the part of the total that is done, between 0 and 1.
func (p Progress) Part() float64 { return min(max(p.Done/p.Of, 0), 1) }

// totals maps the names of parameters to the unit of the total that they name. A parameter that
// is earlier in the list goes before another: trainers stop at max_steps even if num_train_epochs
// is set.
var totals = []struct {
	name string
	unit Unit
}{
	{"max_steps", Steps}, {"total_steps", Steps}, {"num_train_steps", Steps}, {"num_training_steps", Steps}, {"train_steps", Steps},
	{"training_steps", Steps}, {"total_timesteps", Steps}, {"n_steps", Steps}, {"num_steps", Steps}, {"max_iters", Steps},
	{"max_iterations", Steps}, {"num_iterations", Steps}, {"n_iterations", Steps}, {"num_boost_round", Steps}, {"n_estimators", Steps},
	{"num_train_epochs", Epochs}, {"max_epochs", Epochs}, {"total_epochs", Epochs}, {"num_epochs", Epochs}, {"n_epochs", Epochs},
	{"epochs", Epochs},
}

// counters lists the names of metrics that count in a unit.
var counters = map[Unit][]string{
	Steps:  {"global_step", "step", "steps", "iteration", "iter"},
	Epochs: {"epoch", "epochs"},
}

// lastPart returns the part of a name after its last dot or slash, in lower case.
func lastPart(name string) string {
	return strings.ToLower(name[strings.LastIndexAny(name, "./")+1:])
}

// TotalOf returns the total that parameters name, or nil for none. A number that is not positive
// and finite is not a total: some trainers write max_steps = -1 if it is not set.
func TotalOf(params map[string]string) *Total {
	for _, t := range totals {
		var found *Total
		for key, text := range params {
			if lastPart(key) != t.name {
				continue
			}
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil || !(n > 0) || math.IsInf(n, 0) {
				continue
			}
			if found == nil || len(key) < len(found.Param) || len(key) == len(found.Param) && key < found.Param {
				found = &Total{Param: key, Of: n, Unit: t.unit}
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// CounterOf returns the key of the metric that counts in a unit, "" for none. Of several, it
// returns the shortest key.
func CounterOf(u Unit, keys []string) (found string) {
	for _, name := range counters[u] {
		for _, key := range keys {
			if lastPart(key) == name && (found == "" || len(key) < len(found) || len(key) == len(found) && key < found) {
				found = key
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// Of returns the pace of a run.
func Of(in Input) (p Pace) {
	if len(in.Main.Tail) == 0 {
		return p
	}
	w := window(in.Main.Tail)
	end, silent := in.Main.last().At, silence(in.Main.Tail, in.Now)
	if silent > 0 {
		end = in.Now
	}
	p.Rate = rate(w[0], in.Main.last().Step, end)
	p.Progress = progress(in, p.Rate)
	p.Slow = slowness(in, w, end, silent, p.Rate)
	return p
}

// Rate returns the steps a second of a whole run, 0 if unknown.
func Rate(first, last Sample) float64 { return rate(first, last.Step, last.At) }

// rate returns the steps a second between a point and a later step, 0 if unknown.
func rate(from Sample, step scalar.Step, at scalar.Time) float64 {
	steps, seconds := float64(step)-float64(from.Step), at.Time().Sub(from.At.Time()).Seconds()
	if steps <= 0 || seconds <= 0 {
		return 0
	}
	return steps / seconds
}

// window returns the points of the last Window, and at least minWindow points if there are as
// many.
func window(tail []Sample) []Sample {
	from := tail[len(tail)-1].At.Time().Add(-Window)
	at := len(tail) - 1
	for at > 0 && (len(tail)-at < minWindow || tail[at-1].At.Time().After(from)) {
		at--
	}
	return tail[at:]
}

// silence returns the time since the last point if it is much longer than the usual time between
// points and their longest gap, such as a validation. Otherwise, it returns 0.
func silence(tail []Sample, now scalar.Time) time.Duration {
	if len(tail) < minWindow {
		return 0
	}
	longest := time.Duration(0)
	for i := 1; i < len(tail); i++ {
		longest = max(longest, tail[i].At.Time().Sub(tail[i-1].At.Time()))
	}
	since := now.Time().Sub(tail[len(tail)-1].At.Time())
	if since < minSilence || since < 3*longest {
		return 0
	}
	return since
}

// progress compares a run with its total. It returns nil if no metric counts in the unit of the
// total, or if the count exceeds the total.
func progress(in Input, stepRate float64) *Progress {
	if in.Total == nil {
		return nil
	}
	p := &Progress{Total: *in.Total}
	perSecond := 0.0
	switch {
	case in.Counter != nil && len(in.Counter.Tail) > 0:
		last := in.Counter.last()
		p.Done = float64(last.Value)
		if seconds := last.At.Time().Sub(in.Counter.First.At.Time()).Seconds(); seconds > 0 {
			perSecond = (p.Done - float64(in.Counter.First.Value)) / seconds
		}
		// The steps are recent. The counter can stand still for long, for example during an epoch.
		units, steps := p.Done-float64(in.Counter.First.Value), float64(last.Step)-float64(in.Counter.First.Step)
		if stepRate > 0 && units > 0 && steps > 0 {
			perSecond = stepRate * units / steps
		}
	case p.Unit == Steps || in.StepsAreEpochs:
		p.Done, perSecond = float64(in.Main.last().Step), stepRate
	default:
		return nil
	}
	if !(p.Done >= 0) || p.Done > p.Of {
		return nil
	}
	if perSecond > 0 {
		if left := (p.Of - p.Done) / perSecond; left < (10 * 365 * 24 * time.Hour).Seconds() {
			p.Left = time.Duration(left * float64(time.Second))
		}
	}
	return p
}

// slowness returns a sentence if the run is slower than before or than its siblings, "" for none.
func slowness(in Input, w []Sample, end scalar.Time, silent time.Duration, recent float64) string {
	before, long := w[0], in.Main.First
	earlier := rate(long, before.Step, before.At)
	if silent > 0 {
		if usual := rate(long, in.Main.last().Step, in.Main.last().At); usual > 0 {
			return fmt.Sprintf("No step for %s. Before, the mean speed was %s.", about(silent), PerSecond(usual))
		}
		return ""
	}
	span := end.Time().Sub(before.At.Time())
	if len(w) < minWindow || span < minSpan || recent == 0 {
		return ""
	}
	if earlier > 0 && before.At.Time().Sub(long.At.Time()) >= minEarlier && recent < slow*earlier {
		now, then := alike(recent, earlier)
		return fmt.Sprintf("Slower than before: %s in the last %s, after %s.", now, about(span), then)
	}
	if len(in.Siblings) >= MinSiblings {
		sorted := slices.Sorted(slices.Values(in.Siblings))
		median := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
		if recent < slow*median {
			own, other := alike(recent, median)
			return fmt.Sprintf("Slower than other runs: %s, and the median of %d other runs of the experiment is %s.", own, len(sorted), other)
		}
	}
	return ""
}

// PerSecond returns a rate as text with two significant digits. A rate below one step a second is
// written as the time for a step, such as "12 s a step".
func PerSecond(rate float64) string {
	text, _ := alike(rate, rate)
	return text
}

// alike returns two rates as texts with the same unit. slow is the lower rate.
func alike(slow, fast float64) (a, b string) {
	if slow <= 0 {
		return "", ""
	}
	write := func(rate float64) string {
		switch {
		case slow >= 0.95:
			return significant(rate) + " steps/s"
		case slow > 1.05/60:
			return significant(1/rate) + " s a step"
		case slow > 1.05/3600:
			return significant(1/rate/60) + " min a step"
		}
		return significant(1/rate/3600) + " h a step"
	}
	return write(slow), write(fast)
}

// significant returns a number with at least two significant digits.
func significant(v float64) string {
	digits := 0
	for limit := 9.95; v < limit && digits < 6; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// about returns a duration as text, such as "4 minutes".
func about(d time.Duration) string {
	n, unit := d.Round(time.Second).Seconds(), "second"
	switch {
	case d >= 48*time.Hour:
		n, unit = math.Round(d.Hours()/24), "day"
	case d >= 2*time.Hour:
		n, unit = math.Round(d.Hours()), "hour"
	case d >= 2*time.Minute:
		n, unit = math.Round(d.Minutes()), "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + " " + unit
}
