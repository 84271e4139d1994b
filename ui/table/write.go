package table

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"tracker/ui/plain"
)

// heads returns the headings of all columns. A table of groups has a column with the number of
// runs after the labels.
func (t Table) heads() (all []Head) {
	for _, name := range t.Labels {
		all = append(all, Head{Name: name})
	}
	if t.Groups {
		all = append(all, Head{Name: "Runs", Number: true})
	}
	return append(all, t.Heads...)
}

// texts returns the cells of a row as texts. The functions label and cell write labels and values.
func (t Table) texts(r Row, label func(string) string, cell func(Cell) string) (all []string) {
	for _, one := range r.Labels {
		all = append(all, label(plain.Line(one, maxCell)))
	}
	if t.Groups {
		all = append(all, strconv.Itoa(r.Size))
	}
	for _, c := range r.Cells {
		all = append(all, cell(c))
	}
	return all
}

// rest returns a note about rows beyond the limit, "" for none.
func (t Table) rest() string {
	switch left := t.Total - len(t.Rows); {
	case left <= 0:
		return ""
	case t.Groups:
		return plain.Counted(left, "more group is", "more groups are") + " left out."
	default:
		return plain.Counted(left, "more run is", "more runs are") + " left out."
	}
}

// Legend explains the numbers of a table, "" if they need no explanation.
func (t Table) Legend() string {
	if !t.Groups {
		return ""
	}
	return "Mean ± standard deviation over the runs of each group."
}

// Markdown returns the table as a table of GitHub Flavored Markdown. The best values are bold.
func (t Table) Markdown() string {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	var heads, rules []string
	for _, h := range t.heads() {
		rule := "---"
		if h.Number {
			rule = "---:"
		}
		heads, rules = append(heads, EscapeMarkdown(h.Name)), append(rules, rule)
	}
	line(heads)
	line(rules)
	for _, r := range t.Rows {
		line(t.texts(r, EscapeMarkdown, Cell.markdown))
	}
	if notes := strings.TrimSpace(t.Legend() + " " + t.rest()); notes != "" {
		out.WriteString("\n" + notes + "\n")
	}
	return out.String()
}

func (c Cell) markdown() string {
	text := EscapeMarkdown(c.Words())
	if c.Best {
		text = "**" + text + "**"
	}
	return text
}

// EscapeMarkdown returns text that Markdown shows unchanged in a cell of a table or in a sentence.
func EscapeMarkdown(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			r = ' '
		case strings.ContainsRune("\\`*_[]<>|~&#!$:", r):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return strings.TrimSpace(out.String())
}

// LaTeX returns the table as a table environment for the package booktabs. The best values are
// bold. The caption and the label are placeholders.
func (t Table) LaTeX(caption string) string {
	var out strings.Builder
	out.WriteString("% Needs \\usepackage{booktabs}\n")
	if rest := t.rest(); rest != "" {
		out.WriteString("% " + rest + "\n")
	}
	out.WriteString("\\begin{table}\n  \\centering\n")
	caption = EscapeLaTeX(caption)
	if legend := t.Legend(); legend != "" {
		caption += ". " + strings.ReplaceAll(legend, "±", "$\\pm$")
	}
	out.WriteString("  \\caption{" + caption + "}\n  \\label{tab:results}\n  \\begin{tabular}{")
	var heads []string
	for _, h := range t.heads() {
		heads = append(heads, EscapeLaTeX(h.Name))
		if h.Number {
			out.WriteString("r")
		} else {
			out.WriteString("l")
		}
	}
	out.WriteString("}\n    \\toprule\n    " + strings.Join(heads, " & ") + " \\\\\n    \\midrule\n")
	for _, r := range t.Rows {
		out.WriteString("    " + strings.Join(t.texts(r, EscapeLaTeX, Cell.latex), " & ") + " \\\\\n")
	}
	out.WriteString("    \\bottomrule\n  \\end{tabular}\n\\end{table}\n")
	return out.String()
}

func (c Cell) latex() string {
	if !c.Known {
		text := EscapeLaTeX(plain.Line(c.Text, maxCell))
		if _, err := strconv.ParseFloat(c.Text, 64); err == nil && strings.HasPrefix(text, "-") {
			text = "$" + text + "$" // a minus sign instead of a hyphen
		}
		if c.Best {
			text = "\\textbf{" + text + "}"
		}
		return text
	}
	n := numeral(c)
	text := n.Value
	switch {
	case text == "NaN":
		text = "\\mathrm{NaN}"
	case strings.HasSuffix(text, "Infinity"):
		text = strings.ReplaceAll(text, "Infinity", "\\infty")
	}
	if n.SD != "" {
		text += " \\pm " + n.SD
	}
	if n.Power != 0 {
		if n.SD != "" {
			text = "(" + text + ")"
		}
		text += " \\times 10^{" + strconv.Itoa(n.Power) + "}"
	}
	if c.Best {
		text = "\\mathbf{" + text + "}"
	}
	return "$" + text + "$"
}

// latexCommands maps the special characters of LaTeX to commands that print them. A square
// bracket or an asterisk would be an argument of \\ if it began a row.
var latexCommands = map[rune]string{'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`,
	'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`,
	'`': `\textasciigrave{}`, '[': `{[}`, ']': `{]}`, '*': `{*}`, '±': `$\pm$`}

// EscapeLaTeX returns text that LaTeX prints unchanged outside of formulas. It replaces control
// characters by spaces.
func EscapeLaTeX(text string) string {
	var out strings.Builder
	last := rune(0)
	for _, r := range text {
		command, special := latexCommands[r]
		switch {
		case r < ' ' || r == 0x7f:
			out.WriteByte(' ')
		case special:
			out.WriteString(command)
		case r == last && strings.ContainsRune("-',", r): // LaTeX joins two of them into another character
			out.WriteString("{}" + string(r))
		default:
			out.WriteRune(r)
		}
		last = r
	}
	return out.String()
}

// CSV writes the table as CSV. Numbers have full precision. A metric of a group has a column for
// its mean, for its standard deviation and for the number of values.
func (t Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var heads []string
	for _, name := range t.Labels {
		heads = append(heads, Harmless(strings.ToLower(name)))
	}
	if t.Groups {
		heads = append(heads, "runs")
	}
	for _, h := range t.Heads {
		if t.Groups && h.Number {
			heads = append(heads, Harmless(h.Name+" mean"), Harmless(h.Name+" sd"), Harmless(h.Name+" n"))
		} else {
			heads = append(heads, Harmless(h.Name))
		}
	}
	if err := out.Write(heads); err != nil {
		return err
	}
	for _, r := range t.Rows {
		var row []string
		for _, label := range r.Labels {
			row = append(row, Harmless(label))
		}
		if t.Groups {
			row = append(row, strconv.Itoa(r.Size))
		}
		for i, c := range r.Cells {
			value, sd := Harmless(c.Text), ""
			if c.Known {
				value = c.Value.String()
			}
			if c.SD != nil {
				sd = c.SD.String()
			}
			row = append(row, value)
			if t.Groups && t.Heads[i].Number {
				row = append(row, sd, strconv.Itoa(c.N))
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Harmless returns text in a form that a spreadsheet does not evaluate as a formula. If text
// begins like a formula, Harmless puts an apostrophe before text. OWASP recommends this against
// CSV injection. Numbers are unchanged.
func Harmless(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}
