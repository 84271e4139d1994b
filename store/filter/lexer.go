package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind int

const (
	endToken    tokenKind = iota
	wordToken             // name or keyword: param.lr, metric.`a b`.min, and
	numberToken           // number, such as -1.5e3
	textToken             // text in quotes: "adam", 'adam'
	signToken             // operator or punctuation: = != < <= > >= ~ ( ) , + -
	spanToken             // span of time, such as -1d or 1h30m
)

// token is a word, a number, text in quotes, or a sign of one or two characters.
type token struct {
	kind tokenKind
	at   int    // position of the first character, counted from 1
	text string // source text; for text in quotes, the text without the quotes

	// A word can have a part in backquotes, such as the "a b" in metric.`a b`.min. Then text is
	// "metric.", name is "a b" and tail is ".min".
	quoted bool
	name   string
	tail   string
}

// is reports whether t is the given keyword, ignoring case.
func (t token) is(keyword string) bool {
	return t.kind == wordToken && !t.quoted && strings.EqualFold(t.text, keyword)
}

// sign reports whether t is the given sign.
func (t token) sign(s string) bool { return t.kind == signToken && t.text == s }

func wrong(pos int, format string, args ...any) *Error {
	return &Error{Pos: pos, Message: fmt.Sprintf(format, args...)}
}

// lexer splits text into tokens.
type lexer struct {
	src []rune
	pos int
}

func newLexer(s string) (*lexer, *Error) {
	l := &lexer{src: []rune(s)}
	if len(l.src) > MaxLength {
		return nil, wrong(MaxLength+1, "it can have at most %d characters", MaxLength)
	}
	at := 1
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == 0 || r == utf8.RuneError && size == 1 {
			return nil, wrong(at, "it must be valid UTF-8 without a zero character")
		}
		at++
	}
	return l, nil
}

// peek returns the character n positions after l.pos, or 0 after the end of the text.
func (l *lexer) peek(n int) rune {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// startsName reports whether r can be the first character of a name without backquotes.
func startsName(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// continuesName reports whether a name without backquotes can contain r.
func continuesName(r rune) bool {
	return startsName(r) || r == '.' || r == '-' || r == '/' || unicode.IsDigit(r) || unicode.IsMark(r)
}

// next reads the next token. It returns an endToken at the end of the text.
func (l *lexer) next() (token, *Error) {
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

// replacements maps operators of other languages to advice on this language.
var replacements = map[string]string{
	"&": `write "and" for both, as in: name = 'a' and tag = 'b'`,
	"|": `write "or" for one of the two, as in: name = 'a' or tag = 'b'`,
	"!": `write "not" before a comparison, as in: not tag = 'a'`,
}

func (l *lexer) sign(t token) (token, *Error) {
	t.kind = signToken
	two := string(l.src[l.pos:min(l.pos+2, len(l.src))])
	switch two {
	case "!=", "<=", ">=":
		t.text = two
	case "==":
		return t, wrong(t.at, "write = for equal")
	case "<>":
		return t, wrong(t.at, "write != for not equal")
	case "=<", "=>":
		return t, wrong(t.at, "write %s=, with the = last", two[1:])
	case "=~", "!~":
		return t, wrong(t.at, "write ~ or contains to look for a part of a text")
	default:
		t.text = string(l.src[l.pos])
		if advice := replacements[t.text]; advice != "" {
			return t, wrong(t.at, "%s", advice)
		}
		if !strings.Contains("=<>~(),+-", t.text) {
			return t, wrong(t.at, "%q is unexpected here; put text in quotes and a name in backquotes", t.text)
		}
	}
	l.pos += len(t.text)
	return t, nil
}

// word reads a keyword or a name. A name can have a part in backquotes.
func (l *lexer) word(t token) (token, *Error) {
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
			return t, wrong(open, "this backquote is never closed")
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

// run reads a name without backquotes and returns it. run stops at the first character that
// such a name can't contain.
func (l *lexer) run() string {
	start := l.pos
	for continuesName(l.peek(0)) {
		l.pos++
	}
	return string(l.src[start:l.pos])
}

func (l *lexer) number(t token) (token, *Error) {
	if span := l.span(); span != "" {
		t.kind, t.text = spanToken, span
		l.pos += len(span)
		return t, nil
	}
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
		return t, wrong(l.pos+1, "a number ends before this; put text in quotes")
	}
	return t, nil
}

// span returns the span of time at the current position, such as 1h30m, or "" for none.
func (l *lexer) span() string {
	n := 0
	if r := l.peek(0); r == '-' || r == '+' {
		n++
	}
	for first := true; ; first = false {
		digits := n
		for isDigit(l.peek(n)) || l.peek(n) == '.' && isDigit(l.peek(n+1)) {
			n++
		}
		if n == digits {
			if first || continuesName(l.peek(n)) {
				return ""
			}
			return string(l.src[l.pos : l.pos+n])
		}
		if _, ok := spanUnits[l.peek(n)]; !ok {
			return ""
		}
		n++
	}
}

// quotedText reads text in single or double quotes. It replaces the escape sequences.
func (l *lexer) quotedText(t token) (token, *Error) {
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
			var err *Error
			if r, err = l.escape(); err != nil {
				return t, err
			}
		default:
			l.pos++
		}
		text.WriteRune(r)
	}
	return t, wrong(t.at, "this quote is never closed")
}

// escape reads one escape sequence and returns its character.
func (l *lexer) escape() (rune, *Error) {
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
	return 0, wrong(at, `after a backslash comes \, a quote, n, r, t, or u with four hexadecimal digits of a character`)
}
