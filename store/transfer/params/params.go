// Package params reads the parameters of a run from a YAML file.
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

// File holds the parameters read from a YAML file.
type File struct {
	// Fingerprint changes when a program writes to the file.
	Fingerprint string
	members     []format.Member
}

const (
	// MaxSize is the maximum size of a file in bytes.
	MaxSize = 2 << 20
	// maxDepth is the maximum nesting depth of values. maxValues is the maximum number of values.
	// The size limit does not bound the number of values, because YAML aliases can repeat values.
	maxDepth  = 64
	maxValues = 100_000
)

// Read returns the parameters in a YAML file. ok is false if the file does not exist or is not
// readable. An unreadable file is recorded as a loss.
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

var errLarge = fmt.Errorf("it has more than %d values or more than %d levels", maxValues, maxDepth)

// plainValue converts a YAML value to a value that JSON can represent. It decrements left for
// each value and returns an error if left becomes negative.
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
	case map[any]any: // map with keys that are not strings
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

// Add adds the parameters to a run.
func (f File) Add(w *transfer.RunWriter) {
	for _, m := range f.members {
		format.Parameters(m.Key, m.Value, w.Parameter)
	}
}

// Len returns the number of top-level entries in the file.
func (f File) Len() int { return len(f.members) }
