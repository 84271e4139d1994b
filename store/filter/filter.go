// Package filter parses the search language described in docs/search.md: expressions
// that select iterations, and lists of names to sort by, to show as columns and to
// group by.
//
// A lexer and a recursive-descent parser convert a text into a syntax tree (Expr) or
// a list, and check every name, operator and value. For an invalid text they return an
// *Error with the position of the mistake and a message about the correct form. The
// length, the nesting and the number of parts of a text are limited.
//
// The package does not use the database and does not check rights. Package search
// converts the tree to SQL.
package filter

import (
	"fmt"
	"slices"

	"tracker/store/scalar"
)

// The limits of a search. SQLite allows expressions up to a depth of 1000 and up to 64
// tables in a join. A key needs up to two tables.
const (
	MaxLength      = 16_000 // characters of an expression
	MaxNesting     = 50     // depth of parentheses and nots
	MaxComparisons = 200
	MaxKeys        = 30   // different parameters and metrics in filter, sort and group
	MaxValues      = 1000 // values in one list
	MaxSortKeys    = 10
	MaxColumns     = 200
	MaxGroupKeys   = 3
	// MaxContains is the maximum length of the text after contains, in bytes.
	MaxContains = 1000
)

// AsText is the Stat of a parameter that is sorted as text, even if it is a number.
const AsText = "text"

// Lost is a status that exists only in searches: it matches iterations that are RUNNING
// and have not been seen for some minutes.
const Lost = "LOST"

// Statuses are the statuses of iterations.
var Statuses = []string{"RUNNING", "SUCCEEDED", "FAILED", "KILLED"}

// Key is a parameter, a metric or a property. In a Ref it can be any field.
type Key struct {
	Field Field // Param, Metric or Property; any field in a Ref
	Name  string
}

// Ref is a reference to a field in an expression.
type Ref struct {
	Key         // Name is "" for fields other than Param, Metric and Property
	Stat string // statistic of a metric: min, max, mean, last or count; last is the default
	Pos  int    // position of the first character, counted from 1
}

// Expr is a condition on an iteration: a Junction, a Negation or a Comparison.
type Expr interface{ isExpr() }

// Junction is true if all of its parts are true or, with Or, if at least one is true.
type Junction struct {
	Or    bool
	Parts []Expr // two or more
}

// Negation is true if its part is false.
type Negation struct{ Part Expr }

// Comparison compares a field of the iteration with a value. The operator in has
// several values.
type Comparison struct {
	Ref    Ref
	Op     string // = != < <= > >= contains in; also like, ilike and exists, which the parser does not return
	Values []Literal
}

func (Junction) isExpr()   {}
func (Negation) isExpr()   {}
func (Comparison) isExpr() {}

// Literal is a value that a field is compared with.
type Literal struct {
	Text     string // the value as written; a status is in upper case
	Number   float64
	IsNumber bool
	Time     scalar.Time // set for Created, Ended and LastSeen
}

// SortKey is a field by which a listing is sorted.
type SortKey struct {
	Ref
	Descending bool
}

// Column is a parameter or a metric that a listing shows.
type Column struct {
	Ref
	Label string // the name as written, with the statistic of a metric; unique among the columns with the same Field
}

// Error reports a mistake in a text.
type Error struct {
	Part    string // filter, sort, columns or group
	Pos     int    // position of the mistake in characters, counted from 1
	Message string // the mistake and the correct form, without capital letter and full stop
}

// Error returns the mistake as a sentence.
func (e *Error) Error() string {
	return fmt.Sprintf("%s is wrong at character %d: %s.", e.Part, e.Pos, e.Message)
}

// Parser reads the parts of one search, and counts their parameters and metrics together.
// The zero value is ready for use. All errors are of type *Error.
type Parser struct {
	keys []Key
}

// Keys returns the parameters and metrics in filter, sort and group, in the order of their
// first use.
func (p *Parser) Keys() []Key { return p.keys }

// add records k. It returns false if k is new and there are already MaxKeys keys.
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

// Filter reads an expression, or a list of words to search for. It returns nil for an empty
// text.
func (p *Parser) Filter(text string) (Expr, error) {
	e, err := parseFilter(text, p)
	if err != nil {
		if e := words(text); e != nil {
			return e, nil
		}
	}
	return e, err.in("filter")
}

// Sort reads up to MaxSortKeys names with commas between them. A minus before a
// name sorts in descending order.
func (p *Parser) Sort(text string) ([]SortKey, error) {
	keys, err := parseList(text, p, MaxSortKeys, (*parser).sortKey)
	return keys, err.in("sort")
}

// Columns reads up to MaxColumns parameters and metrics with commas between them. It
// returns a column only once. It does not record the keys of the columns.
func (p *Parser) Columns(text string) ([]Column, error) {
	columns, err := parseColumns(text)
	return columns, err.in("columns")
}

// Group reads the fields to group by: one to MaxGroupKeys parameters or tag.
func (p *Parser) Group(text string) ([]Ref, error) {
	by, err := parseGroup(text, p)
	return by, err.in("group")
}

// in sets the part of the search in e and returns it. It returns nil if e is nil.
func (e *Error) in(part string) error {
	if e == nil {
		return nil
	}
	e.Part = part
	return e
}

// Keys returns the parameters, metrics and properties in an expression and an order, in the
// order of their first use. It is used for expressions that were not read by a Parser. It
// returns an *Error if the expression or the order exceeds the limits of a search.
func Keys(e Expr, sort []SortKey) ([]Key, error) {
	var p Parser
	comparisons := 0
	ok := p.addFrom(e, &comparisons)
	for _, k := range sort {
		if k.keyed() {
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

// keyed reports whether the field is followed by a name.
func (r Ref) keyed() bool { return r.Field == Param || r.Field == Metric || r.Field == Property }

// addFrom records the keys in e and counts its comparisons. It returns false if there are
// more than MaxKeys keys.
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
		return !e.Ref.keyed() || p.add(e.Ref.Key)
	}
	return true
}
