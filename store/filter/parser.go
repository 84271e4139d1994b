package filter

import (
	"strings"
	"time"
)

// parser is a recursive-descent parser for one part of a search. It looks one token ahead.
type parser struct {
	lexer       *lexer
	token       token
	before      token // token before the current token
	depth       int
	comparisons int
	bare        bool    // whether a parameter or metric can be written without its kind
	search      *Parser // records the keys; nil to record no keys
}

func newParser(text string, search *Parser) (*parser, *Error) {
	l, err := newLexer(text)
	if err != nil {
		return nil, err
	}
	p := &parser{lexer: l, search: search}
	return p, p.next()
}

// now returns the time to which relative times refer.
func (p *parser) now() time.Time {
	if p.search != nil && !p.search.Now.IsZero() {
		return p.search.Now
	}
	return time.Now()
}

func (p *parser) next() (err *Error) {
	p.before = p.token
	p.token, err = p.lexer.next()
	return err
}

// wrong returns an error at the current token.
func (p *parser) wrong(format string, args ...any) *Error {
	return wrong(p.token.at, format, args...)
}

// unexpected returns an error about a token that can't follow a comparison. The message is
// advice. If the token is a decimal comma, the message explains decimal points.
func (p *parser) unexpected(advice string) *Error {
	if p.token.sign(",") && p.before.kind == numberToken {
		return p.wrong("write a number with a decimal point, like 0.2, without a comma")
	}
	return p.wrong("%s", advice)
}

func parseFilter(text string, search *Parser) (Expr, *Error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	p, err := newParser(text, search)
	if err != nil {
		return nil, err
	}
	p.bare = search.Known != nil
	e, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if p.token.kind != endToken {
		return nil, p.unexpected(`write "and" or "or" before the next comparison, or end here`)
	}
	return e, nil
}

// disjunction reads one or more conjunctions, separated by the keyword "or".
func (p *parser) disjunction() (Expr, *Error) { return p.junction("or", p.conjunction) }

// conjunction reads one or more conditions, separated by the keyword "and".
func (p *parser) conjunction() (Expr, *Error) { return p.junction("and", p.condition) }

func (p *parser) junction(keyword string, part func() (Expr, *Error)) (Expr, *Error) {
	e, err := part()
	if err != nil || !p.token.is(keyword) {
		return e, err
	}
	j := Junction{Or: keyword == "or", Parts: []Expr{e}}
	for p.token.is(keyword) {
		if err := p.next(); err != nil {
			return nil, err
		}
		e, err := part()
		if err != nil {
			return nil, err
		}
		j.Parts = append(j.Parts, e)
	}
	return j, nil
}

// condition reads a comparison, a negation, or an expression in parentheses.
func (p *parser) condition() (Expr, *Error) {
	switch {
	case p.token.is("not"):
		leave, err := p.enter()
		if err != nil {
			return nil, err
		}
		defer leave()
		e, err := p.condition()
		return Negation{e}, err
	case p.token.sign("("):
		open := p.token.at
		leave, err := p.enter()
		if err != nil {
			return nil, err
		}
		defer leave()
		e, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		if p.token.kind == endToken {
			return nil, wrong(open, "this parenthesis is never closed")
		}
		if !p.token.sign(")") {
			return nil, p.unexpected(`write "and", "or" or a closing parenthesis here`)
		}
		return e, p.next()
	}
	return p.comparison()
}

// enter reads the first token of a nested expression. At the end of the expression, the caller
// must call leave.
func (p *parser) enter() (leave func(), err *Error) {
	if p.depth == MaxNesting {
		return nil, p.wrong("parentheses and nots can be nested at most %d levels deep", MaxNesting)
	}
	p.depth++
	return func() { p.depth-- }, p.next()
}

func (p *parser) comparison() (Expr, *Error) {
	if p.comparisons == MaxComparisons {
		return nil, p.wrong("at most %d comparisons are allowed", MaxComparisons)
	}
	p.comparisons++
	r, err := p.ref()
	if err != nil {
		return nil, err
	}
	c := Comparison{Ref: r}
	at := p.token.at
	if c.Op, err = p.operator(); err != nil {
		return nil, err
	}
	var values []token
	if c.Op == "in" {
		values, err = p.list()
	} else {
		values, err = p.value(nil)
	}
	if err != nil {
		return nil, err
	}
	return c, c.check(at, values, p.now())
}

func (p *parser) operator() (string, *Error) {
	t := p.token
	switch {
	case t.kind == signToken && strings.ContainsAny(t.text, "=<>"):
		return t.text, p.next()
	case t.sign("~"):
		return "contains", p.next()
	case t.is("in"), t.is("contains"):
		return strings.ToLower(t.text), p.next()
	case t.is("not"):
		return "", p.wrong("write not before the comparison, as in: not tag in ('a', 'b')")
	case t.is("like"):
		return "", p.wrong("write contains to look for a part of a text")
	}
	return "", p.wrong("write one of = != < <= > >= ~ contains in here")
}

// list reads a list of values in parentheses.
func (p *parser) list() ([]token, *Error) {
	if !p.token.sign("(") {
		return nil, p.wrong("write a list of values in parentheses after in")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	var values []token
	for {
		if len(values) == MaxValues {
			return nil, p.wrong("a list can have at most %d values", MaxValues)
		}
		var err *Error
		if values, err = p.value(values); err != nil {
			return nil, err
		}
		switch {
		case p.token.sign(")"):
			return values, p.next()
		case !p.token.sign(","):
			return nil, p.wrong("write a comma or a closing parenthesis after the value")
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
}

// value reads one value and appends it to values. A value is text in quotes, a number, a span of
// time, today, yesterday, or a word for NaN or an infinity.
func (p *parser) value(values []token) ([]token, *Error) {
	t := p.token
	if t.sign("-") || t.sign("+") {
		if err := p.next(); err != nil {
			return nil, err
		}
		if number, ok := notFinite(p.token); !ok || number == "NaN" || p.token.kind != wordToken {
			return nil, p.wrong("write a number after a sign")
		}
		t.text += p.token.text
		t.kind = wordToken
	}
	_, special := notFinite(t)
	if t.kind != numberToken && t.kind != textToken && t.kind != spanToken && !special && !isDay(t) {
		if p.token.kind == wordToken {
			return nil, p.wrong("put text in quotes, like '%s'", p.token.text)
		}
		return nil, p.wrong("write a number, or a text in quotes, here")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if unit := unitOf(p.token); unit != "" && t.kind == numberToken {
		t.kind, t.text = spanToken, t.text+unit
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if t.kind == spanToken && p.token.is("ago") {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	return append(values, t), nil
}
