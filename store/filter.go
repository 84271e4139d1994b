package store

import (
	"fmt"
	"strings"
)

// The search language: what docs/search.md describes. An expression becomes a
// tree (this file), whose comparisons are checked one by one
// (filter_comparison.go), and which is then written as SQL (filter_sql.go).

// node is a part of a filter: a junction, a negation or a comparison.
type node interface{ isNode() }

// junction is true when all of its parts are, or, with or, when one is.
type junction struct {
	or    bool
	parts []node // two or more
}

// negation is true when its part is not.
type negation struct{ part node }

// comparison holds a value of the iteration against others.
type comparison struct {
	ref    ref
	op     string    // = != < <= > >= contains in
	values []operand // one, or several after in
}

func (junction) isNode()   {}
func (negation) isNode()   {}
func (comparison) isNode() {}

const (
	// maxNesting bounds parentheses and nots within each other.
	maxNesting = 50
	// maxComparisons and maxNames bound what one search may cost: SQLite takes
	// an expression no deeper than 1000, and no more than 64 tables in a join,
	// of which a name needs up to two.
	maxComparisons = 200
	maxNames       = 30
	maxValues      = 1000 // in one list
)

// parser reads an expression with one token of look-ahead.
type parser struct {
	lexer       *lexer
	token       token
	before      token // the one that was read last
	depth       int
	comparisons int
	names       map[name]bool // that were read, nil when they may be many
}

func newParser(s string, names map[name]bool) (*parser, *mistake) {
	l, m := newLexer(s)
	if m != nil {
		return nil, m
	}
	p := &parser{lexer: l, names: names}
	return p, p.next()
}

func (p *parser) next() (m *mistake) {
	p.before = p.token
	p.token, m = p.lexer.next()
	return m
}

// wrong says that the token at hand should be something else.
func (p *parser) wrong(format string, args ...any) *mistake {
	return &mistake{p.token.at, fmt.Sprintf(format, args...)}
}

// unexpected is what is wrong with a token behind a comparison, in the given words
// unless it is known better.
func (p *parser) unexpected(otherwise string) *mistake {
	if p.token.sign(",") && p.before.kind == numberToken {
		return p.wrong("a number has a decimal point, like 0.2, and no comma")
	}
	return p.wrong("%s", otherwise)
}

// parseFilter reads a filter, nil for one that is empty, and adds to names
// what it speaks of.
func parseFilter(s string, names map[name]bool) (node, *mistake) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	p, m := newParser(s, names)
	if m != nil {
		return nil, m
	}
	n, m := p.alternatives()
	if m != nil {
		return nil, m
	}
	if p.token.kind != endToken {
		return nil, p.unexpected(`write "and" or "or" before the next comparison, or end here`)
	}
	return n, nil
}

// alternatives reads what or separates.
func (p *parser) alternatives() (node, *mistake) { return p.junction("or", p.conditions) }

// conditions reads what and separates.
func (p *parser) conditions() (node, *mistake) { return p.junction("and", p.condition) }

func (p *parser) junction(keyword string, part func() (node, *mistake)) (node, *mistake) {
	n, m := part()
	if m != nil || !p.token.is(keyword) {
		return n, m
	}
	j := junction{or: keyword == "or", parts: []node{n}}
	for p.token.is(keyword) {
		if m := p.next(); m != nil {
			return nil, m
		}
		n, m := part()
		if m != nil {
			return nil, m
		}
		j.parts = append(j.parts, n)
	}
	return j, nil
}

// condition reads a comparison, its negation, or parentheses.
func (p *parser) condition() (node, *mistake) {
	switch {
	case p.token.is("not"):
		leave, m := p.enter()
		if m != nil {
			return nil, m
		}
		defer leave()
		n, m := p.condition()
		return negation{n}, m
	case p.token.sign("("):
		open := p.token.at
		leave, m := p.enter()
		if m != nil {
			return nil, m
		}
		defer leave()
		n, m := p.alternatives()
		if m != nil {
			return nil, m
		}
		if p.token.kind == endToken {
			return nil, &mistake{open, "this parenthesis is never closed"}
		}
		if !p.token.sign(")") {
			return nil, p.unexpected(`write "and", "or" or a closing parenthesis here`)
		}
		return n, p.next()
	}
	return p.comparison()
}

// enter takes a token that opens something which can be nested.
func (p *parser) enter() (leave func(), m *mistake) {
	if p.depth == maxNesting {
		return nil, p.wrong("parentheses and nots may stand %d deep", maxNesting)
	}
	p.depth++
	return func() { p.depth-- }, p.next()
}

func (p *parser) comparison() (node, *mistake) {
	if p.comparisons == maxComparisons {
		return nil, p.wrong("there may be %d comparisons", maxComparisons)
	}
	p.comparisons++
	r, m := p.ref()
	if m != nil {
		return nil, m
	}
	c := comparison{ref: r}
	at := p.token.at
	if c.op, m = p.operator(); m != nil {
		return nil, m
	}
	var values []token
	if c.op == "in" {
		values, m = p.list()
	} else {
		values, m = p.value(nil)
	}
	if m != nil {
		return nil, m
	}
	return c, c.check(at, values)
}

func (p *parser) operator() (string, *mistake) {
	t := p.token
	switch {
	case t.kind == signToken && strings.ContainsAny(t.text, "=<>"):
		return t.text, p.next()
	case t.is("in"), t.is("contains"):
		return strings.ToLower(t.text), p.next()
	case t.is("not"):
		return "", p.wrong("write not before the comparison, as in: not tag in ('a', 'b')")
	case t.is("like"):
		return "", p.wrong("write contains to look for a part of a text")
	}
	return "", p.wrong("write one of = != < <= > >= contains in here")
}

// list reads values in parentheses.
func (p *parser) list() ([]token, *mistake) {
	if !p.token.sign("(") {
		return nil, p.wrong("a list of values in parentheses follows in")
	}
	if m := p.next(); m != nil {
		return nil, m
	}
	var values []token
	for {
		if len(values) == maxValues {
			return nil, p.wrong("a list may have %d values", maxValues)
		}
		var m *mistake
		if values, m = p.value(values); m != nil {
			return nil, m
		}
		switch {
		case p.token.sign(")"):
			return values, p.next()
		case !p.token.sign(","):
			return nil, p.wrong("write a comma or a closing parenthesis after the value")
		}
		if m := p.next(); m != nil {
			return nil, m
		}
	}
}

// value appends the value at hand to values: a text, a number, or one of the
// words for what a number can be besides.
func (p *parser) value(values []token) ([]token, *mistake) {
	t := p.token
	if t.sign("-") || t.sign("+") {
		if m := p.next(); m != nil {
			return nil, m
		}
		if number, ok := notFinite(p.token); !ok || number == "NaN" || p.token.kind != wordToken {
			return nil, p.wrong("a number follows a sign")
		}
		t.text += p.token.text
		t.kind = wordToken
	}
	_, special := notFinite(t)
	if t.kind != numberToken && t.kind != textToken && !special {
		if p.token.kind == wordToken {
			return nil, p.wrong("put a text in quotes, like '%s'", p.token.text)
		}
		return nil, p.wrong("write a number, or a text in quotes, here")
	}
	return append(values, t), p.next()
}
