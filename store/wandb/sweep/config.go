// Package sweep reads the configuration of a search for good settings, and chooses the
// settings of its next run: all of a grid in turn, at random, or by the runs that have
// ended. It also decides which runs are stopped early.
//
// The configuration is that of W&B's sweeps. The package knows nothing of runs or of a
// database.
package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxConfig is the size limit of a configuration, in bytes, and that of its values
	// when each alias of YAML is written out.
	MaxConfig     = 256 << 10
	maxDimensions = 200
	maxValues     = 10_000 // of one setting
	maxDepth      = 20     // of settings in settings
	// MaxTrials is the largest number of runs of one sweep.
	MaxTrials = 20_000
)

// Method is how settings are chosen.
type Method string

// The methods.
const (
	Grid   Method = "grid"
	Random Method = "random"
	Bayes  Method = "bayes"
)

// Metric is the metric by which the runs are judged. Name is "" for none.
type Metric struct {
	Name     string
	Maximize bool
}

// Config is a configuration, read and checked.
type Config struct {
	Method      Method
	Name        string
	Description string
	Program     string // that agents start, "" for a function
	Metric      Metric
	Dimensions  []Dimension // in the order of their names
	RunCap      int         // the largest number of runs
	Early       *Hyperband  // nil for none
}

// Error says what is wrong with a configuration, in a sentence.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Parse reads a configuration in YAML, of which JSON is a part. The error is an *Error.
func Parse(text string) (Config, error) {
	if len(text) > MaxConfig {
		return Config{}, wrong("The configuration of a sweep has up to %d bytes; this one has %d.", MaxConfig, len(text))
	}
	var in map[string]any
	if err := yaml.Unmarshal([]byte(text), &in); err != nil || in == nil {
		return Config{}, wrong("The configuration of a sweep must be a YAML mapping with method and parameters.")
	}
	c := Config{Method: Method(textOf(in["method"])), Name: textOf(in["name"]), Description: textOf(in["description"]),
		Program: textOf(in["program"]), RunCap: MaxTrials}
	if !slices.Contains([]Method{Grid, Random, Bayes}, c.Method) {
		return c, wrong("The method of a sweep is grid, random or bayes, not %q.", clip(string(c.Method)))
	}
	if controller, ok := in["controller"].(map[string]any); ok && textOf(controller["type"]) == "local" {
		return c, wrong("A sweep with a local controller is not served; leave out controller, and the server chooses the settings.")
	}
	if metric, ok := in["metric"].(map[string]any); ok {
		goal := textOf(metric["goal"])
		if goal != "" && goal != "minimize" && goal != "maximize" {
			return c, wrong("The goal of the metric is minimize or maximize, not %q.", clip(goal))
		}
		c.Metric = Metric{textOf(metric["name"]), goal == "maximize"}
	}
	if c.Method == Bayes && c.Metric.Name == "" {
		return c, wrong("A sweep with the method bayes needs a metric with a name.")
	}
	if n, ok := in["run_cap"]; ok {
		limit, ok := number(n)
		if !ok || limit < 1 || limit != math.Floor(limit) {
			return c, wrong("The run_cap of a sweep must be a whole number from 1.")
		}
		c.RunCap = int(min(limit, MaxTrials))
	}
	parameters, _ := in["parameters"].(map[string]any)
	if len(parameters) == 0 {
		return c, wrong("A sweep needs parameters: a mapping of at least one name to its values.")
	}
	left := MaxConfig
	if err := c.addDimensions(nil, parameters, &left); err != nil {
		return c, err
	}
	if c.Method == Grid {
		for _, d := range c.Dimensions {
			if d.count() == 0 {
				return c, wrong("The parameter %s has infinitely many values, so that a grid can't have all of them; give values, or a step q.", d.Name())
			}
		}
	}
	var err error
	if early, ok := in["early_terminate"].(map[string]any); ok {
		c.Early, err = parseHyperband(early, c.Metric)
	}
	return c, err
}

// addDimensions reads parameters, and those that are nested in them. left is the number of
// bytes that their values may still have.
func (c *Config) addDimensions(path []string, parameters map[string]any, left *int) error {
	if len(path) > maxDepth {
		return wrong("Parameters of a sweep are nested up to %d deep.", maxDepth)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		at := append(slices.Clone(path), name)
		settings, ok := parameters[name].(map[string]any)
		if !ok {
			return wrong("The parameter %s must be a mapping with value, values, or min and max.", clip(strings.Join(at, ".")))
		}
		if nested, ok := settings["parameters"].(map[string]any); ok {
			if err := c.addDimensions(at, nested, left); err != nil {
				return err
			}
			continue
		}
		if *left -= sizeOf(settings["value"], *left) + sizeOf(settings["values"], *left); *left < 0 {
			return wrong("The values of the parameters of a sweep have up to %d bytes, with each alias written out.", MaxConfig)
		}
		d, err := parseDimension(at, settings)
		if err != nil {
			return err
		}
		if c.Dimensions = append(c.Dimensions, d); len(c.Dimensions) > maxDimensions {
			return wrong("A sweep has up to %d parameters.", maxDimensions)
		}
	}
	return nil
}

// sizeOf returns the size of a value as JSON in bytes, roughly; for one that is larger than
// most, a size above it.
func sizeOf(v any, most int) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		for _, x := range v {
			if n += sizeOf(x, most-n); n > most {
				break
			}
		}
	case map[string]any:
		for name, x := range v {
			if n += len(name) + sizeOf(x, most-n-len(name)); n > most {
				break
			}
		}
	}
	return n
}

// Point is a choice of settings: by the name of a dimension a number from 0 to 1, which
// is the share of its distribution below the value.
type Point map[string]float64

// Settings returns the values of a point, nested as in the configuration.
func (c Config) Settings(p Point) map[string]any {
	out := map[string]any{}
	for _, d := range c.Dimensions {
		at := out
		for _, name := range d.Path[:len(d.Path)-1] {
			inner, ok := at[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		at[d.Path[len(d.Path)-1]] = d.Value(p[d.Name()])
	}
	return out
}

// Size returns the number of runs that a sweep has at most: that of its grid, or that of
// RunCap.
func (c Config) Size() int {
	n := c.RunCap
	if c.Method == Grid {
		product := 1
		for _, d := range c.Dimensions {
			if product *= d.count(); product > n {
				return n
			}
		}
		n = product
	}
	return n
}

// Bounded reports whether the sweep ends by itself.
func (c Config) Bounded() bool { return c.Method == Grid || c.RunCap < MaxTrials }

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

// clip returns a text as far as an error message quotes it.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
