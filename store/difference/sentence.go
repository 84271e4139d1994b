package difference

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"tracker/store/goal"
	"tracker/store/significance"
)

const (
	saidParams = 3  // maximum number of parameters in a sentence
	saidText   = 24 // maximum number of characters of a value or name in a sentence
)

// Sentence summarizes the differences between two sides and the difference of the objective in
// one sentence, for example "lr × 3.3, 2 packages newer: val/loss −0.14, better by more than
// seeds explain (p = 0.02, n = 5 and 5)."
func (d Difference) Sentence() string {
	changes := d.changes()
	verdict := d.Outcome.Verdict()
	text := strings.Join(changes, ", ")
	if len(changes) == 0 {
		if text = "No recorded difference"; len(d.Seeds) > 0 {
			text = "Only the seed differs"
		}
	}
	if verdict == "" {
		return text + "."
	}
	return text + ": " + verdict + "."
}

// changes returns the parts of the sentence about the values that differ.
func (d Difference) changes() (all []string) {
	params := slices.Clone(d.Params)
	slices.SortStableFunc(params, func(a, b Change) int { return cmp.Compare(rank(a), rank(b)) })
	for i, c := range params {
		if i == saidParams && len(params) > saidParams+1 {
			all = append(all, fmt.Sprintf("%d more parameters", len(params)-i))
			break
		}
		all = append(all, c.phrase())
	}
	kinds := map[PackageChange]int{}
	for _, p := range d.Packages {
		kinds[p.Kind]++
	}
	said := false
	for _, kind := range []PackageChange{Newer, Older, Added, Removed, Changed} {
		switch n := kinds[kind]; {
		case n == 0:
		case said:
			all = append(all, fmt.Sprintf("%d %s", n, kind))
		default:
			all, said = append(all, counted(n, "package", "packages")+" "+string(kind)), true
		}
	}
	if text := d.Code.phrase(); text != "" {
		all = append(all, text)
	}
	for _, c := range d.Environment {
		if c.Name == "Runtime" && !c.Varies && c.A != "" && c.B != "" {
			all = append(all, "another runtime")
		}
	}
	switch n := len(d.Data); {
	case n == 1:
		all = append(all, "another "+clip(d.Data[0].Name)+" dataset")
	case n > 1:
		all = append(all, fmt.Sprintf("%d other datasets", n))
	}
	return all
}

// rank sorts parameters with one value on each side before parameters that vary.
func rank(c Change) int {
	if c.Varies {
		return 1
	}
	return 0
}

// phrase returns a change in a few words.
func (c Change) phrase() string {
	name := clip(c.Name)
	switch {
	case c.Varies:
		return name + " varies"
	case c.A == "":
		return "with " + name + " " + clip(c.B)
	case c.B == "":
		return "without " + name
	}
	if r := c.RatioText(); r != "" {
		return name + " " + r
	}
	return name + " " + clip(c.A) + " → " + clip(c.B)
}

// RatioText returns the ratio of two numbers, for example "× 3.3". It returns "" if there is no
// ratio, if it is extreme, or if it is rounded to 1.
func (c Change) RatioText() string {
	if c.Ratio == 0 || c.Ratio < 1e-6 || c.Ratio > 1e6 {
		return ""
	}
	text := digits(c.Ratio, 2)
	if text == "1" {
		return ""
	}
	return "× " + text
}

// phrase returns the difference of the code in a few words.
func (c Code) phrase() string {
	if c.CommitA != "" && c.CommitB != "" && c.CommitA != c.CommitB {
		return "commit " + Commit(c.CommitA) + " → " + Commit(c.CommitB)
	}
	lines, other := 0, 0
	for _, f := range c.Files {
		if lines += f.Changed; f.Changed == 0 {
			other++
		}
	}
	switch n := len(c.Files); {
	case n == 0:
		return ""
	case lines == 0:
		return counted(other, "file", "files") + " changed"
	case n == 1:
		return counted(lines, "line", "lines") + " in " + clip(path.Base(c.Files[0].Name))
	default:
		return fmt.Sprintf("%s in %d files", counted(lines, "line", "lines"), n)
	}
}

// Commit returns the first characters of a commit hash.
func Commit(sha string) string { return sha[:min(len(sha), 7)] }

// Lines returns the number of changed lines in all files.
func (c Code) Lines() (n int) {
	for _, f := range c.Files {
		n += f.Changed
	}
	return n
}

// Verdict describes the difference of the objective and whether seeds alone explain it. It
// returns "" if there is no objective.
func (o Outcome) Verdict() string {
	if o.Objective == nil {
		return ""
	}
	metric := clip(o.Objective.Metric)
	if o.A.N == 0 || o.B.N == 0 {
		return "no " + metric + " to compare"
	}
	if o.Difference == 0 {
		return metric + " is equal"
	}
	text := metric + " " + Signed(o.Difference)
	if o.A.N > 1 || o.B.N > 1 {
		text += " on average"
	}
	better := o.Better()
	n := fmt.Sprintf("n = %d and %d", o.A.N, o.B.N)
	explain := "seeds explain"
	if o.Mixed {
		explain = "the spread within the groups explains"
	}
	switch {
	case o.Method == significance.None:
		return text + better + o.untested()
	case o.Constant():
		return text + better + fmt.Sprintf("; the runs on each side have equal values (%s)", n)
	case o.Significant():
		if better != "" {
			better += " by"
		} else {
			better = ","
		}
		return text + fmt.Sprintf("%s more than %s (%s, %s)", better, explain, PText(o.P), n)
	}
	return text + fmt.Sprintf(", no more than %s (%s, %s)", explain, PText(o.P), n)
}

// Better returns ", better" or ", worse", or "" if the goal is unknown.
func (o Outcome) Better() string {
	switch {
	case o.Objective == nil || o.Objective.Goal == "" || o.Difference == 0 || math.IsNaN(o.Difference):
		return ""
	case (o.Difference < 0) == (o.Objective.Goal == goal.Minimize):
		return ", better"
	}
	return ", worse"
}

// Times returns the difference as a multiple of the standard deviation between the seeds of the
// experiment. It returns 0 if the deviation is unknown.
func (o Outcome) Times() float64 {
	if o.SpreadDF == 0 || o.Spread == 0 {
		return 0
	}
	return math.Abs(o.Difference) / o.Spread
}

// untested returns a part of a sentence for sides with too few runs for a test. With wanted runs
// on each side, a test can find a difference of several standard deviations.
func (o Outcome) untested() string {
	const wanted = 3
	runs := "one run each"
	if o.A.N != 1 || o.B.N != 1 {
		runs = fmt.Sprintf("%s against %d", counted(o.A.N, "run", "runs"), o.B.N)
	}
	times := o.Times()
	switch {
	case o.OnlySeed:
		if times > 0 {
			return fmt.Sprintf("; about %s times the spread between seeds of this experiment", digits(times, 2))
		}
		return "; seeds alone make this difference"
	case times > 0:
		return fmt.Sprintf(", about %s times the spread between seeds of this experiment; %s, so %d seeds of each would tell more", digits(times, 2), runs, wanted)
	}
	return fmt.Sprintf("; %s, so seeds alone might explain it; %d seeds of each would tell", runs, wanted)
}

// PText returns a probability, for example "p = 0.02".
func PText(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + digits(p, 2)
}

// Signed returns a difference with its sign and two or three significant digits.
func Signed(f float64) string {
	sign := "+"
	switch {
	case f == 0:
		return "0"
	case f < 0:
		sign = "−"
	}
	return sign + digits(math.Abs(f), 2)
}

// digits formats a number with n significant digits. Numbers from 100 to a million are rounded to
// integers instead.
func digits(f float64, n int) string {
	if f == 0 || f != f || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'e', n-1, 64), 64)
	switch size := math.Abs(rounded); {
	case size >= 1e6 || size < 1e-4:
		return strings.NewReplacer("e-0", "e-", "e+0", "e", "e+", "e").Replace(strconv.FormatFloat(rounded, 'g', n, 64))
	case size >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// clip shortens text to one line of at most saidText characters.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > saidText {
		return string(runes[:saidText-1]) + "…"
	}
	return text
}

// Empty reports whether there is no known difference between the code of the two sides.
func (c Code) Empty() bool {
	return len(c.Files) == 0 && (c.CommitA == c.CommitB || c.CommitA == "" || c.CommitB == "")
}
