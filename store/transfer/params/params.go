// Package params reads the settings of a run from a YAML file beside its metrics.
package params

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

// File holds the settings in a file.
type File struct {
	// Fingerprint changes when the file is written to.
	Fingerprint string
	members     []format.Member
}

const (
	// MaxSize bounds a file in bytes.
	MaxSize = 2 << 20
	// maxDepth bounds the nesting of values. maxValues bounds their number, since an alias repeats
	// a value.
	maxDepth  = 64
	maxValues = 100_000
)

// Read returns the settings in a file; ok is false if it does not exist. An unreadable file is a
// loss.
func Read(im *transfer.Import, path string) (f File, ok bool) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, false
	}
	if err == nil {
		f.Fingerprint = fmt.Sprintf("%d-%x", info.Size(), info.ModTime().UnixNano())
		f.members, err = read(path)
	}
	if err != nil {
		im.Lose(path, "It can't be read: %v.", err)
	}
	return f, err == nil
}

func read(path string) ([]format.Member, error) {
	text, err := transfer.ReadFile(path, MaxSize)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return nil, err
	}
	left := maxValues
	plain, err := plainValue(values, 0, &left)
	if err != nil {
		return nil, err
	}
	object, err := json.Marshal(plain, json.Deterministic(true), json.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return format.Members(string(object))
}

var errLarge = fmt.Errorf("it has more than %d values, or %d levels of them", maxValues, maxDepth)

// plainValue converts a value of YAML to a value that JSON can represent.
func plainValue(value any, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > maxDepth {
		return nil, errLarge
	}
	var err error
	switch v := value.(type) {
	case map[string]any:
		plain := make(map[string]any, len(v))
		for key, one := range v {
			if plain[key], err = plainValue(one, depth+1, left); err != nil {
				return nil, err
			}
		}
		return plain, nil
	case map[any]any: // with keys that are not texts
		plain := make(map[string]any, len(v))
		for key, one := range v {
			if plain[fmt.Sprint(key)], err = plainValue(one, depth+1, left); err != nil {
				return nil, err
			}
		}
		return plain, nil
	case []any:
		plain := make([]any, len(v))
		for i, one := range v {
			if plain[i], err = plainValue(one, depth+1, left); err != nil {
				return nil, err
			}
		}
		return plain, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		}
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	}
	return value, nil
}

// Add adds the settings to a run.
func (f File) Add(w *transfer.RunWriter) {
	for _, m := range f.members {
		format.Parameters(m.Key, m.Value, w.Parameter)
	}
}

// Len returns the number of top-level settings.
func (f File) Len() int { return len(f.members) }
