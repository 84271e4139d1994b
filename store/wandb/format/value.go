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

// The functions below convert values of W&B to parameters and points, both for the files that its
// client writes and for the data that it sends to a server.

// maxDepth bounds the nesting of objects.
const maxDepth = 32

// Hidden reports whether a key is reserved by W&B.
func Hidden(key string) bool { return strings.HasPrefix(key, "_") }

// Number parses a JSON number, or a word that Python writes for NaN or an infinity. True is 1 and
// false is 0.
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

// Leaves calls number for each number in a value of a history or a summary, and other for each
// other value. The names of nested values are joined with slashes; path holds the separate names. A
// W&B object is one value.
func Leaves(key, text string, number func(key string, path []string, x scalar.Value), other func(key, text string)) {
	leaves([]string{key}, text, number, other)
}

func leaves(path []string, text string, number func(string, []string, scalar.Value), other func(key, text string)) {
	if x, ok := Number(text); ok {
		number(strings.Join(path, "/"), path, x)
		return
	}
	if strings.HasPrefix(text, "{") && len(path) <= maxDepth {
		members, err := Members(text)
		if err == nil && len(members) > 0 && !slices.ContainsFunc(members, func(m Member) bool { return m.Key == "_type" }) {
			for _, m := range members {
				leaves(append(path[:len(path):len(path)], m.Key), m.Value, number, other)
			}
			return
		}
	}
	other(strings.Join(path, "/"), text)
}

// TypeOf returns the type of a W&B object, such as "image-file", or "" for any other value.
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

// Parameters calls add for each value in a setting. The names of nested values are joined with
// slashes.
func Parameters(key, text string, add func(key, value string)) {
	var value any
	if err := json.Unmarshal([]byte(text), &value, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err != nil {
		add(key, text) // NaN, for example
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
