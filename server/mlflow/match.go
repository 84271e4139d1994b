package mlflow

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"tracker/store/filter"
	"tracker/store/registry"
)

// A project has few registered models, versions and logged models, so a search compares all of them
// in memory.

// textMatch returns the condition of t for a string.
func (t term) textMatch() (func(string) bool, error) {
	if err := t.wantTexts(); err != nil {
		return nil, err
	}
	is := func(s string) func(operand) bool { return func(v operand) bool { return v.text == s } }
	switch t.op {
	case "=", "IN":
		return func(s string) bool { return slices.ContainsFunc(t.values, is(s)) }, nil
	case "!=", "NOT IN":
		return func(s string) bool { return !slices.ContainsFunc(t.values, is(s)) }, nil
	case "LIKE", "ILIKE":
		if len(t.values[0].text) > filter.MaxContains {
			return nil, badFilter("filter", "a pattern has at most %d bytes.", filter.MaxContains)
		}
		return func(s string) bool { return filter.Like(s, t.values[0].text, t.op == "ILIKE") }, nil
	}
	return nil, badFilter("filter", "%q can't be compared with %s; use =, !=, LIKE, ILIKE and IN.", t.key, t.op)
}

// numberMatch returns the condition of t for a number. NaN matches only !=.
func (t term) numberMatch() (func(float64) bool, error) {
	want, err := t.number()
	if err != nil {
		return nil, err
	}
	return func(f float64) bool {
		switch t.op {
		case "=":
			return f == want
		case "!=":
			return f != want
		case "<":
			return f < want
		case "<=":
			return f <= want
		case ">":
			return f > want
		}
		return f >= want
	}, nil
}

// versionMatch returns the condition of t for a version number. The values of t can be quoted.
func (t term) versionMatch() (func(float64) bool, error) {
	for i, v := range t.values {
		if _, err := strconv.ParseInt(v.text, 10, 64); err != nil {
			return nil, badFilter("filter", "%q must be compared with a whole number, not %q.", t.key, v.text)
		}
		t.values[i].quoted = false
	}
	return t.numberMatch()
}

// propertyMatch returns the condition of t for a tag stored as a property. A record without the
// tag does not match.
func (t term) propertyMatch() (registry.PropertyMatch, error) {
	match, err := t.textMatch()
	return registry.PropertyMatch{Key: t.key, Match: match}, err
}

// allMatch returns a condition that is true if all given conditions are true.
func allMatch[T any](all []func(T) bool) func(T) bool {
	return func(record T) bool {
		for _, match := range all {
			if !match(record) {
				return false
			}
		}
		return true
	}
}

// on returns a condition that applies match to a field of a record.
func on[T, F any](field func(T) F, match func(F) bool) func(T) bool {
	return func(record T) bool { return match(field(record)) }
}

// promptTag removes the terms about the tag that marks a prompt. It returns the other terms and a
// condition that replaces the removed ones: it matches only prompts if the first removed term
// selects prompts, and otherwise only records that are not prompts.
func promptTag(terms []term) (others []term, match registry.PropertyMatch, err error) {
	wanted, asked := false, false
	for _, t := range terms {
		if t.entity != "tag" || t.key != tagIsPrompt {
			others = append(others, t)
			continue
		}
		if err := t.wantTexts(); err != nil {
			return nil, match, err
		}
		if !asked && len(t.values) == 1 {
			truth := filter.Like(t.values[0].text, "true", true)
			wanted = t.op == "=" && truth || t.op == "!=" && filter.Like(t.values[0].text, "false", true)
		}
		asked = true
	}
	return others, registry.PropertyMatch{
		Key:     tagIsPrompt,
		Match:   func(value string) bool { return filter.Like(value, "true", true) == wanted },
		Missing: !wanted,
	}, nil
}

// ordering compares records by several keys, the most important key first.
type ordering[T any] []func(a, b T) int

func (o ordering[T]) compare(a, b T) int {
	for _, c := range o {
		if n := c(a, b); n != 0 {
			return n
		}
	}
	return 0
}

// by returns a function that compares two records by a field.
func by[T any, F cmp.Ordered](field func(T) F, descending bool) func(a, b T) int {
	return func(a, b T) int {
		n := cmp.Compare(field(a), field(b))
		if descending {
			return -n
		}
		return n
	}
}

// byNumber returns a function that compares two records by a number. Records without the number
// come last in both directions, and NaN comes directly before them.
func byNumber[T any](field func(T) (float64, bool), descending bool) func(a, b T) int {
	return func(a, b T) int {
		x, hasX := field(a)
		y, hasY := field(b)
		rank := func(f float64, has bool) int {
			switch {
			case !has:
				return 2
			case math.IsNaN(f):
				return 1
			}
			return 0
		}
		if n := cmp.Compare(rank(x, hasX), rank(y, hasY)); n != 0 || rank(x, hasX) > 0 {
			return n
		}
		n := cmp.Compare(x, y)
		if descending {
			return -n
		}
		return n
	}
}

// pageOf returns at most n elements of all, starting at offset.
func pageOf[T any](all []T, offset, n int) []T {
	offset = min(offset, len(all))
	return all[offset:min(offset+n, len(all))]
}
