// Package scalar defines the types of single values: times, metric values, steps and parameter
// values. Each type reads and writes JSON, rejects invalid input with an error message, and is
// stored in SQLite without loss.
package scalar

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tracker/store/json"
)

// Time is an instant in Unix milliseconds. Its JSON form is RFC 3339 in UTC.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

// TimeOf returns t truncated to milliseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// Time returns t as a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

func (t Time) String() string { return t.Time().Format(timeLayout) }

// ParseTime parses an RFC 3339 time with any offset. It assumes UTC if the offset is missing,
// and discards digits after the milliseconds.
func ParseTime(s string) (Time, error) {
	upper := strings.ToUpper(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		t, err := time.Parse(layout, upper)
		if err == nil && isRFC3339(upper, t) {
			return TimeOf(t), nil
		}
	}
	return 0, errors.New("must be a date and time like 2026-11-21T09:30:00.123Z")
}

// isRFC3339 reports whether s conforms to RFC 3339. t is the result of Go's parser for s. Go
// also accepts one-digit hours, a comma before the fraction, offsets of 24 hours or 60 minutes,
// and offsets that lead to a year with more or fewer than four digits.
func isRFC3339(s string, t time.Time) bool {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return false
	}
	if zone := s[len(s)-len("+01:00"):]; zone[0] == '+' || zone[0] == '-' {
		if zone[1:3] > "23" || zone[4:6] > "59" {
			return false
		}
	}
	return s[len("2026-11-21T09")] == ':' && !strings.Contains(s, ",")
}

// MarshalJSONTo writes t in RFC 3339, in UTC.
func (t Time) MarshalJSONTo(enc *json.Encoder) error {
	return enc.WriteToken(json.String(t.String()))
}

// UnmarshalJSONFrom reads a string that ParseTime accepts.
func (t *Time) UnmarshalJSONFrom(dec *json.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != '"' {
		return errors.New("must be a date and time in a string, like \"2026-11-21T09:30:00.123Z\"")
	}
	*t, err = ParseTime(tok.String())
	return err
}

// Value is the value of a metric: any float64. In JSON, NaN and the infinities are the strings
// "NaN", "Infinity" and "-Infinity". In SQLite, NaN is NULL.
type Value float64

// Finite reports whether v is neither NaN nor infinite.
func (v Value) Finite() bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

func (v Value) String() string {
	switch f := float64(v); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
}

// MarshalJSONTo writes v as a number, or as a string if v is not finite.
func (v Value) MarshalJSONTo(enc *json.Encoder) error {
	if v.Finite() {
		return enc.WriteToken(json.Float(float64(v)))
	}
	return enc.WriteToken(json.String(v.String()))
}

// UnmarshalJSONFrom reads a number or one of the strings "NaN", "Infinity" and "-Infinity".
func (v *Value) UnmarshalJSONFrom(dec *json.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch text := tok.String(); {
	case tok.Kind() == '0':
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%.40s is too large for a double; send \"Infinity\" or \"-Infinity\"", text)
		}
		*v = Value(f)
	case tok.Kind() == '"' && text == "NaN":
		*v = Value(math.NaN())
	case tok.Kind() == '"' && text == "Infinity":
		*v = Value(math.Inf(1))
	case tok.Kind() == '"' && text == "-Infinity":
		*v = Value(math.Inf(-1))
	default:
		return errors.New("must be a number, or one of the strings \"NaN\", \"Infinity\" and \"-Infinity\"")
	}
	return nil
}

// Value implements driver.Valuer.
func (v Value) Value() (driver.Value, error) { return v.Driver(), nil }

// Driver returns v as a statement argument. NaN becomes NULL.
func (v Value) Driver() driver.Value {
	if math.IsNaN(float64(v)) {
		return nil
	}
	return float64(v)
}

// Scan implements sql.Scanner.
func (v *Value) Scan(src any) error {
	switch x := src.(type) {
	case nil:
		*v = Value(math.NaN())
	case float64:
		*v = Value(x)
	case int64:
		*v = Value(x)
	default:
		return fmt.Errorf("a metric's value can't be read from %T", src)
	}
	return nil
}

// Step is a position in a series: any int64. In JSON, a step can have a zero fraction or an
// exponent (3.0, 1e3), because some languages have no integers.
type Step int64

// UnmarshalJSONFrom reads a whole number.
func (s *Step) UnmarshalJSONFrom(dec *json.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() == '0' {
		text := tok.String()
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			*s = Step(n)
			return nil
		}
		// From 2^53 on, a float64 does not identify an integer uniquely.
		if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			*s = Step(f)
			return nil
		}
	}
	return errors.New("must be a whole number from -9223372036854775808 to 9223372036854775807")
}

// MarshalJSONTo writes a plain integer.
func (s Step) MarshalJSONTo(enc *json.Encoder) error {
	return enc.WriteToken(json.Int(int64(s)))
}

// Text is the value of a parameter. In JSON, it can be a string, a number or a boolean. Numbers
// and booleans are stored exactly as written in the input.
type Text string

// UnmarshalJSONFrom reads a string, a number or a boolean.
func (t *Text) UnmarshalJSONFrom(dec *json.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*t = Text(tok.String())
	case '0', 't', 'f':
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*t = Text(raw)
	default:
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return errors.New("must be a string, a number or a boolean; write a list or an object as a string")
	}
	return nil
}

// Quote returns the beginning of s in quotes, for use in a message.
func Quote(s string) string {
	const most = 100
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return `"` + s + `"`
}
