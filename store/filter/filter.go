// Package filter reads the search language that docs/search.md describes: the
// expressions that select iterations, and the lists of names to sort by, to show
// as columns and to group by.
//
// A text goes through a lexer and a recursive-descent parser and becomes a
// syntax tree (Expr) or a list, in which every name, operator and value has been
// checked: what is accepted has a meaning. A text that is refused gives an *Error
// with the position of the mistake and a sentence that says what to write
// instead. The length, the nesting and the number of parts of a text are bounded.
//
// The package knows neither the database nor who is asking. Package search writes
// the tree as SQL.
package filter

import (
	"fmt"
	"slices"

	"tracker/store/scalar"
)

// The limits of one search. SQLite takes an expression no deeper than 1000, and
// no more than 64 tables in a join, of which a key needs up to two.
const (
	MaxLength      = 16_000 // of an expression, in characters
	MaxNesting     = 50     // of parentheses and nots
	MaxComparisons = 200
	MaxKeys        = 30   // different parameters and metrics in filter, sort and group together
	MaxValues      = 1000 // in one list
	MaxSortKeys    = 10
	MaxColumns     = 200
	MaxGroupKeys   = 3
	// MaxContains bounds the text after contains, in bytes.
	MaxContains = 1000
)

// Field is a property of an iteration that the language can name.
type Field int

// The fields. Param, Metric and Property are followed by a name.
const (
	Param Field = iota
	Metric
	Tag
	Name
	Status
	Created
	Ended
	LastSeen
	Duration
	ID
	Updated // of records other than iterations
	Property
	Notes
	CompactID  // the id without its dashes
	Parent     // the id of the parent without its dashes
	Entrypoint // of the snapshot, like the next two
	GitSHA
	GitRemote
	DatasetName // of one of the datasets, like the next two
	DatasetDigest
	DatasetContext
	AnyText // the name, the notes, a tag or the value of a parameter
)

// AsText is the Stat of a parameter that is sorted as text, also where it is a number.
const AsText = "text"

// Lost is a status that can be searched for and that no iteration has: it stands
// for RUNNING without a sign of life for some minutes.
const Lost = "LOST"

// Statuses holds the statuses that an iteration can have.
var Statuses = []string{"RUNNING", "SUCCEEDED", "FAILED", "KILLED"}

// Key is a parameter or a metric.
type Key struct {
	Field Field // Param or Metric in a Key of its own; any field as a part of Ref
	Name  string
}

// Ref is a field as an expression names it.
type Ref struct {
	Key         // the name is "" for fields other than Param and Metric
	Stat string // of a metric: min, max, mean, last or count; last is the default
	Pos  int    // of its first character, counted from 1
}

// Expr is a condition that an iteration meets or not: a Junction, a Negation or
// a Comparison.
type Expr interface{ isExpr() }

// Junction is true when all of its parts are, or with Or when one of them is.
type Junction struct {
	Or    bool
	Parts []Expr // two or more
}

// Negation is true when its part is not.
type Negation struct{ Part Expr }

// Comparison compares a field of the iteration with a value, or with several
// after in.
type Comparison struct {
	Ref    Ref
	Op     string // = != < <= > >= contains in; like, ilike and exists, which no text of the language has
	Values []Literal
}

func (Junction) isExpr()   {}
func (Negation) isExpr()   {}
func (Comparison) isExpr() {}

// Literal is a value that a field is compared with.
type Literal struct {
	Text     string // as written for a number, in upper case for a status
	Number   float64
	IsNumber bool
	Time     scalar.Time // for Created, Ended and LastSeen
}

// SortKey is one of the fields that a listing is sorted by.
type SortKey struct {
	Ref
	Descending bool
}

// Column is a parameter or a metric that a listing shows.
type Column struct {
	Ref
	Label string // the name as it was written, with the statistic of a metric; unique among the columns of a field
}

// Error says what is wrong with a text, and where.
type Error struct {
	Part    string // filter, sort, columns or group
	Pos     int    // of the character, counted from 1
	Message string // says what to write; has no capital letter and no full stop
}

// Error returns a sentence.
func (e *Error) Error() string {
	return fmt.Sprintf("%s is wrong at character %d: %s.", e.Part, e.Pos, e.Message)
}

// Parser reads the parts of one search, whose parameters and metrics are counted
// together. Its zero value is ready for use. All errors are *Error.
type Parser struct {
	keys []Key
}

// Keys returns the parameters and metrics that filter, sort and group have named,
// in the order of their first mention.
func (p *Parser) Keys() []Key { return p.keys }

// add records k. It returns false when there are MaxKeys keys already.
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

// Filter reads an expression, or words to look for; nil for a text that is empty.
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

// Columns reads up to MaxColumns parameters and metrics with commas between
// them. A column that is named twice is returned once. Their keys are not
// recorded.
func (p *Parser) Columns(text string) ([]Column, error) {
	columns, err := parseColumns(text)
	return columns, err.in("columns")
}

// Group reads the parameters, and tag, to group by: one to MaxGroupKeys.
func (p *Parser) Group(text string) ([]Ref, error) {
	by, err := parseGroup(text, p)
	return by, err.in("group")
}

// in returns e with the part of the search that it is about, nil when e is nil.
func (e *Error) in(part string) error {
	if e == nil {
		return nil
	}
	e.Part = part
	return e
}

// Keys returns the parameters, metrics and properties that an expression and an order
// name, in the order of their first mention. It is for expressions that were not read
// by a Parser. An expression beyond the limits of a search is an *Error.
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
		return nil, &Error{Part: "filter", Pos: 1, Message: fmt.Sprintf("a search names at most %d parameters, metrics and properties", MaxKeys)}
	case comparisons > MaxComparisons:
		return nil, &Error{Part: "filter", Pos: 1, Message: fmt.Sprintf("an expression has at most %d comparisons", MaxComparisons)}
	case len(sort) > MaxSortKeys:
		return nil, &Error{Part: "sort", Pos: 1, Message: fmt.Sprintf("a search is sorted by at most %d names", MaxSortKeys)}
	}
	return p.keys, nil
}

// keyed reports whether the field is followed by a name.
func (r Ref) keyed() bool { return r.Field == Param || r.Field == Metric || r.Field == Property }

// addFrom records the keys in e, and counts its comparisons. It reports whether there
// was room for all keys.
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
