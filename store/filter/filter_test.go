package filter

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// show returns e as text with all parentheses.
func show(e Expr) string {
	switch e := e.(type) {
	case nil:
		return ""
	case Junction:
		var parts []string
		for _, p := range e.Parts {
			parts = append(parts, show(p))
		}
		return "(" + strings.Join(parts, map[bool]string{false: " and ", true: " or "}[e.Or]) + ")"
	case Negation:
		return "not " + show(e.Part)
	case Comparison:
		var values []string
		for _, v := range e.Values {
			values = append(values, showLiteral(v))
		}
		return fmt.Sprintf("%s %s [%s]", showRef(e.Ref), e.Op, strings.Join(values, " "))
	}
	return fmt.Sprintf("%T", e)
}

func showRef(r Ref) string {
	for _, one := range fields {
		word, f := one.word, one.field
		if f == r.Field && r.Stat != "" {
			return fmt.Sprintf("%s{%s}%s", word, r.Name, r.Stat)
		} else if f == r.Field && f == Param {
			return fmt.Sprintf("%s{%s}", word, r.Name)
		} else if f == r.Field {
			return word
		}
	}
	return "?"
}

func showLiteral(v Literal) string {
	switch {
	case v.Time != 0:
		return v.Time.String()
	case v.IsNumber:
		return fmt.Sprint(v.Number)
	}
	return fmt.Sprintf("%q", v.Text)
}

func TestFilterIsUnderstood(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{"", ""},
		{" \t\n", ""},
		{"param.lr = 0.1", "param{lr} = [0.1]"},
		{"param.lr=0.1", "param{lr} = [0.1]"},
		{"param.lr != 'a'", `param{lr} != ["a"]`},
		{"param.lr<.5", "param{lr} < [0.5]"},
		{"param.lr <= 5.", "param{lr} <= [5]"},
		{"param.lr > +1E+3", "param{lr} > [1000]"},
		{"param.lr >= -1.5e-3", "param{lr} >= [-0.0015]"},
		{"param.lr = NaN", `param{lr} = ["NaN"]`},
		{"param.x contains 42", "param{x} contains [42]"},
		{"PARAM.LR = 1", "param{LR} = [1]"},
		{"param.a.b-c/d_2 = 1", "param{a.b-c/d_2} = [1]"},
		{"param.min = 1", "param{min} = [1]"},
		{"param.loss.min = 1", "param{loss.min} = [1]"},
		{"param.größe = 1", "param{größe} = [1]"},
		{"param.`a b` = 1", "param{a b} = [1]"},
		{"param.`a``b` = 1", "param{a`b} = [1]"},
		{"param.`and` = 1", "param{and} = [1]"},
		{"param.and = 1", "param{and} = [1]"},

		{"metric.loss < 1", "metric{loss}last < [1]"},
		{"metric.loss.min < 1", "metric{loss}min < [1]"},
		{"metric.loss.max < 1", "metric{loss}max < [1]"},
		{"metric.loss.mean < 1", "metric{loss}mean < [1]"},
		{"metric.loss.last < 1", "metric{loss}last < [1]"},
		{"metric.loss.count < 1", "metric{loss}count < [1]"},
		{"Metric.loss.MIN < 1", "metric{loss}min < [1]"},
		{"metric.min < 1", "metric{min}last < [1]"},
		{"metric.min.min < 1", "metric{min}min < [1]"},
		{"metric.loss.median < 1", "metric{loss.median}last < [1]"},
		{"metric.`loss.min` < 1", "metric{loss.min}last < [1]"},
		{"metric.`loss.min`.max < 1", "metric{loss.min}max < [1]"},
		{"metric.`a=b (c)`.count < 1", "metric{a=b (c)}count < [1]"},
		{"metric.loss = NaN", "metric{loss}last = [NaN]"},
		{"metric.loss in (1, nan, 'NaN', inf, -Infinity)", "metric{loss}last in [1 NaN NaN +Inf -Inf]"},
		{"metric.loss < Infinity", "metric{loss}last < [+Inf]"},
		{"metric.loss > -inf", "metric{loss}last > [-Inf]"},
		{"metric.loss > - inf", "metric{loss}last > [-Inf]"},
		{"metric.loss > '-Infinity'", "metric{loss}last > [-Inf]"},
		{"metric.val/acc>-1", "metric{val/acc}last > [-1]"},

		{`tag = "best"`, `tag = ["best"]`},
		{"tag contains 'b'", `tag contains ["b"]`},
		{"tag in ('a','b')", `tag in ["a" "b"]`},
		{"name >= 'm'", `name >= ["m"]`},
		{"id = 'x'", `id = ["x"]`},
		{"status = 'running'", `status = ["RUNNING"]`},
		{"status IN ('FAILED', 'killed')", `status in ["FAILED" "KILLED"]`},
		{"created >= '2026-11-21'", "created >= [2026-11-21T00:00:00.000Z]"},
		{"created < '2026-11-21T09:30:00+01:00'", "created < [2026-11-21T08:30:00.000Z]"},
		{"ended = '2026-11-21T09:30:00.5'", "ended = [2026-11-21T09:30:00.500Z]"},
		{"Last_Seen < '2026-11-21'", "last_seen < [2026-11-21T00:00:00.000Z]"},
		{"status in ('lost', 'failed')", `status in ["LOST" "FAILED"]`},
		{"duration > 90", "duration > [90]"},
		{"duration > '1h30m'", "duration > [5400]"},
		{"duration = '1.001s'", "duration = [1.001]"},

		{`name = 'it\'s "so"'`, `name = ["it's \"so\""]`},
		{`name = "it's \"so\" \\ \n\r\t\u00e9"`, `name = ["it's \"so\" \\ \n\r\té"]`},
		{"name = ''", `name = [""]`},

		{"id='a' and id='b' and id='c'", `(id = ["a"] and id = ["b"] and id = ["c"])`},
		{"id='a' or id='b' and id='c'", `(id = ["a"] or (id = ["b"] and id = ["c"]))`},
		{"(id='a' or id='b') and id='c'", `((id = ["a"] or id = ["b"]) and id = ["c"])`},
		{"not id='a' and id='b'", `(not id = ["a"] and id = ["b"])`},
		{"not (id='a' and id='b')", `not (id = ["a"] and id = ["b"])`},
		{"NOT not id='a'", `not not id = ["a"]`},
		{"((id='a'))", `id = ["a"]`},
		{"id='a'And(id='b')OR not(id='c')", `((id = ["a"] and id = ["b"]) or not id = ["c"])`},
	} {
		e, err := new(Parser).Filter(c.filter)
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
		} else if got := show(e); got != c.want {
			t.Errorf("%s: is understood as %s, want %s", c.filter, got, c.want)
		}
	}
}

func TestFilterIsRefusedWithAPosition(t *testing.T) {
	deep := strings.Repeat("(", MaxNesting+1)
	for _, c := range []struct {
		filter string
		pos    int
		text   string // a part of the message
	}{
		{"lr = 1", 1, `"lr" is not known; write param.lr, metric.lr, tag`},
		{"  lr = 1", 3, `"lr" is not known`},
		{"größe = 1", 1, `"größe" is not known`},
		{"`lr` = 1", 1, "before a name in backquotes"},
		{"param = 1", 1, "a dot and a name after param"},
		{"metric = 1", 1, "a dot and a name after metric"},
		{"param. = 1", 1, "write a name after the dot"},
		{"metric.`` = 1", 1, "write a name after the dot"},
		{"metric..min = 1", 1, "write a name after the dot"},
		{"metric.loss. = 1", 1, "a name that ends with a dot"},
		{"metric.loss.`min` = 1", 1, "the whole name in backquotes"},
		{"metric.`loss`.median = 1", 1, "write .min .max"},
		{"param.`lr`.min = 1", 1, "remove the dot and the text after the name of the parameter"},
		{"status.x = 'RUNNING'", 1, "write status alone"},
		{"name.`x` = 'a'", 1, "write name alone"},
		{"param.`lr = 1", 7, "this backquote is never closed"},
		{"5 = param.lr", 1, "write param.NAME"},
		{"= 1", 1, "write param.NAME"},
		{"and", 1, `"and" is not known`},
		{"not", 4, "write param.NAME"},
		{"id = 'a' and", 13, "write param.NAME"},
		{"id = 'a' and or id = 'b'", 14, `"or" is not known`},

		{"param.lr", 9, "write one of = !="},
		{"param.lr 5", 10, "write one of = !="},
		{"param.lr ( 5", 10, "write one of = !="},
		{"param.lr == 5", 10, "write = for equal"},
		{"param.lr <> 5", 10, "write != for not equal"},
		{"param.lr ! 5", 10, `write "not" before a comparison`},
		{"param.lr not in (5)", 10, "write not before the comparison"},
		{"param.lr like 'x'", 10, "write contains to look for"},
		{"param.lr is 5", 10, "write one of = !="},
		{"param.opt =~ 'x'", 11, "write ~ or contains to look for"},
		{"param.lr =< 5", 10, "write <=, with the = last"},
		{"param.lr => 5", 10, "write >=, with the = last"},
		{"!(param.lr = 5)", 1, `write "not" before`},
		{"param.lr = 5 && tag = 'a'", 14, `write "and" for both`},
		{"param.lr = 5 & tag = 'a'", 14, `write "and" for both`},
		{"param.lr = 5 || tag = 'a'", 14, `write "or" for one of the two`},
		{"param.lr < 0,2", 13, "a decimal point, like 0.2, without a comma"},
		{"(param.lr < 0,2)", 14, "a decimal point, like 0.2, without a comma"},
		{"tag = 'a', tag = 'b'", 10, `write "and" or "or" before`},
		{"param.lr; drop", 9, "is unexpected here"},
		{"param.lr =", 11, "write a number, or a text in quotes, here"},
		{"param.lr = and", 12, "put text in quotes, like 'and'"},
		{"param.lr = %s", 12, "is unexpected here"},
		{"param.opt = adam", 13, "put text in quotes, like 'adam'"},
		{"status = RUNNING", 10, "put text in quotes, like 'RUNNING'"},
		{"param.lr = - 5", 14, "write a number after a sign"},
		{"param.lr = -x", 13, "write a number after a sign"},
		{"param.lr = -nan", 13, "write a number after a sign"},
		{"param.lr = 5x", 13, "a number ends before this"},
		{"param.lr = 1.2.3", 15, "a number ends before this"},
		{"param.lr = 1e", 13, "a number ends before this"},
		{"id = 0192d3f4-5b6c", 10, "a number ends before this"},
		{"param.lr = 1e999", 12, "too large for a double"},
		{"name = 'abc", 8, "this quote is never closed"},
		{`name = "abc'`, 8, "this quote is never closed"},
		{`name = 'é\x'`, 10, "after a backslash"},
		{`name = '\u12'`, 9, "after a backslash"},
		{`name = '\ud800'`, 9, "after a backslash"},
		{`name = '\u0000'`, 9, "after a backslash"},
		{`name = '\`, 9, "after a backslash"},

		{"param.lr in 5", 13, "a list of values in parentheses"},
		{"param.lr in ()", 14, "write a number, or a text in quotes, here"},
		{"param.lr in (1 2)", 16, "write a comma or a closing parenthesis"},
		{"param.lr in (1,)", 16, "write a number, or a text in quotes, here"},
		{"param.lr in (1", 15, "write a comma or a closing parenthesis"},
		{"param.lr in (1, 'a)", 17, "this quote is never closed"},
		{"(id = 'a'", 1, "this parenthesis is never closed"},
		{"id = 'ä' and (id = 'b' id", 24, `write "and", "or" or a closing parenthesis`},
		{"id = 'a')", 9, `write "and" or "or" before`},
		{"id = 'a' id = 'b'", 10, `write "and" or "or" before`},
		{"id = 'a' 'b'", 10, `write "and" or "or" before`},

		{"metric.loss = 'low'", 15, "compare a metric with a number"},
		{"metric.loss contains 1", 13, "contains works with text only"},
		{"metric.loss < NaN", 15, "NaN is neither less nor greater"},
		{"created contains '2026'", 9, "contains works with text only"},
		{"last_seen contains 'x'", 11, "contains works with text only"},
		{"last_seen > 5", 13, "write a time in quotes"},
		{"created > 5", 11, "write a time in quotes"},
		{"created > 'yesterday'", 11, "write a time in quotes"},
		{"created > '2026-13-01'", 11, "write a time in quotes"},
		{"ended in ('2026-11-21', 'x')", 25, "write a time in quotes"},
		{"duration > 'long'", 12, "write a number of seconds"},
		{"duration > NaN", 12, "write a number of seconds"},
		{"status = 'DONE'", 10, "write 'RUNNING'"},
		{"status < 'FAILED'", 8, "compare status with"},
		{"status contains 'F'", 8, "compare status with"},
		{"tag < 'a'", 5, "compare a tag with"},
		{"tag = 5", 7, "put text in quotes"},
		{"name = 5", 8, "put text in quotes"},
		{"id = NaN", 6, "put text in quotes"},
		{"param.x contains '" + strings.Repeat("a", MaxContains+1) + "'", 18, "can have at most 1000 bytes"},

		{deep + "id = 'a'", MaxNesting + 1, "can be nested at most 50 levels deep"},
		{strings.Repeat("not ", MaxNesting+1) + "id = 'a'", 4*MaxNesting + 1, "can be nested at most 50 levels deep"},
		{repeat("id = 'a'", " or ", MaxComparisons+1), 12*MaxComparisons + 1, "at most 200 comparisons are allowed"},
		{"id in (" + repeat("'a'", ",", MaxValues+1) + ")", 8 + 4*MaxValues, "a list can have at most 1000 values"},
		{manyNames(MaxKeys + 1), len(manyNames(MaxKeys)) + 5, "can name at most 30 different"},
		{"id = '" + strings.Repeat("é", MaxLength) + "'", MaxLength + 1, "can have at most 16000 characters"},
		{"name = 'é\xff'", 10, "must be valid UTF-8"},
		{"name = 'é\x00'", 10, "must be valid UTF-8"},
	} {
		e, err := new(Parser).Filter(c.filter)
		var refused *Error
		switch {
		case err == nil:
			t.Errorf("%.60q: is understood as %s", c.filter, show(e))
		case !errors.As(err, &refused) || refused.Pos != c.pos || !strings.Contains(refused.Message, c.text):
			t.Errorf("%.60q: %v; want %d: …%s…", c.filter, err, c.pos, c.text)
		}
	}
}

func repeat(s, separator string, n int) string {
	return strings.Repeat(s+separator, n-1) + s
}

// manyNames is a filter on n different parameters.
func manyNames(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("param.p%d = 1", i))
	}
	return strings.Join(all, " or ")
}

// TestDocumentedExamplesAreUnderstood parses the code blocks of docs/search.md that are not
// in another language.
func TestDocumentedExamplesAreUnderstood(t *testing.T) {
	text, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for i, block := range strings.Split(string(text), "```") {
		if i%2 == 0 || !strings.HasPrefix(block, "\n") || strings.Contains(block, "curl") {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			var p Parser
			var err error
			if s, ok := strings.CutPrefix(line, "sort="); ok {
				_, err = p.Sort(s)
			} else if s, ok := strings.CutPrefix(line, "columns="); ok {
				_, err = p.Columns(s)
			} else {
				_, err = p.Filter(strings.TrimPrefix(line, "filter="))
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			tried++
		}
	}
	if tried < 10 {
		t.Errorf("only %d examples were found", tried)
	}
}

// FuzzParse checks that the parser does not panic, that the position of every error is in the
// text or directly after it, that an accepted expression is within the limits, and that the
// allocated memory is proportional to the length of the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"param.lr = 0.1 and metric.loss.min < 1", "-metric.loss, name", "param.lr, metric.loss.max", "param.`x`, tag",
		"not (tag in ('a', \"b\") or metric.`a``b` != NaN)", "created >= '2026-11-21' and duration < '1h' or status = 'lost'",
		`name contains 'é\u00e9%_*[' or param.x in (1, -2.5e3, 'x')`, "param.x = - inf", "a\xff", strings.Repeat("not ", 60),
		"lr < 0.01 and val/loss.min < .3", "created > 2 weeks ago or duration > 30 minutes", "both = 1", "`batch size` ~ '3'", "ended in (yesterday, 1d ago)",
	} {
		f.Add(text)
	}
	for _, part := range []string{"(", "not ", "a.`", "param.x = 1 and ", "param.x in ('a', ", `"\u00e9`, ",", "\xff", "1"} {
		f.Add(strings.Repeat(part, 20_000/len(part)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := Parser{Known: knownOf}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e, filterErr := p.Filter(text)
		_, sortErr := p.Sort(text)
		_, columnsErr := p.Columns(text)
		_, groupErr := p.Group(text)
		runtime.ReadMemStats(&after)
		// A parser that does more than linear work would also allocate too much.
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(text))*200+256<<10 {
			t.Errorf("%d bytes allocate %d", len(text), took)
		}
		for part, err := range map[string]error{"filter": filterErr, "sort": sortErr, "columns": columnsErr, "group": groupErr} {
			var refused *Error
			if err == nil {
				continue
			}
			if !errors.As(err, &refused) || refused.Part != part || refused.Message == "" ||
				refused.Pos < 1 || refused.Pos > len([]rune(text))+1 {
				t.Errorf("%s %q: %v", part, text, err)
			}
		}
		if comparisons, depth := size(e); comparisons > MaxComparisons || depth > 2*MaxNesting+3 || len(p.Keys()) > MaxKeys {
			t.Errorf("%q: %d comparisons, %d deep, %d keys", text, comparisons, depth, len(p.Keys()))
		}
	})
}

// size returns the number of comparisons in e, and its depth.
func size(e Expr) (comparisons, depth int) {
	switch e := e.(type) {
	case Comparison:
		return 1, 1
	case Negation:
		n, d := size(e.Part)
		return n, d + 1
	case Junction:
		for _, p := range e.Parts {
			n, d := size(p)
			comparisons, depth = comparisons+n, max(depth, d+1)
		}
	}
	return comparisons, depth
}

// TestRelativeTimes checks times that refer to the time of the search, spans without quotes, and
// the short form of contains.
func TestRelativeTimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"created > -1d":         now.AddDate(0, 0, -1),
		"created > 1h":          now.Add(-time.Hour),
		"ended < 1h30m":         now.Add(-90 * time.Minute),
		"last_seen >= 2w":       now.AddDate(0, 0, -14),
		"created > 2 weeks":     now.AddDate(0, 0, -14),
		"created > -1 Day":      now.AddDate(0, 0, -1),
		"ended < 1.5 hours ago": now.Add(-90 * time.Minute),
		"created > 1d ago":      now.AddDate(0, 0, -1),
		"created > 2 months":    {},
		"created > 2 `weeks`":   {},
		"created > today ago":   {},
		"created >= yesterday":  time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		"created >= Today":      time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		"created > '2026-11-1'": {},
	} {
		p := Parser{Now: now}
		e, err := p.Filter(text)
		if want.IsZero() {
			if err == nil {
				t.Errorf("%s is accepted", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := e.(Comparison).Values[0].Time.Time(); !got.Equal(want) {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
	var p Parser
	e, err := p.Filter("duration > 1h30m and param.opt ~ 'adam'")
	if err != nil {
		t.Fatal(err)
	}
	parts := e.(Junction).Parts
	if d := parts[0].(Comparison).Values[0]; d.Number != 5400 {
		t.Errorf("1h30m is %v seconds", d.Number)
	}
	if e, err := p.Filter("duration > 30 minutes"); err != nil || e.(Comparison).Values[0].Number != 1800 {
		t.Errorf("30 minutes: %v, %v", e, err)
	}
	if op := parts[1].(Comparison).Op; op != "contains" {
		t.Errorf("~ is %s", op)
	}
	for _, text := range []string{"param.lr = 1h", "param.lr = today", "metric.loss < 5m", "param.lr = 2 weeks", "metric.loss < 5 minutes", "created > 1e3 hours", "name = yesterday", "created > 1x", "created > 9999999w"} {
		if _, err := p.Filter(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// knownOf reports whether a run of TestBareNames has the key.
func knownOf(k Key) bool {
	switch k {
	case Key{Param, "lr"}, Key{Param, "batch size"}, Key{Param, "a.min"}, Key{Param, "both"},
		Key{Metric, "both"}, Key{Metric, "val/loss"}, Key{Metric, "a b"}, Key{Metric, "minutes"}, Key{Metric, "odd.min"}:
		return true
	}
	return false
}

// TestBareNames checks names of parameters and metrics without param. or metric. before them.
func TestBareNames(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{"lr < 0.01", "param{lr} < [0.01]"},
		{"val/loss < 0.3", "metric{val/loss}last < [0.3]"},
		{"val/loss.min < 0.3 and not lr = 'a'", `(metric{val/loss}min < [0.3] and not param{lr} = ["a"])`},
		{"VAL/loss < 1 or tag = 'x'", `"VAL/loss" is not known; write param.VAL/loss, metric.VAL/loss, tag`},
		{"`batch size` = 32", "param{batch size} = [32]"},
		{"`a b`.max > 1", "metric{a b}max > [1]"},
		{"`odd.min` > 1", "metric{odd.min}last > [1]"},
		{"a.min = 1", "param{a.min} = [1]"},
		{"minutes > 1", "metric{minutes}last > [1]"},
		{"created > 2 weeks and minutes > 1", ""},
		{"both = 1", "both is a parameter and a metric; write param.both or metric.both"},
		{"param.both = 1 and metric.both = 1", "(param{both} = [1] and metric{both}last = [1])"},
		{"both.max = 1", "metric{both}max = [1]"},
		{"nothing = 1", `"nothing" is not known`},
		{"val/loss contains 'x'", "contains works with text only"},
		{"val/loss < 'x'", "compare a metric with a number"},
		{"lr.`x` = 1", `"lr" is not known`},
		{"status.x = 1", "write status alone"},
		{"and = 1", `"and" is not known`},
		{"lr < 1 and lr", "write one of = !="},
		{"lr", `anytext contains ["lr"]`},
		{"lr adam", `(anytext contains ["lr"] and anytext contains ["adam"])`},
	} {
		e, err := (&Parser{Known: knownOf}).Filter(c.filter)
		got := strings.ReplaceAll(show(e), "?", "anytext")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.filter, got, c.want)
		}
	}
	for _, text := range []string{"lr", "-val/loss"} {
		if _, err := (&Parser{Known: knownOf}).Sort(text); err == nil {
			t.Errorf("sort %s is accepted", text)
		}
	}
}
