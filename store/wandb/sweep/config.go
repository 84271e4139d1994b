// Package sweep parses the configuration of a hyperparameter search and chooses the settings of the
// next run. It can search a grid, choose at random, or use a Bayesian method based on the finished
// runs. It also decides which runs to stop early.
//
// Configurations have the format of W&B's sweeps. The package does not use runs or the database.
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
	// MaxConfig is the maximum size in bytes of a configuration. It also limits the size of the
	// values after YAML aliases are expanded.
	MaxConfig     = 256 << 10
	maxDimensions = 200
	maxValues     = 10_000 // maximum number of values of one setting
	maxDepth      = 20     // maximum nesting depth of settings
	// MaxTrials is the maximum number of runs in a sweep.
	MaxTrials = 20_000
)

// Method is the search method of a sweep.
type Method string

// Search methods.
const (
	Grid   Method = "grid"
	Random Method = "random"
	Bayes  Method = "bayes"
)

// Metric is the metric to optimize. Name is "" if the sweep has no metric.
type Metric struct {
	Name     string
	Maximize bool
}

// Config is the validated configuration of a sweep.
type Config struct {
	Method      Method
	Name        string
	Description string
	Program     string // program that agents start; "" if agents call a function
	Metric      Metric
	Dimensions  []Dimension // sorted by name
	RunCap      int         // maximum number of runs
	Early       *Hyperband  // nil if no run is stopped early
}

// Error is the error for an invalid configuration. Message is a complete sentence.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Parse parses a configuration in YAML or JSON. A returned error is an *Error.
func Parse(text string) (Config, error) {
	if len(text) > MaxConfig {
		return Config{}, wrong("The configuration of a sweep can have at most %d bytes; this one has %d.", MaxConfig, len(text))
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
		return c, wrong("A sweep with a local controller is not supported; leave out controller, and the server chooses the settings.")
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
			return c, wrong("The run_cap of a sweep must be a whole number of at least 1.")
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
				return c, wrong("The parameter %s has infinitely many values, which a grid can't cover; give values, or a step q.", d.Name())
			}
		}
	}
	var err error
	if early, ok := in["early_terminate"].(map[string]any); ok {
		c.Early, err = parseHyperband(early, c.Metric)
	}
	return c, err
}

// addDimensions adds the given parameters to c.Dimensions, including nested parameters. left is the
// number of bytes that the values may still have.
func (c *Config) addDimensions(path []string, parameters map[string]any, left *int) error {
	if len(path) > maxDepth {
		return wrong("Parameters of a sweep can be nested at most %d levels deep.", maxDepth)
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
			return wrong("The values of the parameters of a sweep can have at most %d bytes, with each alias expanded.", MaxConfig)
		}
		d, err := parseDimension(at, settings)
		if err != nil {
			return err
		}
		if c.Dimensions = append(c.Dimensions, d); len(c.Dimensions) > maxDimensions {
			return wrong("A sweep can have at most %d parameters.", maxDimensions)
		}
	}
	return nil
}

// sizeOf returns the approximate size in bytes of a value as JSON. If the size exceeds most,
// sizeOf stops early and returns a number greater than most.
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

// Point is a choice of settings. It maps the name of each dimension to a quantile of its
// distribution, from 0 to 1.
type Point map[string]float64

// Settings returns the values of the point p, nested as in the configuration.
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

// Size returns the maximum number of runs in the sweep: RunCap, or the number of grid cells if that
// is smaller.
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

// Bounded reports whether the sweep has an end: it is a grid search or has a limit on its runs.
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

// clip shortens s so that an error message can quote it.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
