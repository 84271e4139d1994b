package report

import (
	"strings"

	"tracker/store/domain"
)

// Edit is a change of one block of a report.
type Edit struct {
	Do    string // up, down, move, half, full, text, remove or add
	Block int    // index of the block
	Was   string // fingerprint of the block's text
	To    int    // new index of a block that is moved
	Text  string // new text of a block that is changed or added
}

var (
	errBlock = domain.Errorf(domain.CodeConflict, "Someone else has changed or removed this block. The report below is up to date. Make your change again.")
	errDo    = domain.Invalid("do", "A block of a report can be moved, resized, changed, removed or added.")
)

// Apply returns the text of a report after the edit, and the index of the changed block. The
// block is found by its fingerprint, so other users can change other blocks at the same time. The
// error has the code CONFLICT if the block was changed.
func (e Edit) Apply(text string) (next string, at int, err error) {
	blocks := parse(text)
	if e.Do == "add" {
		return join(append(blocks, block{text: e.Text})), len(blocks), nil
	}
	if at = e.find(blocks); at < 0 {
		return "", 0, errBlock
	}
	b := &blocks[at]
	switch e.Do {
	case "up":
		return moved(blocks, at, at-1)
	case "down":
		return moved(blocks, at, at+1)
	case "move":
		return moved(blocks, at, e.To)
	case "half":
		b.text = withField(b.text, "size", half)
	case "full":
		b.text = withField(b.text, "size", "")
	case "text":
		changed := e.Text
		if svg := b.fields["svg"]; svg != "" {
			changed = withField(changed, "svg", svg)
		}
		b.text = changed
	case "remove":
		blocks = append(blocks[:at], blocks[at+1:]...)
	default:
		return "", 0, errDo
	}
	return join(blocks), at, nil
}

// find returns the index of the edit's block, or -1 if the block was changed.
func (e Edit) find(blocks []block) int {
	if e.Block >= 0 && e.Block < len(blocks) && domain.Fingerprint(blocks[e.Block].text) == e.Was {
		return e.Block
	}
	found := -1
	for i, b := range blocks {
		if domain.Fingerprint(b.text) == e.Was {
			if found >= 0 {
				return -1 // equal blocks
			}
			found = i
		}
	}
	return found
}

// moved returns the blocks with one of them at another index.
func moved(blocks []block, from, to int) (string, int, error) {
	to = max(0, min(to, len(blocks)-1))
	b := blocks[from]
	rest := append(append([]block{}, blocks[:from]...), blocks[from+1:]...)
	all := append(append(append([]block{}, rest[:to]...), b), rest[to:]...)
	return join(all), to, nil
}

// join returns the text of a report with the blocks. An empty line separates them. A code block
// without an end would contain the following blocks, so join ends it.
func join(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		text := strings.Trim(b.text, "\r\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if inCode(text) {
			text += "\n" + closing
		}
		parts = append(parts, text+"\n")
	}
	return strings.Join(parts, "\n")
}

// inCode reports whether text ends in a code block.
func inCode(text string) (open bool) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " \t\r"); line == closing || !open && strings.HasPrefix(line, closing) {
			open = !open
		}
	}
	return open
}

// withField returns the text of a fenced block with another value of a field. The value "" removes
// the field. Text that is no fenced block is unchanged.
func withField(text, name, value string) string {
	lines := strings.Split(strings.Trim(text, "\r\n"), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], closing) || strings.TrimRight(lines[len(lines)-1], " \t\r") != closing {
		return text
	}
	kept := lines[:0:0]
	for _, line := range lines[:len(lines)-1] {
		if key, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(key), name) {
			continue
		}
		kept = append(kept, line)
	}
	if value != "" {
		kept = append(kept, name+": "+value)
	}
	return strings.Join(append(kept, closing), "\n") + "\n"
}

// Editable returns the text of a part's block for an editor. The data of an image is left out,
// and Edit keeps it.
func (p Part) Editable() string { return withField(p.Source, "svg", "") }

// Fingerprint identifies the part's block in an Edit.
func (p Part) Fingerprint() string { return domain.Fingerprint(p.Source) }

// Fenced reports whether the part's block is a chart, a table or an image.
func (p Part) Fenced() bool { return p.Prose == nil }
