package report

import "strings"

// block is a part of a report. A block is either a fenced Markdown block that names the data to
// show, or the text between two fenced blocks.
type block struct {
	kind   string // one of kinds, "" for text
	text   string // lines of the block, with the fences of a fenced block
	fields map[string]string
}

// kinds are the kinds of fenced blocks that name data.
var kinds = map[string]bool{"chart": true, "table": true, "image": true, "importance": true, "pareto": true,
	"difference": true, "bar": true, "scatter": true, "histogram": true}

// isValues reports whether blocks of a kind show values of runs.
func isValues(kind string) bool { return kind == "bar" || kind == "scatter" || kind == "histogram" }

// closing is the line that ends a block.
const closing = "```"

// half is the value of the field size of a block that has half the width of the report.
const half = "half"

// parse splits the text of a report into blocks. A fenced block ends at a line with three
// backquotes or at the end of the report.
func parse(text string) []block {
	var all []block
	var prose strings.Builder
	flush := func() {
		if strings.TrimSpace(prose.String()) != "" {
			all = append(all, block{text: prose.String()})
		}
		prose.Reset()
	}
	lines := strings.Split(text, "\n")
	fence := "" // fence of the open ordinary code block, "" for none
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		kind, ok := strings.CutPrefix(line, "```")
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case ok && kinds[kind]:
			flush()
			b := block{kind: kind, fields: map[string]string{}}
			first := i
			for i++; i < len(lines) && strings.TrimRight(lines[i], " \t\r") != closing; i++ {
				name, value, _ := strings.Cut(lines[i], ":")
				if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
					b.fields[name] = strings.TrimSpace(value)
				}
			}
			b.text = strings.Join(lines[first:min(i, len(lines))], "\n") + "\n" + closing + "\n"
			all = append(all, b)
			continue
		case ok:
			fence = "```"
		}
		prose.WriteString(lines[i] + "\n")
	}
	flush()
	return all
}
