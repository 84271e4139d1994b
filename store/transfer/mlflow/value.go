package mlflow

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tracker/store/transfer"
)

// cell returns an SQL expression for a numeric column. SQLite allows any value in any column. The
// expression converts any value that is not a number to text, which realOf and wholeOf parse or
// reject.
func cell(column string) string {
	return strings.ReplaceAll(`CASE typeof($) WHEN 'integer' THEN $ WHEN 'real' THEN $ WHEN 'null' THEN NULL ELSE substr(CAST($ AS TEXT), 1, 100) END`,
		"$", column)
}

// realOf converts a value from SQLite or YAML to a float. It returns false if the value is not
// a number.
func realOf(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case []byte:
		return realOf(string(v))
	case string:
		x, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return x, err == nil || errors.Is(err, strconv.ErrRange)
	}
	return 0, false
}

// wholeOf converts a value from SQLite or YAML to an integer. It returns false if the value is
// not an integer.
func wholeOf(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case []byte:
		return wholeOf(string(v))
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return n, true
		}
	}
	x, ok := realOf(v)
	return int64(x), ok && x == math.Trunc(x) && math.Abs(x) < 1<<63
}

// shown formats v for a message and cuts it to 100 bytes.
func shown(v any) string {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	text := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	}
	return transfer.FitText(text[:min(len(text), 100)])
}

// timeAt converts Unix milliseconds from SQLite or YAML to a time. It returns false if v is not
// a time between 1970 and the year 10000.
func timeAt(v any) (transfer.Time, bool) {
	ms, ok := wholeOf(v)
	if !ok {
		return 0, false
	}
	return timeOf(ms)
}

// madeAt returns the creation time of a model or a version. A missing or invalid time is
// recorded as a loss.
func madeAt(im *transfer.Import, path, what string, v any) transfer.Time {
	at, ok := timeAt(v)
	switch {
	case v == nil:
		im.Lose(path, "The %s has no creation time; it is shown as created in 1970.", what)
	case !ok:
		im.Lose(path, "The creation time of the %s, %s, is not a valid time; it is shown as created in 1970.", what, shown(v))
		at = 0
	}
	return at
}
