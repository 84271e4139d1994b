package store

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells the words of the search language apart.
type tokenKind int

const (
	endToken    tokenKind = iota
	wordToken             // a name or a keyword: param.lr, metric.`a b`.min, and
	numberToken           // -1.5e3
	textToken             // "adam", 'adam'
	signToken             // = != < <= > >= ( ) , + -
)

// token is one word of an expression.
type token struct {
	kind tokenKind
	at   int    // its first character, counted from 1
	text string // as written; of a text what the quotes hold

	// A word may have a part in backquotes: metric.`a b`.min is the text
	// "metric.", the name "a b" and the tail ".min".
	quoted bool
	name   string
	tail   string
}

// is tells whether t is this keyword, in any case.
func (t token) is(keyword string) bool {
	return t.kind == wordToken && !t.quoted && strings.EqualFold(t.text, keyword)
}

// sign tells whether t is this sign.
func (t token) sign(s string) bool { return t.kind == signToken && t.text == s }

// mistake is what is wrong with an expression, and where. The text goes on
// from a colon and says what to do.
type mistake struct {
	at   int
	text string
}

func (m *mistake) Error() string { return m.text }

// of makes the error that callers see; field is filter, sort or columns.
func (m *mistake) of(field string) error {
	return Invalid(field, "%s is wrong at character %d: %s.", field, m.at, m.text)
}

// lexer cuts an expression into tokens.
type lexer struct {
	src []rune
	pos int
}

// maxExpression bounds the length of an expression, in characters.
const maxExpression = 16_000

func newLexer(s string) (*lexer, *mistake) {
	l := &lexer{src: []rune(s)}
	if len(l.src) > maxExpression {
		return nil, &mistake{maxExpression + 1, fmt.Sprintf("it may have %d characters", maxExpression)}
	}
	at := 1
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == 0 || r == utf8.RuneError && size == 1 {
			return nil, &mistake{at, "it must be valid UTF-8 without a zero character"}
		}
		at++
	}
	return l, nil
}

// peek returns the character n further on, 0 behind the end.
func (l *lexer) peek(n int) rune {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// startsName and continuesName are the characters of a name without
// backquotes.
func startsName(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func continuesName(r rune) bool {
	return startsName(r) || r == '.' || r == '-' || r == '/' || unicode.IsDigit(r) || unicode.IsMark(r)
}

// next returns the next token.
func (l *lexer) next() (token, *mistake) {
	for unicode.IsSpace(l.peek(0)) {
		l.pos++
	}
	t := token{at: l.pos + 1}
	if l.pos == len(l.src) {
		return t, nil
	}
	switch r := l.peek(0); {
	case startsName(r) || r == '`':
		return l.word(t)
	case r == '"' || r == '\'':
		return l.quotedText(t)
	case isDigit(r) || r == '.' && isDigit(l.peek(1)),
		(r == '+' || r == '-') && (isDigit(l.peek(1)) || l.peek(1) == '.' && isDigit(l.peek(2))):
		return l.number(t)
	}
	return l.sign(t)
}

// words are what to write for signs of other languages.
var words = map[string]string{
	"&": `write "and" for both, as in: name = 'a' and tag = 'b'`,
	"|": `write "or" for one of the two, as in: name = 'a' or tag = 'b'`,
	"!": `write "not" before a comparison, as in: not tag = 'a'`,
	"~": `write contains to look for a part of a text`,
}

func (l *lexer) sign(t token) (token, *mistake) {
	t.kind = signToken
	two := string(l.src[l.pos:min(l.pos+2, len(l.src))])
	switch two {
	case "!=", "<=", ">=":
		t.text = two
	case "==":
		return t, &mistake{t.at, "write = for equal"}
	case "<>":
		return t, &mistake{t.at, "write != for not equal"}
	case "=<", "=>":
		return t, &mistake{t.at, "write " + two[1:] + "= with the = behind"}
	case "=~", "!~":
		return t, &mistake{t.at, "write contains to look for a part of a text"}
	default:
		t.text = string(l.src[l.pos])
		if word := words[t.text]; word != "" {
			return t, &mistake{t.at, word}
		}
		if !strings.Contains("=<>(),+-", t.text) {
			return t, &mistake{t.at, strconv.Quote(t.text) + " has no meaning here; put a text in quotes and a name in backquotes"}
		}
	}
	l.pos += len(t.text)
	return t, nil
}

// word reads a name or a keyword.
func (l *lexer) word(t token) (token, *mistake) {
	t.kind = wordToken
	t.text = l.run()
	if l.peek(0) != '`' || t.text != "" && !strings.HasSuffix(t.text, ".") {
		return t, nil
	}
	t.quoted = true
	open := l.pos + 1
	l.pos++
	var name strings.Builder
	for {
		r := l.peek(0)
		switch {
		case l.pos == len(l.src):
			return t, &mistake{open, "this backquote is never closed"}
		case r == '`' && l.peek(1) == '`':
			l.pos++
		case r == '`':
			l.pos++
			t.name = name.String()
			if l.peek(0) == '.' {
				t.tail = l.run()
			}
			return t, nil
		}
		name.WriteRune(r)
		l.pos++
	}
}

// run reads the characters of a name.
func (l *lexer) run() string {
	start := l.pos
	for continuesName(l.peek(0)) {
		l.pos++
	}
	return string(l.src[start:l.pos])
}

func (l *lexer) number(t token) (token, *mistake) {
	t.kind = numberToken
	start := l.pos
	digits := func() {
		for isDigit(l.peek(0)) {
			l.pos++
		}
	}
	if !isDigit(l.peek(0)) && l.peek(0) != '.' {
		l.pos++
	}
	digits()
	if l.peek(0) == '.' {
		l.pos++
		digits()
	}
	if l.peek(0) == 'e' || l.peek(0) == 'E' {
		n := 1
		if l.peek(1) == '+' || l.peek(1) == '-' {
			n = 2
		}
		if isDigit(l.peek(n)) {
			l.pos += n
			digits()
		}
	}
	t.text = string(l.src[start:l.pos])
	if r := l.peek(0); continuesName(r) || strings.ContainsRune("\"'`", r) && r != 0 {
		return t, &mistake{l.pos + 1, "a number ends before this; put a text in quotes"}
	}
	return t, nil
}

// quotedText reads a text in single or double quotes.
func (l *lexer) quotedText(t token) (token, *mistake) {
	t.kind = textToken
	quote := l.peek(0)
	l.pos++
	var text strings.Builder
	for l.pos < len(l.src) {
		r := l.peek(0)
		switch r {
		case quote:
			l.pos++
			t.text = text.String()
			return t, nil
		case '\\':
			var m *mistake
			if r, m = l.escape(); m != nil {
				return t, m
			}
		default:
			l.pos++
		}
		text.WriteRune(r)
	}
	return t, &mistake{t.at, "this quote is never closed"}
}

// escape reads a backslash and what follows it.
func (l *lexer) escape() (rune, *mistake) {
	at := l.pos + 1
	r := l.peek(1)
	l.pos = min(l.pos+2, len(l.src))
	switch r {
	case '\\', '"', '\'':
		return r, nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		end := min(l.pos+4, len(l.src))
		n, err := strconv.ParseUint(string(l.src[l.pos:end]), 16, 16)
		if err == nil && end == l.pos+4 && n != 0 && utf8.ValidRune(rune(n)) {
			l.pos = end
			return rune(n), nil
		}
	}
	return 0, &mistake{at, `after a backslash comes \, a quote, n, r, t, or u with four hexadecimal digits of a character`}
}
