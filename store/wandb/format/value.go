package format

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/json"
	"tracker/store/scalar"
)

// The following functions convert W&B's values to parameters and points. The values come from files
// of W&B's client or from requests of the client.

// maxDepth is the maximum nesting depth of objects.
const maxDepth = 32

// Hidden reports whether a key is reserved by W&B.
func Hidden(key string) bool { return strings.HasPrefix(key, "_") }

// Number parses a JSON number, or NaN or an infinity as Python writes it. It returns 1 for true and
// 0 for false.
func Number(text string) (scalar.Value, bool) {
	switch text = strings.TrimSpace(text); text {
	case "NaN":
		return scalar.Value(math.NaN()), true
	case "Infinity":
		return scalar.Value(math.Inf(1)), true
	case "-Infinity":
		return scalar.Value(math.Inf(-1)), true
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	if text == "" || len(text) > 400 || !strings.ContainsAny(text[:1], "-0123456789") || strings.ContainsAny(text, "xX_pP") {
		return 0, false
	}
	x, err := strconv.ParseFloat(text, 64)
	return scalar.Value(x), err == nil || errors.Is(err, strconv.ErrRange)
}

// Leaves visits the values inside a history or summary value. It calls number for each number and
// other for each other value. The key of a nested value consists of the names in path, joined with
// slashes. A W&B object is treated as a single value.
func Leaves(key, text string, number func(key string, path []string, x scalar.Value), other func(key, text string)) {
	leaves([]string{key}, text, Number, number, other)
}

// SummaryLeaves is like Leaves, but calls other for booleans, which are not numbers in a summary.
func SummaryLeaves(key, text string, number func(key string, path []string, x scalar.Value), other func(key, text string)) {
	leaves([]string{key}, text, func(text string) (scalar.Value, bool) {
		if text = strings.TrimSpace(text); text == "true" || text == "false" {
			return 0, false
		}
		return Number(text)
	}, number, other)
}

func leaves(path []string, text string, parse func(string) (scalar.Value, bool),
	number func(string, []string, scalar.Value), other func(key, text string)) {
	if x, ok := parse(text); ok {
		number(strings.Join(path, "/"), path, x)
		return
	}
	if strings.HasPrefix(text, "{") && len(path) <= maxDepth {
		members, err := Members(text)
		if err == nil && len(members) > 0 && !slices.ContainsFunc(members, func(m Member) bool { return m.Key == "_type" }) {
			for _, m := range members {
				leaves(append(path[:len(path):len(path)], m.Key), m.Value, parse, number, other)
			}
			return
		}
	}
	other(strings.Join(path, "/"), text)
}

// TypeOf returns the type of a W&B object, such as "image-file". It returns "" if the value is
// not a W&B object.
func TypeOf(text string) string {
	if !strings.HasPrefix(text, "{") {
		return ""
	}
	members, err := Members(text)
	if err != nil {
		return ""
	}
	for _, m := range members {
		var kind string
		if m.Key == "_type" && json.Unmarshal([]byte(m.Value), &kind) == nil {
			return kind
		}
	}
	return ""
}

// Parameters calls add for each value in a setting. The key of a nested value consists of its
// names, joined with slashes.
func Parameters(key, text string, add func(key, value string)) {
	var value any
	if err := json.Unmarshal([]byte(text), &value, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err != nil {
		add(key, text) // the text is not valid JSON, for example NaN
		return
	}
	parameters(key, text, value, 0, add)
}

func parameters(key, text string, value any, depth int, add func(key, value string)) {
	switch v := value.(type) {
	case string:
		text = v
	case float64:
		if text == "" {
			text = strconv.FormatFloat(v, 'g', -1, 64)
		}
	case map[string]any:
		if len(v) > 0 && depth < maxDepth {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				parameters(key+"/"+name, "", v[name], depth+1, add)
			}
			return
		}
	}
	if text == "" {
		b, err := json.Marshal(value, json.Deterministic(true), json.AllowInvalidUTF8(true))
		if _, isText := value.(string); err == nil && !isText {
			text = string(b)
		}
	}
	add(key, text)
}
