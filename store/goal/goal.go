// Package goal describes the metric by which the runs of an experiment are compared, and
// whether smaller or larger values are better. If no user has chosen the metric, the
// package guesses it from words such as loss and accuracy in the names of the metrics, and
// prefers metrics of held-out data. It makes no guess if no name has such a word. The same
// words give the order in which charts and columns show metrics.
//
// The package uses only names; it does not read runs or the database.
package goal

import (
	"cmp"
	"slices"
	"strings"

	"tracker/store/filter"
	"tracker/store/search"
)

// Goal is the direction in which a metric gets better. The zero value is an unknown goal.
type Goal string

// The goals.
const (
	Minimize Goal = "minimize"
	Maximize Goal = "maximize"
)

// Objective is the metric by which the runs of an experiment are compared.
type Objective struct {
	Metric string `json:"metric"`
	Goal   Goal   `json:"goal"`
}

// None is the objective of an experiment whose runs are not compared.
const None = "none"

// String returns the form that Parse reads.
func (o Objective) String() string { return string(o.Goal) + " " + o.Metric }

// Parse reads "minimize NAME" or "maximize NAME". ok is false when it can't be read.
func Parse(text string) (o Objective, ok bool) {
	goal, metric, _ := strings.Cut(text, " ")
	return Objective{metric, Goal(goal)}, Goal(goal) == Minimize || Goal(goal) == Maximize
}

// Value returns the best value of a run in the search language: the minimum or the
// maximum of the metric, or the last value if the goal is unknown.
func (o Objective) Value() string {
	return filter.MetricName(o.Metric) + "." + o.Statistic()
}

// Statistic returns the statistic of the metric that is the best value of a run: "min",
// "max", or "last" if the goal is unknown.
func (o Objective) Statistic() string {
	switch o.Goal {
	case Minimize:
		return "min"
	case Maximize:
		return "max"
	}
	return "last"
}

// Order returns the sort order with the best run first, in the search language.
func (o Objective) Order() string {
	if o.Goal == Maximize {
		return "-" + o.Value()
	}
	return o.Value()
}

// BestFirst returns the sort order with the best run first and the runs without a value last,
// newest first.
func (o Objective) BestFirst() string { return o.Order() + ", -created" }

// Words in names of metrics, in lower case. A regular expression would take seconds for
// the 100,000 names that a run may have.
var (
	smaller       = []string{"err", "error", "perplexity", "ppl", "nll", "bpc", "bpb", "wer", "cer", "fid", "regret", "cost"}
	smallerEnds   = []string{"loss", "mae", "mse"} // also at the end of a longer word
	larger        = []string{"acc", "accuracy", "auc", "auroc", "f1", "score", "precision", "recall", "reward", "return", "bleu", "rouge", "iou", "miou", "map", "ndcg", "mrr", "r2", "psnr", "ssim", "elo"}
	heldOut       = []string{"val", "valid", "validation", "test", "eval", "evaluation", "dev"}
	internals     = []string{"grad", "layer", "scale", "weight"} // anywhere in a name
	internalWords = []string{"norm", "bias", "lr", "learning_rate", "epoch", "step", "time", "seconds", "throughput"}
)

// Of returns the goal that the name of a metric suggests, or "".
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

// Interest is the rank of a metric among the metrics of an experiment. The smallest is the most
// interesting.
type Interest int

// The ranks.
const (
	HeldOut  Interest = iota // results on held-out data
	Learned                  // results on other data
	Logged                   // other metrics
	Internal                 // internals of the training, such as gradients and learning rates
	Single                   // single values in the folders summary and best
	Machine                  // metrics of the machine
)

// InterestOf returns the rank that the name of a metric suggests.
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

// isInternal reports whether a lower-case name stands for an internal value of the training.
func isInternal(name string) bool {
	return strings.HasPrefix(name, "timing") || strings.HasPrefix(name, "amp/") ||
		slices.ContainsFunc(internals, func(part string) bool { return strings.Contains(name, part) })
}

// hasWord reports whether name, which is in lower case, contains one of words with no
// letter directly before or after it.
func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return containsWord(name, word, func(before, after byte) bool { return !isLetter(before) && !isLetter(after) })
	})
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// containsWord reports whether name contains word at a place where bound returns true for
// the bytes before and after it. The byte is 0 at the beginning and at the end of name.
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

// Guess returns the metric that is the most likely objective by its name, or nil if no
// name suggests a goal. It prefers metrics of held-out data, then metrics to minimize, then
// metrics that are not in the folders summary and best. Among equals it returns the metric
// with the most runs.
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
