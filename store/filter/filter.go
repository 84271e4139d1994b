// Package filter parses the search language that docs/search.md describes. The language has
// expressions that select iterations, and lists of names for sorting, columns and groups.
//
// A lexer and a recursive-descent parser convert text to a syntax tree (Expr) or a list. They
// check every name, operator and value. If the text is invalid, they return an *Error with the
// position of the mistake and advice. The length, the nesting and the number of parts are
// limited.
//
// The package does not use the database and does not check rights. Package search converts the
// syntax tree to SQL.
package filter

import (
	"fmt"
	"slices"
	"time"

	"tracker/store/scalar"
)

// Limits of a search. SQLite allows an expression depth of 1000 and 64 tables in a join. A key
// needs up to two tables.
const (
	MaxLength      = 16_000 // characters in an expression
	MaxNesting     = 50     // nesting depth of parentheses and the operator "not"
	MaxComparisons = 200
	MaxKeys        = 30   // distinct parameters and metrics in filter, sort and group together
	MaxValues      = 1000 // values in one list after the operator "in"
	MaxSortKeys    = 10
	MaxColumns     = 200
	MaxGroupKeys   = 6
	// MaxContains is the maximum length of the text after the operator "contains", in bytes.
	MaxContains = 1000
)

// AsText is a Ref.Stat that sorts a parameter as text, even if its values are numbers.
const AsText = "text"

// Lost is a status that exists only in searches. It matches RUNNING iterations that the server
// has not seen for some minutes.
const Lost = "LOST"

// Statuses lists the statuses of iterations.
var Statuses = []string{"RUNNING", "SUCCEEDED", "FAILED", "KILLED"}

// Key identifies a named value, such as a parameter. In a Ref, it can be any field.
type Key struct {
	Field Field // a named field; any field in a Ref
	Name  string
}

// Ref refers to a field in an expression.
type Ref struct {
	Key         // Name is "" for fields without a name
	Stat string // min, max, mean, last or count of a metric; the default is last
	Pos  int    // position of the first character, counted from 1
}

// Expr is a condition on an iteration. It is a Junction, a Negation or a Comparison.
type Expr interface{ isExpr() }

// Junction is true if all parts are true. If Or is set, one true part is enough.
type Junction struct {
	Or    bool
	Parts []Expr // at least two conditions
}

// Negation is true if Part is false.
type Negation struct{ Part Expr }

// Comparison compares a field of the iteration with a value. The operator "in" has several
// values.
type Comparison struct {
	Ref    Ref
	Op     string // = != < <= > >= contains in, from the parser; like, ilike and exists, from other packages
	Values []Literal
}

func (Junction) isExpr()   {}
func (Negation) isExpr()   {}
func (Comparison) isExpr() {}

// Literal is a value in a Comparison.
type Literal struct {
	Text     string // value as written, without quotes; a status is in upper case
	Number   float64
	IsNumber bool
	Time     scalar.Time // set for a comparison with Created, Ended or LastSeen
}

// SortKey is a field by which a listing is sorted.
type SortKey struct {
	Ref
	Descending bool
}

// Column is a parameter, a metric or a text of the summary that a listing shows.
type Column struct {
	Ref
	Label string // name as written, with the statistic of a metric; unique among columns with equal Field
}

// Error reports a mistake in one part of a search.
type Error struct {
	Part    string // part of the search: filter, sort, columns or group
	Pos     int    // position of the mistake in characters, counted from 1
	Message string // the mistake and advice, without capital letter and full stop
}

// Error returns the mistake and its position as a sentence.
func (e *Error) Error() string {
	return fmt.Sprintf("%s is wrong at character %d: %s.", e.Part, e.Pos, e.Message)
}

// Parser parses the parts of one search. The limit MaxKeys applies to all parts together. The
// zero value is ready to use. All errors have type *Error.
type Parser struct {
	Now time.Time // time to which relative times refer; the zero time is the time of parsing
	// Known reports whether a parameter or metric exists. Filter uses it for a name without
	// param. or metric. before it. If Known is nil, Filter rejects such names.
	Known func(Key) bool
	keys  []Key
}

// Keys returns the named values in filter, sort and group, in the order of their first use.
func (p *Parser) Keys() []Key { return p.keys }

// add adds k to the keys of p. It returns false if k is new and p already has MaxKeys keys.
func (p *Parser) add(k Key) bool {
	switch {
	case slices.Contains(p.keys, k):
	case len(p.keys) == MaxKeys:
		return false
	default:
		p.keys = append(p.keys, k)
	}
	return true
}

// Filter parses an expression or a list of search words. It returns nil if text is empty.
func (p *Parser) Filter(text string) (Expr, error) {
	e, err := parseFilter(text, p)
	if err != nil {
		if e := words(text); e != nil {
			return e, nil
		}
	}
	return e, err.in("filter")
}

// Sort parses up to MaxSortKeys field names, separated by commas. A minus before a name sorts
// in descending order.
func (p *Parser) Sort(text string) ([]SortKey, error) {
	keys, err := parseList(text, p, MaxSortKeys, (*parser).sortKey)
	return keys, err.in("sort")
}

// Columns parses up to MaxColumns parameters, metrics and texts of the summary, separated by
// commas. It removes repeated columns. It does not record the keys of the columns.
func (p *Parser) Columns(text string) ([]Column, error) {
	columns, err := parseColumns(text)
	return columns, err.in("columns")
}

// Group parses the fields to group runs by. There must be between one and MaxGroupKeys fields. Each
// field is a parameter, a text of the summary, or tag.
func (p *Parser) Group(text string) ([]Ref, error) {
	by, err := parseGroup(text, p)
	return by, err.in("group")
}

// in sets the part of e and returns e. It returns nil if e is nil.
func (e *Error) in(part string) error {
	if e == nil {
		return nil
	}
	e.Part = part
	return e
}

// Keys returns the named values in e and sort, in the order of their first use. Keys is for
// expressions that do not come from a Parser. It returns an *Error if e or sort exceeds the limits
// of a search.
func Keys(e Expr, sort []SortKey) ([]Key, error) {
	var p Parser
	comparisons := 0
	ok := p.addFrom(e, &comparisons)
	for _, k := range sort {
		if k.Field.Named() {
			ok = ok && p.add(k.Key)
		}
	}
	switch {
	case !ok:
		return nil, &Error{Part: "filter", Pos: 1, Message: fmt.Sprintf("a search can name at most %d parameters, metrics and properties", MaxKeys)}
	case comparisons > MaxComparisons:
		return nil, &Error{Part: "filter", Pos: 1, Message: fmt.Sprintf("an expression can have at most %d comparisons", MaxComparisons)}
	case len(sort) > MaxSortKeys:
		return nil, &Error{Part: "sort", Pos: 1, Message: fmt.Sprintf("a search can be sorted by at most %d names", MaxSortKeys)}
	}
	return p.keys, nil
}

// addFrom adds the keys in e to p. It increases *comparisons by the number of comparisons in e.
// It returns false if p would have more than MaxKeys keys.
func (p *Parser) addFrom(e Expr, comparisons *int) bool {
	switch e := e.(type) {
	case Junction:
		for _, part := range e.Parts {
			if !p.addFrom(part, comparisons) {
				return false
			}
		}
	case Negation:
		return p.addFrom(e.Part, comparisons)
	case Comparison:
		*comparisons++
		return !e.Ref.Field.Named() || p.add(e.Ref.Key)
	}
	return true
}
