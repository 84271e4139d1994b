// Package goal knows by which metric the runs of an experiment are compared, and
// whether it should become small or large: as somebody has chosen it, or as the names of
// the metrics suggest. It guesses by words such as loss and accuracy, prefers held-out
// data, and says nothing where no name has one of them.
//
// The package knows names alone: no runs, no database.
package goal

import (
	"cmp"
	"slices"
	"strings"

	"tracker/store/filter"
	"tracker/store/search"
)

// Goal is whether a metric should become small or large.
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

// Value returns the best value of a run in the language of searches: the smallest or
// the largest of the metric, or the last one when the goal is not known.
func (o Objective) Value() string {
	return filter.MetricName(o.Metric) + "." + o.Statistic()
}

// Statistic returns the statistic of the metric that is the best value of a run.
func (o Objective) Statistic() string {
	switch o.Goal {
	case Minimize:
		return "min"
	case Maximize:
		return "max"
	}
	return "last"
}

// Order returns the order of the best run first, in the language of searches.
func (o Objective) Order() string {
	if o.Goal == Maximize {
		return "-" + o.Value()
	}
	return o.Value()
}

// Words in names of metrics, in lower case. A regular expression would take seconds for
// the 100,000 names that a run may have.
var (
	smaller      = []string{"err", "error", "perplexity", "ppl", "nll", "bpc", "bpb", "wer", "cer", "fid", "regret", "cost"}
	smallerEnds  = []string{"loss", "mae", "mse"} // also at the end of a longer word
	larger       = []string{"acc", "accuracy", "auc", "auroc", "f1", "score", "precision", "recall", "reward", "return", "bleu", "rouge", "iou", "miou", "map", "ndcg", "mrr", "r2", "psnr", "ssim", "elo"}
	heldOut      = []string{"val", "valid", "validation", "test", "eval", "dev"}
	neverLearned = []string{"grad", "layer", "scale", "weight"} // anywhere
)

// Of returns the goal that the name of a metric suggests, "" for none.
func Of(metric string) Goal {
	name := strings.ToLower(metric)
	contains := func(part string) bool { return strings.Contains(name, part) }
	switch {
	case strings.HasPrefix(name, "system/"), strings.HasPrefix(name, "timing"), slices.ContainsFunc(neverLearned, contains):
		return ""
	case hasWord(name, smaller), slices.ContainsFunc(smallerEnds, func(end string) bool {
		return ContainsWord(name, end, func(_, after byte) bool { return !isLetter(after) })
	}):
		return Minimize
	case hasWord(name, larger):
		return Maximize
	}
	return ""
}

// hasWord reports whether a name in lower case has one of words with no letter beside it.
func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return ContainsWord(name, word, func(before, after byte) bool { return !isLetter(before) && !isLetter(after) })
	})
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// ContainsWord reports whether name contains word between two bytes that bound it; 0
// stands for the beginning and the end of name.
func ContainsWord(name, word string, bound func(before, after byte) bool) bool {
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

// Guess returns the metric whose name makes it the most likely objective: a loss
// or a score, of held-out data before others, a loss before a score; the metric of most
// runs where several are as likely. nil for none.
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
		if strings.HasPrefix(k.Key, "summary/") || strings.HasPrefix(k.Key, "best/") {
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
