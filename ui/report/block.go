package report

import "strings"

// block is a part of a report. A block is either a fenced Markdown block that names the data to
// show, or the text between two fenced blocks.
type block struct {
	kind   string // "chart", "table" or "image"; "" for text
	text   string
	fields map[string]string
}

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
		case ok && (kind == "chart" || kind == "table" || kind == "image"):
			flush()
			b := block{kind: kind, fields: map[string]string{}}
			for i++; i < len(lines) && strings.TrimRight(lines[i], " \t\r") != "```"; i++ {
				name, value, _ := strings.Cut(lines[i], ":")
				if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
					b.fields[name] = strings.TrimSpace(value)
				}
			}
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
