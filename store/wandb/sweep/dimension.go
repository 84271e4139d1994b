package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Dimension is one setting of a sweep and the distribution of its values.
type Dimension struct {
	Path         []string // names of the enclosing settings, then the name of the setting
	Distribution string
	values       []any
	weights      []float64 // weights of values; the sum is 1
	low, high    float64   // bounds, or the mean and the standard deviation of a normal distribution
	q            float64   // step between values; 0 if none
	whole        bool      // values are integers
}

// Name returns the names in Path, joined with dots.
func (d Dimension) Name() string { return strings.Join(d.Path, ".") }

// String returns a readable description of the values.
func (d Dimension) String() string {
	switch d.base() {
	case "constant":
		return fmt.Sprint(d.values[0])
	case "categorical":
		var all []string
		for i, v := range d.values {
			if i == 20 {
				all = append(all, fmt.Sprintf("… %d values", len(d.values)))
				break
			}
			all = append(all, fmt.Sprint(v))
		}
		return strings.Join(all, ", ")
	}
	text := fmt.Sprintf("%g to %g", d.low, d.high)
	switch d.base() {
	case "normal", "log_normal":
		text = fmt.Sprintf("mean %g, standard deviation %g", d.low, d.high)
	case "log_uniform", "inv_log_uniform":
		text = fmt.Sprintf("exponents %g to %g", d.low, d.high)
	}
	if d.q > 0 {
		text += fmt.Sprintf(", in steps of %g", d.q)
	}
	return text
}

// base returns the name of the distribution without the prefix "q_", which stands for steps.
func (d Dimension) base() string {
	if d.Distribution == "categorical_w_probabilities" {
		return "categorical"
	}
	return strings.TrimPrefix(d.Distribution, "q_")
}

func parseDimension(path []string, in map[string]any) (Dimension, error) {
	d := Dimension{Path: path, Distribution: textOf(in["distribution"])}
	name := clip(d.Name())
	low, hasLow := number(in["min"])
	high, hasHigh := number(in["max"])
	values, hasValues := in["values"].([]any)
	value, hasValue := in["value"]
	if d.Distribution == "" {
		switch {
		case hasValue:
			d.Distribution = "constant"
		case hasValues:
			d.Distribution = "categorical"
		case hasLow && hasHigh && isInt(in["min"]) && isInt(in["max"]):
			d.Distribution = "int_uniform"
		case hasLow && hasHigh:
			d.Distribution = "uniform"
		case in["mu"] != nil || in["sigma"] != nil:
			d.Distribution = "normal"
		default:
			return d, wrong("The parameter %s needs value, values, or min and max.", name)
		}
	}
	if strings.HasPrefix(d.Distribution, "q_") {
		d.q = 1
		if in["q"] != nil {
			d.q, _ = number(in["q"])
		}
		if d.q <= 0 {
			return d, wrong("The step q of the parameter %s must be a number above 0.", name)
		}
		d.whole = d.q == math.Floor(d.q)
	}
	if !plain(value, 0) || !plain(in["values"], 0) {
		return d, wrong("The values of the parameter %s must be strings, finite numbers, true, false or null, or lists or mappings of these.", name)
	}
	switch d.base() {
	case "constant":
		if !hasValue {
			return d, wrong("The parameter %s is constant and needs a value.", name)
		}
		d.values, d.weights = []any{value}, []float64{1}
	case "categorical":
		if len(values) == 0 || len(values) > maxValues {
			return d, wrong("The parameter %s needs a list of 1 to %d values.", name, maxValues)
		}
		d.values = values
		return d, d.setWeights(in["probabilities"])
	case "int_uniform", "uniform", "log_uniform", "log_uniform_values", "inv_log_uniform", "inv_log_uniform_values":
		if !hasLow || !hasHigh || low > high || high-low > math.MaxFloat64/2 {
			return d, wrong("The parameter %s needs numbers min and max, min not above max.", name)
		}
		d.low, d.high = low, high
		if d.base() == "int_uniform" {
			d.low, d.high, d.whole = math.Ceil(low), math.Floor(high), true
			if d.low > d.high || max(-d.low, d.high) > 1<<53 {
				return d, wrong("The parameter %s needs whole numbers min and max of at most 2^53.", name)
			}
		}
		if strings.HasSuffix(d.Distribution, "_values") && low <= 0 {
			return d, wrong("The parameter %s is logarithmic, so its min must be above 0.", name)
		}
		if strings.HasSuffix(d.Distribution, "log_uniform") && max(-low, high) > 700 {
			return d, wrong("The min and max of the parameter %s must be exponents of e from -700 to 700; use log_uniform_values to give the values themselves.", name)
		}
	case "normal", "log_normal":
		d.low, d.high = 0, 1
		if in["mu"] != nil {
			d.low, _ = number(in["mu"])
		}
		if in["sigma"] != nil {
			if d.high, _ = number(in["sigma"]); d.high <= 0 {
				return d, wrong("The sigma of the parameter %s must be a number above 0.", name)
			}
		}
		if d.base() == "log_normal" && math.Abs(d.low)+7*d.high > 700 {
			return d, wrong("The values of the parameter %s would be too large: mu and sigma describe its logarithm.", name)
		}
	default:
		return d, wrong("The distribution %q of the parameter %s is not supported; use uniform, log_uniform_values, normal, or values.", clip(d.Distribution), name)
	}
	return d, nil
}

func (d *Dimension) setWeights(in any) error {
	d.weights = make([]float64, len(d.values))
	list, ok := in.([]any)
	sum := 0.0
	for i := range d.weights {
		d.weights[i] = 1
		if ok && i < len(list) {
			d.weights[i], _ = number(list[i])
		}
		if d.weights[i] < 0 || ok && len(list) != len(d.values) {
			return wrong("The parameter %s needs as many probabilities as values, none below 0.", clip(d.Name()))
		}
		sum += d.weights[i]
	}
	if sum <= 0 || math.IsInf(sum, 0) {
		return wrong("The probabilities of the parameter %s must add up to 1.", clip(d.Name()))
	}
	for i := range d.weights {
		d.weights[i] /= sum
	}
	return nil
}

// plain reports whether a value can be encoded as JSON.
func plain(v any, depth int) bool {
	switch v := v.(type) {
	case nil, bool, string, int, int64, uint64:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case []any:
		return depth < maxDepth && !slices.ContainsFunc(v, func(x any) bool { return !plain(x, depth+1) })
	case map[string]any:
		for _, x := range v {
			if !plain(x, depth+1) {
				return false
			}
		}
		return depth < maxDepth
	}
	return false
}

func isInt(v any) bool {
	switch v.(type) {
	case int, int64, uint64:
		return true
	}
	return false
}

// edge is the minimum distance between a quantile and 0 or 1. Without this distance, an unbounded
// distribution would return infinite values.
const edge = 1e-9

// Value returns the value at quantile u of the distribution. u is from 0 to 1.
func (d Dimension) Value(u float64) any {
	u = min(max(u, 0), 1)
	if math.IsNaN(u) {
		u = 0.5
	}
	if d.values != nil {
		return d.values[d.index(u)]
	}
	x := d.low + u*(d.high-d.low)
	switch d.base() {
	case "int_uniform":
		return int64(min(d.low+math.Floor(u*(d.high-d.low+1)), d.high))
	case "log_uniform":
		x = math.Exp(x)
	case "inv_log_uniform":
		x = math.Exp(-x)
	case "log_uniform_values":
		x = between(math.Exp(math.Log(d.low)+u*(math.Log(d.high)-math.Log(d.low))), d.low, d.high)
	case "inv_log_uniform_values":
		x = between(math.Exp(math.Log(d.high)+u*(math.Log(d.low)-math.Log(d.high))), d.low, d.high)
	case "normal":
		x = d.normal(u)
	case "log_normal":
		x = math.Exp(d.normal(u))
	}
	if d.q > 0 {
		x = math.Round(x/d.q) * d.q
		if d.Distribution == "q_uniform" || strings.HasSuffix(d.Distribution, "_values") {
			// The rounded value must be within the bounds.
			if x > d.high {
				x -= d.q
			}
			if x < d.low {
				x += d.q
			}
		}
	}
	if d.whole && math.Abs(x) < 1<<53 {
		return int64(x)
	}
	return x
}

func between(x, low, high float64) float64 { return min(max(x, low), high) }

func (d Dimension) normal(u float64) float64 {
	return d.low + d.high*math.Sqrt2*math.Erfinv(2*between(u, edge, 1-edge)-1)
}

// index returns the index of the value at quantile u.
func (d Dimension) index(u float64) int {
	sum := 0.0
	for i, w := range d.weights {
		if sum += w; u < sum && w > 0 {
			return i
		}
	}
	for i, w := range slices.Backward(d.weights) {
		if w > 0 {
			return i
		}
	}
	return 0
}

// share returns a quantile u for which index(u) is i.
func (d Dimension) share(i int) float64 {
	sum := 0.0
	for _, w := range d.weights[:i] {
		sum += w
	}
	return sum + d.weights[i]/2
}

// count returns the number of values that the dimension has in a grid, or 0 if the number is
// infinite.
func (d Dimension) count() int {
	switch {
	case d.values != nil:
		return len(d.values)
	case d.Distribution == "int_uniform":
		return int(min(d.high-d.low+1, math.MaxInt32))
	case d.Distribution == "q_uniform":
		return int(min(math.Floor((d.high-d.low)/d.q+1e-9)+1, math.MaxInt32))
	}
	return 0
}
