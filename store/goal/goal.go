// Package goal describes the objective of an experiment: the metric by which its runs are
// compared, and whether smaller or larger values are better. If no user has chosen an objective,
// the package guesses it from metric names. Words such as loss and accuracy suggest a goal, and
// metrics of held-out data are preferred. If no name suggests a goal, there is no guess. The
// words in metric names also determine the order of metrics in charts and columns.
//
// The package uses only names. It does not read runs or the database.
package goal

import (
	"cmp"
	"slices"
	"strings"

	"tracker/store/filter"
	"tracker/store/search"
)

// Goal is the direction in which a metric improves. The zero value means that the goal is
// unknown.
type Goal string

// Values of Goal.
const (
	Minimize Goal = "minimize"
	Maximize Goal = "maximize"
)

// Objective is the metric by which the runs of an experiment are compared, with its goal.
type Objective struct {
	Metric string `json:"metric"`
	Goal   Goal   `json:"goal"`
}

// None is the stored objective of an experiment whose runs are not compared.
const None = "none"

// String returns the text that Parse accepts.
func (o Objective) String() string { return string(o.Goal) + " " + o.Metric }

// Parse parses "minimize NAME" or "maximize NAME". ok is false for any other text.
func Parse(text string) (o Objective, ok bool) {
	goal, metric, _ := strings.Cut(text, " ")
	return Objective{metric, Goal(goal)}, Goal(goal) == Minimize || Goal(goal) == Maximize
}

// Value returns an expression in the search language for a run's best value. The best value is
// the minimum or maximum of the metric. If the goal is unknown, it is the last value.
func (o Objective) Value() string {
	return filter.MetricName(o.Metric) + "." + o.Statistic()
}

// Statistic returns the statistic of the metric that is a run's best value: "min" or "max". It
// returns "last" if the goal is unknown.
func (o Objective) Statistic() string {
	switch o.Goal {
	case Minimize:
		return "min"
	case Maximize:
		return "max"
	}
	return "last"
}

// Label returns the metric and the statistic of a run's best value, such as "loss min".
func (o Objective) Label() string { return o.Metric + " " + o.Statistic() }

// Order returns a sort key of the search language that puts the best run first.
func (o Objective) Order() string {
	if o.Goal == Maximize {
		return "-" + o.Value()
	}
	return o.Value()
}

// BestFirst returns sort keys of the search language that put the best run first. Runs without
// a value are last. Equal runs are sorted newest first.
func (o Objective) BestFirst() string { return o.Order() + ", -created" }

// Words that metric names can contain, in lower case. Regular expressions would take seconds
// for the 100,000 names that a run can have.
var (
	smaller       = []string{"err", "error", "perplexity", "ppl", "nll", "bpc", "bpb", "wer", "cer", "fid", "regret", "cost"}
	smallerEnds   = []string{"loss", "mae", "mse"} // these words can also end a longer word
	larger        = []string{"acc", "accuracy", "auc", "auroc", "f1", "score", "precision", "recall", "reward", "return", "bleu", "rouge", "iou", "miou", "map", "ndcg", "mrr", "r2", "psnr", "ssim", "elo"}
	heldOut       = []string{"val", "valid", "validation", "test", "eval", "evaluation", "dev"}
	internals     = []string{"grad", "layer", "scale", "weight"} // these strings can be anywhere in a name
	internalWords = []string{"norm", "bias", "lr", "learning_rate", "epoch", "step", "time", "seconds", "throughput"}
)

// Of returns the goal that a metric name suggests, or "".
func Of(metric string) Goal {
	name := strings.ToLower(metric)
	switch {
	case isMachine(name), isInternal(name):
		return ""
	case hasWord(name, smaller), slices.ContainsFunc(smallerEnds, func(end string) bool {
		return containsWord(name, end, func(_, after byte) bool { return !isLetter(after) })
	}):
		return Minimize
	case hasWord(name, larger):
		return Maximize
	}
	return ""
}

// Interest ranks the metrics of an experiment. The smallest value is the most interesting.
type Interest int

// Values of Interest, most interesting first.
const (
	HeldOut  Interest = iota // results with a goal, on held-out data
	Learned                  // results with a goal, on other data
	Logged                   // metrics with no other rank
	Internal                 // internal values of the training, such as gradients and learning rates
	Single                   // single values, in the folder summary or best
	Machine                  // system metrics of the machine
)

// InterestOf returns the rank that a metric name suggests.
func InterestOf(metric string) Interest {
	name := strings.ToLower(metric)
	group, _, grouped := strings.Cut(name, "/")
	aim := Of(metric)
	switch {
	case isMachine(name):
		return Machine
	case isSingle(name):
		return Single
	case aim != "" && hasWord(name, heldOut):
		return HeldOut
	case aim != "":
		return Learned
	case isInternal(name), hasWord(name, internalWords):
		return Internal
	case grouped && hasWord(group, heldOut):
		return HeldOut
	}
	return Logged
}

func isMachine(name string) bool { return strings.HasPrefix(name, "system/") }

func isSingle(name string) bool {
	return strings.HasPrefix(name, "summary/") || strings.HasPrefix(name, "best/")
}

// isInternal reports whether a metric is an internal value of the training. name is in lower
// case.
func isInternal(name string) bool {
	return strings.HasPrefix(name, "timing") || strings.HasPrefix(name, "amp/") ||
		slices.ContainsFunc(internals, func(part string) bool { return strings.Contains(name, part) })
}

// hasWord reports whether name contains one of the given words. A letter directly before or
// after the word is not allowed. name is in lower case.
func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return containsWord(name, word, func(before, after byte) bool { return !isLetter(before) && !isLetter(after) })
	})
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// containsWord reports whether name contains word at a position that bound accepts. bound gets
// the bytes before and after word. At the beginning or end of name, the byte is 0.
func containsWord(name, word string, bound func(before, after byte) bool) bool {
	for from := 0; ; from++ {
		at := strings.Index(name[from:], word)
		if at < 0 {
			return false
		}
		from += at
		var before, after byte
		if from > 0 {
			before = name[from-1]
		}
		if end := from + len(word); end < len(name) {
			after = name[end]
		}
		if bound(before, after) {
			return true
		}
	}
}

// Guess returns the most likely objective for the given metric names. It returns nil if no name
// suggests a goal. Guess prefers metrics of held-out data. Among the remaining metrics it
// prefers metrics to minimize, and then metrics outside the folders summary and best. If
// several metrics are equally good, it returns the metric with the most runs.
func Guess(metrics []search.Key) *Objective {
	var all []search.Key
	for _, k := range metrics {
		if k.Kind == search.MetricKey && Of(k.Key) != "" {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return nil
	}
	rank := func(k search.Key) int {
		rank := 0
		if !hasWord(strings.ToLower(k.Key), heldOut) {
			rank += 4
		}
		if Of(k.Key) == Maximize {
			rank += 2
		}
		if isSingle(k.Key) {
			rank++
		}
		return rank
	}
	best := slices.MinFunc(all, func(a, b search.Key) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Iterations, a.Iterations),
			cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	return &Objective{best.Key, Of(best.Key)}
}
