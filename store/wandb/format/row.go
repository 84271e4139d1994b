package format

import (
	"math"
	"strconv"
	"strings"

	"tracker/store/scalar"
)

// Row is a history row that a client sent.
type Row struct {
	Step    scalar.Step
	HasStep bool
	At      scalar.Time // 0 if the row has no time
	Runtime float64     // seconds since the start of the run; NaN if the row has no runtime
	Numbers []RowNumber
	// Rest holds the members that are not plain numbers, such as strings, media and lists. Numbers
	// inside these members are also in Numbers.
	Rest []Member
	Line int64  // number of the row's line in the stream of its client
	Text string // the row as sent
}

// RowNumber is one number in a history row.
type RowNumber struct {
	Key   string
	Path  []string // Key, split into the names of nested objects
	Value scalar.Value
}

// ParseRow parses a history row.
func ParseRow(text string) (row Row, err error) {
	row.Runtime, row.Text = math.NaN(), text
	members, err := Members(text)
	if err != nil {
		return row, err
	}
	row.Numbers = make([]RowNumber, 0, len(members))
	for _, m := range members {
		switch m.Key {
		case "_step":
			if x, ok := Number(m.Value); ok && float64(x) == math.Trunc(float64(x)) && math.Abs(float64(x)) < 1<<62 {
				row.Step, row.HasStep = scalar.Step(x), true
				if n, err := strconv.ParseInt(m.Value, 10, 64); err == nil {
					row.Step = scalar.Step(n)
				}
			}
			continue
		case "_timestamp":
			row.At = Time(m.Value)
			continue
		case "_runtime":
			if x, ok := Number(m.Value); ok {
				row.Runtime = float64(x)
			}
			continue
		case "_wandb":
			continue
		}
		if Hidden(m.Key) {
			row.Rest = append(row.Rest, m)
			continue
		}
		exact := true
		Leaves(m.Key, m.Value, func(key string, path []string, x scalar.Value) {
			row.Numbers = append(row.Numbers, RowNumber{key, path, x})
		}, func(string, string) { exact = false })
		if !exact || inexact(m.Value) {
			row.Rest = append(row.Rest, m)
		}
	}
	return row, nil
}

// inexact reports whether text could change when it is converted to a float and back: booleans and
// long integers could.
func inexact(text string) bool {
	return text == "true" || text == "false" || len(text) > 15 && strings.Trim(text, "-0123456789") == ""
}

// Time parses a number of seconds since 1970. It returns 0 if the text is not valid.
func Time(text string) scalar.Time {
	if x, ok := Number(text); ok && x >= 0 && x < 253402300800 {
		return scalar.Time(math.Round(float64(x) * 1000))
	}
	return 0
}
