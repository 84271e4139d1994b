package table

import (
	"math"
	"strings"
	"testing"

	"tracker/store/goal"
	"tracker/store/scalar"
)

func mean(v, sd float64, n int) Cell {
	c := Cell{Known: true, Value: scalar.Value(v), N: n}
	if n > 1 {
		c.SD = new(scalar.Value(sd))
	}
	return c
}

func TestNumerals(t *testing.T) {
	for _, c := range []struct {
		cell  Cell
		words string
		latex string
	}{
		{Cell{Known: true, Value: 0.123456789}, "0.12346", "$0.12346$"},
		{Cell{Known: true, Value: 3e-7}, "3e-7", `$3 \times 10^{-7}$`},
		{Cell{Known: true, Value: -12}, "-12", "$-12$"},
		{Cell{Known: true, Value: scalar.Value(math.NaN())}, "NaN", `$\mathrm{NaN}$`},
		{Cell{Known: true, Value: scalar.Value(math.Inf(-1))}, "-Infinity", `$-\infty$`},
		{mean(0.12345, 0.00678, 3), "0.1235 ± 0.0068", `$0.1235 \pm 0.0068$`},
		{mean(0.5, 0.0996, 3), "0.50 ± 0.10", `$0.50 \pm 0.10$`},
		{mean(91.237, 1.234, 3), "91.2 ± 1.2", `$91.2 \pm 1.2$`},
		{mean(1234.5, 120, 3), "1234 ± 120", `$1234 \pm 120$`},
		{mean(1.25e-6, 3e-7, 3), "(1.25 ± 0.30)e-6", `$(1.25 \pm 0.30) \times 10^{-6}$`},
		{mean(2e300, 1e299, 2), "(2.00 ± 0.10)e300", `$(2.00 \pm 0.10) \times 10^{300}$`},
		{mean(5e-324, 5e-324, 2), "", ""}, // any text, but no failure
		{mean(0.25, 0, 2), "0.25 ± 0", `$0.25 \pm 0$`},
		{mean(0.25, 0, 1), "0.25", "$0.25$"},
		{Cell{Text: "-0.5"}, "-0.5", "$-0.5$"},
		{Cell{Text: "-v", Best: true}, "-v", `\textbf{-v}`},
		{Cell{Text: "adam_w"}, "adam_w", `adam\_w`},
		{Cell{}, "", ""},
	} {
		words, latex := c.cell.Words(), c.cell.latex()
		if c.words == "" && c.cell.Known {
			if strings.Contains(words, "NaN") || strings.Contains(words, "Inf") {
				t.Errorf("%v is %q", c.cell.Value, words)
			}
			continue
		}
		if words != c.words || latex != c.latex {
			t.Errorf("%v: %q and %q, want %q and %q", c.cell, words, latex, c.words, c.latex)
		}
	}
}

func TestLaTeXEscapes(t *testing.T) {
	for text, want := range map[string]string{
		`50% of $x_1^2$ & #3 {a} ~ \b`: `50\% of \$x\_1\textasciicircum{}2\$ \& \#3 \{a\} \textasciitilde{} \textbackslash{}b`,
		"<a|b>":                        `\textless{}a\textbar{}b\textgreater{}`,
		"[0.1] *":                      "{[}0.1{]} {*}", // otherwise an argument of the \\ before it
		"--flag 'a''b' `c`":            "-{}-flag 'a'{}'b' \\textasciigrave{}c\\textasciigrave{}",
		"a\tb\nc":                      "a b c",
		"größe":                        "größe",
		"0.1 ± 0.2":                    `0.1 $\pm$ 0.2`,
	} {
		if got := EscapeLaTeX(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func example(groups bool) Table {
	t := Table{Labels: []string{"Name"}, Heads: []Head{{Name: "lr"}, {Name: "val/loss", Number: true, Goal: goal.Minimize}, {Name: "time", Number: true}}, Total: 3}
	if groups {
		t = Table{Labels: []string{"opt_1", "tag"}, Groups: true, Heads: []Head{{Name: "val/acc", Number: true, Goal: goal.Maximize}}, Total: 2}
		t.Rows = []Row{{Labels: []string{"a|b", "none"}, Size: 3, Cells: []Cell{mean(0.9, 0.02, 3)}}, {Labels: []string{"sgd", "x"}, Size: 1, Cells: []Cell{mean(0.8, 0, 1)}}}
		t.markBest()
		return t
	}
	row := func(name, lr string, loss, time Cell) {
		t.Rows = append(t.Rows, Row{Labels: []string{name}, Cells: []Cell{{Text: lr}, loss, time}})
	}
	row("*run 1*", "0.1", Cell{Known: true, Value: 0.5}, Cell{Known: true, Value: 3})
	row("=run_2", "=1", Cell{Known: true, Value: 0.25}, Cell{})
	row("run 3", "", Cell{Known: true, Value: scalar.Value(math.Inf(-1))}, Cell{Known: true, Value: 1})
	t.markBest()
	return t
}

func TestMarkdown(t *testing.T) {
	want := `| Name | lr | val/loss | time |
| --- | --- | ---: | ---: |
| \*run 1\* | 0.1 | 0.5 | 3 |
| =run\_2 | =1 | **0.25** |  |
| run 3 |  | -Infinity | 1 |
`
	if got := example(false).Markdown(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	want = `| opt\_1 | tag | Runs | val/acc |
| --- | --- | ---: | ---: |
| a\|b | none | 3 | **0.900 ± 0.020** |
| sgd | x | 1 | 0.8 |

Mean ± standard deviation over the runs of each group.
`
	if got := example(true).Markdown(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestLaTeX(t *testing.T) {
	want := `% Needs \usepackage{booktabs}
% 2 more groups are left out.
\begin{table}
  \centering
  \caption{50\% sweep. Mean $\pm$ standard deviation over the runs of each group.}
  \label{tab:results}
  \begin{tabular}{llrr}
    \toprule
    opt\_1 & tag & Runs & val/acc \\
    \midrule
    a\textbar{}b & none & 3 & $\mathbf{0.900 \pm 0.020}$ \\
    sgd & x & 1 & $0.8$ \\
    \bottomrule
  \end{tabular}
\end{table}
`
	groups := example(true)
	groups.Total = 4
	if got := groups.LaTeX("50% sweep"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := example(false).LaTeX("sweep"); !strings.Contains(got, `    =run\_2 & =1 & $\mathbf{0.25}$ &  \\`) || !strings.Contains(got, "{llrr}") {
		t.Error(got)
	}
}

func TestCSV(t *testing.T) {
	for _, c := range []struct {
		groups bool
		want   string
	}{
		{false, "name,lr,val/loss,time\n*run 1*,0.1,0.5,3\n'=run_2,'=1,0.25,\nrun 3,,-Infinity,1\n"},
		{true, "opt_1,tag,runs,val/acc mean,val/acc sd,val/acc n\na|b,none,3,0.9,0.02,3\nsgd,x,1,0.8,,1\n"},
	} {
		var out strings.Builder
		if err := example(c.groups).CSV(&out); err != nil || out.String() != c.want {
			t.Errorf("%v: %q, want %q", err, out.String(), c.want)
		}
	}
}

// Values that look equal are marked together. A single value is not marked.
func TestBest(t *testing.T) {
	table := Table{Heads: []Head{{Number: true, Goal: goal.Minimize}, {Number: true, Goal: goal.Maximize}, {Number: true}}}
	for _, v := range [][3]float64{{0.1, 1, 1}, {0.1000000001, math.NaN(), 2}, {0.2, math.NaN(), 3}} {
		row := Row{}
		for _, one := range v {
			row.Cells = append(row.Cells, Cell{Known: true, Value: scalar.Value(one)})
		}
		table.Rows = append(table.Rows, row)
	}
	table.markBest()
	for r, want := range [][3]bool{{true, false, false}, {true, false, false}, {false, false, false}} {
		for c, best := range want {
			if table.Rows[r].Cells[c].Best != best {
				t.Errorf("row %d, column %d: %v, want %v", r, c, !best, best)
			}
		}
	}
}
