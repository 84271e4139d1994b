package store

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// show writes a filter in full parentheses, so that a table can say how it was
// understood.
func show(n node) string {
	switch n := n.(type) {
	case nil:
		return ""
	case junction:
		var parts []string
		for _, p := range n.parts {
			parts = append(parts, show(p))
		}
		return "(" + strings.Join(parts, map[bool]string{false: " and ", true: " or "}[n.or]) + ")"
	case negation:
		return "not " + show(n.part)
	case comparison:
		var values []string
		for _, v := range n.values {
			values = append(values, showOperand(v))
		}
		return fmt.Sprintf("%s %s [%s]", showRef(n.ref), n.op, strings.Join(values, " "))
	}
	return fmt.Sprintf("%T", n)
}

func showRef(r ref) string {
	for word, f := range fields {
		if f == r.field && r.stat != "" {
			return fmt.Sprintf("%s{%s}%s", word, r.key, r.stat)
		} else if f == r.field && f == paramField {
			return fmt.Sprintf("%s{%s}", word, r.key)
		} else if f == r.field {
			return word
		}
	}
	return "?"
}

func showOperand(o operand) string {
	switch {
	case o.time != 0:
		return o.time.String()
	case o.isNumber:
		return fmt.Sprint(o.number)
	}
	return fmt.Sprintf("%q", o.text)
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
		n, m := parseFilter(c.filter, map[name]bool{})
		if m != nil {
			t.Errorf("%s: at character %d: %s", c.filter, m.at, m.text)
		} else if got := show(n); got != c.want {
			t.Errorf("%s: is understood as %s, want %s", c.filter, got, c.want)
		}
	}
}

func TestFilterIsRefusedWithAPosition(t *testing.T) {
	deep := strings.Repeat("(", maxNesting+1)
	for _, c := range []struct {
		filter string
		at     int
		text   string // a part of what is said
	}{
		{"lr = 1", 1, `"lr" is not known; write param.lr, metric.lr, tag`},
		{"  lr = 1", 3, `"lr" is not known`},
		{"größe = 1", 1, `"größe" is not known`},
		{"`lr` = 1", 1, "stands before a name"},
		{"param = 1", 1, "a dot and a name follow param"},
		{"metric = 1", 1, "a dot and a name follow metric"},
		{"param. = 1", 1, "a name follows the dot"},
		{"metric.`` = 1", 1, "a name follows the dot"},
		{"metric..min = 1", 1, "a name follows the dot"},
		{"metric.loss. = 1", 1, "a name that ends with a dot"},
		{"metric.loss.`min` = 1", 1, "the whole name in backquotes"},
		{"metric.`loss`.median = 1", 1, "one of .min .max"},
		{"param.`lr`.min = 1", 1, "nothing follows the name of a parameter"},
		{"status.x = 'RUNNING'", 1, "nothing follows status"},
		{"name.`x` = 'a'", 1, "nothing follows name"},
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
		{"param.opt =~ 'x'", 11, "write contains to look for"},
		{"param.opt ~ 'x'", 11, "write contains to look for"},
		{"param.lr =< 5", 10, "write <= with the = behind"},
		{"param.lr => 5", 10, "write >= with the = behind"},
		{"!(param.lr = 5)", 1, `write "not" before`},
		{"param.lr = 5 && tag = 'a'", 14, `write "and" for both`},
		{"param.lr = 5 & tag = 'a'", 14, `write "and" for both`},
		{"param.lr = 5 || tag = 'a'", 14, `write "or" for one of the two`},
		{"param.lr < 0,2", 13, "a decimal point, like 0.2, and no comma"},
		{"(param.lr < 0,2)", 14, "a decimal point, like 0.2, and no comma"},
		{"tag = 'a', tag = 'b'", 10, `write "and" or "or" before`},
		{"param.lr; drop", 9, "has no meaning here"},
		{"param.lr =", 11, "write a number, or a text in quotes, here"},
		{"param.lr = and", 12, "put a text in quotes, like 'and'"},
		{"param.lr = %s", 12, "has no meaning here"},
		{"param.opt = adam", 13, "put a text in quotes, like 'adam'"},
		{"status = RUNNING", 10, "put a text in quotes, like 'RUNNING'"},
		{"param.lr = - 5", 14, "a number follows a sign"},
		{"param.lr = -x", 13, "a number follows a sign"},
		{"param.lr = -nan", 13, "a number follows a sign"},
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

		{"metric.loss = 'low'", 15, "a metric is compared with a number"},
		{"metric.loss contains 1", 13, "contains is for texts"},
		{"metric.loss < NaN", 15, "NaN is neither less nor greater"},
		{"created contains '2026'", 9, "contains is for texts"},
		{"last_seen contains 'x'", 11, "contains is for texts"},
		{"last_seen > 5", 13, "write a time in quotes"},
		{"created > 5", 11, "write a time in quotes"},
		{"created > 'yesterday'", 11, "write a time in quotes"},
		{"created > '2026-13-01'", 11, "write a time in quotes"},
		{"ended in ('2026-11-21', 'x')", 25, "write a time in quotes"},
		{"duration > 'long'", 12, "write a number of seconds"},
		{"duration > NaN", 12, "write a number of seconds"},
		{"status = 'DONE'", 10, "a status is 'RUNNING'"},
		{"status < 'FAILED'", 8, "status is compared with"},
		{"status contains 'F'", 8, "status is compared with"},
		{"tag < 'a'", 5, "a tag is compared with"},
		{"tag = 5", 7, "put a text in quotes"},
		{"name = 5", 8, "put a text in quotes"},
		{"id = NaN", 6, "put a text in quotes"},
		{"param.x contains '" + strings.Repeat("a", maxContains+1) + "'", 18, "may have 1000 bytes"},

		{deep + "id = 'a'", maxNesting + 1, "may stand 50 deep"},
		{strings.Repeat("not ", maxNesting+1) + "id = 'a'", 4*maxNesting + 1, "may stand 50 deep"},
		{repeat("id = 'a'", " or ", maxComparisons+1), 12*maxComparisons + 1, "there may be 200 comparisons"},
		{"id in (" + repeat("'a'", ",", maxValues+1) + ")", 8 + 4*maxValues, "a list may have 1000 values"},
		{manyNames(maxNames + 1), len(manyNames(maxNames)) + 5, "may name 30 different"},
		{"id = '" + strings.Repeat("é", maxExpression) + "'", maxExpression + 1, "may have 16000 characters"},
		{"name = 'é\xff'", 10, "must be valid UTF-8"},
		{"name = 'é\x00'", 10, "must be valid UTF-8"},
	} {
		n, m := parseFilter(c.filter, map[name]bool{})
		switch {
		case m == nil:
			t.Errorf("%.60q: is understood as %s", c.filter, show(n))
		case m.at != c.at || !strings.Contains(m.text, c.text):
			t.Errorf("%.60q: at character %d: %s; want %d: …%s…", c.filter, m.at, m.text, c.at, c.text)
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

func TestSortAndColumnsAreRefusedWithAPosition(t *testing.T) {
	for _, c := range []struct {
		q     IterationQuery
		field string
		text  string
	}{
		{IterationQuery{Filter: "param.lr = "}, "filter", "filter is wrong at character 12: write a number, or a text in quotes, here."},
		{IterationQuery{Sort: "created,"}, "sort", "sort is wrong at character 9: write param.NAME"},
		{IterationQuery{Sort: "created desc"}, "sort", "sort is wrong at character 9: write a comma before the next name"},
		{IterationQuery{Sort: "created, --name"}, "sort", "sort is wrong at character 11: write param.NAME"},
		{IterationQuery{Sort: "-"}, "sort", "sort is wrong at character 2: write param.NAME"},
		{IterationQuery{Sort: "loss"}, "sort", `sort is wrong at character 1: "loss" is not known`},
		{IterationQuery{Sort: "+name"}, "sort", "sort is wrong at character 1: write param.NAME"},
		{IterationQuery{Sort: repeat("name", ",", maxSortKeys+1)}, "sort", "sort is wrong at character 51: there may be 10 names"},
		{IterationQuery{Filter: manyNames(maxNames), Sort: "metric.loss"}, "sort", "sort is wrong at character 1: filter and sort may name 30"},
		{IterationQuery{Columns: "param.lr, name"}, "columns", "columns is wrong at character 11: a column is param.NAME or metric.NAME"},
		{IterationQuery{Columns: "-param.lr"}, "columns", "columns is wrong at character 1: write param.NAME"},
		{IterationQuery{Columns: ","}, "columns", "columns is wrong at character 1: write param.NAME"},
		{IterationQuery{Columns: repeat("param.x", ",", maxColumns+1)}, "columns", "columns is wrong at character 1601: there may be 200 names"},
	} {
		_, err := parseSearch(c.q)
		e := AsError(err)
		if e == nil || e.Code != CodeInvalidPayload || e.Field != c.field || !strings.HasPrefix(e.Message, c.text) {
			t.Errorf("%.80v: %+v, want %s", c.q, e, c.text)
		}
	}
}

// TestDocumentedExamplesAreUnderstood reads the blocks of docs/search.md that
// are in no other language.
func TestDocumentedExamplesAreUnderstood(t *testing.T) {
	text, err := os.ReadFile("../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for i, block := range strings.Split(string(text), "```") {
		if i%2 == 0 || !strings.HasPrefix(block, "\n") || strings.Contains(block, "curl") {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			var q IterationQuery
			if s, ok := strings.CutPrefix(line, "sort="); ok {
				q.Sort = s
			} else if s, ok := strings.CutPrefix(line, "columns="); ok {
				q.Columns = s
			} else {
				q.Filter = strings.TrimPrefix(line, "filter=")
			}
			if _, err := parseSearch(q); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			tried++
		}
	}
	if tried < 10 {
		t.Errorf("only %d examples were found", tried)
	}
}
