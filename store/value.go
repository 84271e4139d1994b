package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Time is an instant in Unix milliseconds, the resolution in which everything
// is kept. In JSON it is RFC 3339 in UTC.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

func toTime(t time.Time) Time { return Time(t.UnixMilli()) }

// Time returns t as a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

func (t Time) String() string { return t.Time().Format(timeLayout) }

// ParseTime reads RFC 3339 with any offset; without a zone it is UTC. What is
// finer than a millisecond is cut off.
func ParseTime(s string) (Time, error) {
	upper := strings.ToUpper(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		t, err := time.Parse(layout, upper)
		if err == nil && isRFC3339(upper, t) {
			return toTime(t), nil
		}
	}
	return 0, errors.New("must be a date and time like 2026-11-21T09:30:00.123Z")
}

// isRFC3339 refuses what Go reads beyond the standard: an hour of one digit, a
// comma before the fraction, offsets of 24 hours or 60 minutes, and a year that
// the offset carries out of its four digits.
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

// MarshalJSONTo writes t in RFC 3339.
func (t Time) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String(t.String()))
}

// UnmarshalJSONFrom reads what ParseTime takes.
func (t *Time) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
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

// Value is a metric's value: any IEEE double. JSON has no NaN and no
// infinities: the strings "NaN", "Infinity" and "-Infinity" stand for them.
// SQLite has no NaN: it is kept as NULL.
type Value float64

// Finite tells that v is neither NaN nor an infinity.
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

// MarshalJSONTo writes a number, or the string that stands for one.
func (v Value) MarshalJSONTo(enc *jsontext.Encoder) error {
	if v.Finite() {
		return enc.WriteToken(jsontext.Float(float64(v)))
	}
	return enc.WriteToken(jsontext.String(v.String()))
}

// UnmarshalJSONFrom reads a number, or the string that stands for one.
func (v *Value) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
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
func (v Value) Value() (driver.Value, error) { return v.bound(), nil }

// bound is what v is for the driver.
func (v Value) bound() driver.Value {
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

// Step is a position in a series: any int64. JSON may write it with a zero
// fraction or an exponent (3.0, 1e3), as languages without integers do.
type Step int64

// UnmarshalJSONFrom reads a whole number.
func (s *Step) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
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
		// From 2^53 on a double can't say which whole number was meant.
		if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			*s = Step(f)
			return nil
		}
	}
	return errors.New("must be a whole number from -9223372036854775808 to 9223372036854775807")
}

// MarshalJSONTo writes a plain integer.
func (s Step) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.Int(int64(s)))
}

// Text is a parameter's value. JSON may give a number or a boolean, which is
// kept as the very characters that were sent.
type Text string

// UnmarshalJSONFrom reads a string, a number or a boolean.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
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
