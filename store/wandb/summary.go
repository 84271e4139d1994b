package wandb

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/sqlite"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

// SetSummary stores the summary of a run. Strings, booleans and lists become texts. A number in the
// summary becomes a point if no metric has its name. If a metric with this name has a different
// last value, the number becomes a point only if final is true, that is, if the run has ended,
// because the summary of a running run can be older than its metrics.
func (tx Tx) SetSummary(num int64, r *Run, summary string, final bool) error {
	if len(summary) > maxText {
		r.Lose("A summary of %d bytes was left out: at most %d are allowed.", len(summary), maxText)
		return nil
	}
	if json.Values([]byte(summary)) > maxTextValues {
		r.Lose("A summary of more than %d values was left out.", maxTextValues)
		return nil
	}
	members, err := format.Members(summary)
	if err != nil {
		r.Lose("A summary that is not a JSON object was left out.")
		return nil
	}
	if err := tx.setTexts(num, r, members); err != nil {
		return err
	}
	r.Summary = summary
	at := tx.Now
	if r.Last > 0 {
		at = r.Last
	}
	last := map[string]*points.Latest{}
	latest, err := tx.Latest([]int64{num})
	if err != nil {
		return err
	}
	for i := range latest {
		last[latest[i].Key] = &latest[i]
	}
	var samples []points.Sample
	step := Step(0)
	for _, m := range members {
		if format.Hidden(m.Key) {
			continue
		}
		format.SummaryLeaves(m.Key, m.Value, func(key string, _ []string, x Value) {
			metric := last[transfer.FitName(key)]
			own := transfer.FitName(SummaryPrefix + key)
			if metric != nil && (!final || sameNumber(metric.Value, x)) {
				if final && last[own] != nil && err == nil {
					_, err = tx.DeleteFrom(num, own, 0)
				}
				return
			}
			if len(samples) == maxPoints {
				r.Lose("Only %d values of the summary became metrics.", maxPoints)
				return
			}
			if old := last[own]; old == nil || !sameNumber(old.Value, x) {
				samples = append(samples, points.Sample{Key: own, Value: x, Step: &step, RecordedAt: &at})
			}
		}, func(string, string) {})
	}
	if err == nil {
		_, err = tx.Put(num, samples)
	}
	return err
}

// setTexts stores the strings, booleans and lists in a summary. It removes texts
// that only the former summary of r contains. It cuts long strings.
func (tx Tx) setTexts(num int64, r *Run, summary []format.Member) error {
	before, err := format.Members(r.Summary)
	if err != nil {
		return err
	}
	set := textsOf(summary)
	var remove []string
	for name := range textsOf(before) {
		if _, kept := set[name]; !kept {
			remove = append(remove, name)
		}
	}
	omitted, err := runs.SetTexts(tx.Tx.Tx, num, set, remove)
	for _, name := range omitted {
		r.Lose("The value %s of the summary can't be searched, because it or its name is too long.", scalar.Quote(name))
	}
	return err
}

// textsOf returns the strings, booleans and lists in a summary. It cuts long strings.
func textsOf(summary []format.Member) map[string]scalar.SummaryText {
	all := map[string]scalar.SummaryText{}
	for _, m := range summary {
		if format.Hidden(m.Key) {
			continue
		}
		format.SummaryLeaves(m.Key, m.Value, func(string, []string, Value) {}, func(key, value string) {
			if t, ok := scalar.SummaryTextOf(value); ok && len(all) < scalar.MaxTexts {
				all[transfer.FitName(key)] = t.Cut()
			}
		})
	}
	return all
}

// The migration summary_texts calls this SQL function.
func init() { sqlite.RegisterText("wandb_summary_texts", textProperties) }

// textProperties returns the properties that store the texts of a summary, as a JSON object. It
// omits texts that can't be stored. For an invalid summary, it returns an empty object.
func textProperties(summary string) string {
	members, err := format.Members(summary)
	if err != nil {
		return "{}"
	}
	set := textsOf(members)
	all := map[string]string{}
	for name, t := range set {
		if runs.IsStorable(name, t) {
			p := runs.TextProperty(name, t)
			all[p.Key] = p.Value
		}
	}
	out, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		return "{}"
	}
	return string(out)
}

func sameNumber(a, b Value) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

// ConfigOf returns parameters as a W&B configuration. JSON numbers and words such as true keep
// their types; all other values become strings.
func ConfigOf(params iter.Seq2[string, string]) string {
	var members []format.Member
	for key, text := range params {
		value := format.Quote(text)
		if _, ok := format.Number(text); ok || text == "null" {
			value = text
		}
		members = append(members, format.Member{Key: key, Value: format.Object([]format.Member{{Key: "value", Value: value}})})
	}
	return format.Object(members)
}

// SummaryOf returns the last values of metrics, and texts, as a W&B summary.
func SummaryOf(all []points.Latest, texts map[string]scalar.SummaryText) (string, error) {
	var members []format.Member
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		value, err := json.Marshal(texts[name])
		if err != nil {
			return "", err
		}
		members = append(members, format.Member{Key: name, Value: string(value)})
	}
	for _, m := range all {
		if !strings.HasPrefix(m.Key, SystemPrefix) && !strings.HasPrefix(m.Key, SummaryPrefix) {
			members = append(members, format.Member{Key: m.Key, Value: numberText(m.Value)})
		}
	}
	for _, m := range all {
		if key, ok := strings.CutPrefix(m.Key, SummaryPrefix); ok {
			members = append(members, format.Member{Key: key, Value: numberText(m.Value)})
		}
	}
	return format.Object(members), nil
}

// numberText returns a number in the format of Python's json module.
func numberText(v Value) string {
	x := float64(v)
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	case x == math.Trunc(x) && math.Abs(x) < 1<<53:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
