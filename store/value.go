package store

import (
	"time"

	"tracker/store/scalar"
)

// The values that records are made of.
type (
	Time  = scalar.Time
	Value = scalar.Value
	Step  = scalar.Step
	Text  = scalar.Text
)

// ParseTime reads RFC 3339 as scalar.ParseTime does.
func ParseTime(s string) (Time, error) { return scalar.ParseTime(s) }

func toTime(t time.Time) Time { return scalar.TimeOf(t) }
