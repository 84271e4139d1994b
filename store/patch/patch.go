// Package patch compares the code of two runs. A run records its commit and a diff of the
// uncommitted changes. Between computes the differences between two working trees with the same
// commit from their two diffs. This works because a diff contains all lines of the commit that it
// changes, so the two diffs together contain all lines that differ. Texts compares two versions
// of a file.
//
// The callers limit the length of the inputs. The package limits its own work.
package patch

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// context is the number of unchanged lines around changed lines.
const context = 3

// Kind is the kind of a Line.
type Kind byte

// Values of Kind.
const (
	Same    Kind = ' '
	Removed Kind = '-'
	Added   Kind = '+'
)

// Line is a line of a difference, without the line ending.
type Line struct {
	Kind Kind
	Text string
	A, B int // line numbers in the two versions, from 1; 0 if the version lacks the line
}

// Hunk is a part of a file with changed lines and the unchanged lines around them.
type Hunk struct {
	Lines []Line
	// Before is the number of unchanged lines between the previous hunk and this one, or -1 if it
	// is unknown.
	Before int
}

// File holds the differences between two versions of a file.
type File struct {
	Name    string // name in the second version
	Hunks   []Hunk
	Added   int    // number of added lines
	Removed int    // number of removed lines
	Changed int    // number of changed lines; a replaced line counts once
	Note    string // reason why lines are missing; "" if no lines are missing
}

// Between returns the files that differ between two working trees of the same commit, in
// alphabetical order. a and b are the uncommitted changes in the format of git diff. ok is false
// if they are not in this format or do not belong to the same commit.
func Between(a, b string) (files []File, ok bool) {
	before, okA := parse(a)
	after, okB := parse(b)
	if !okA || !okB {
		return nil, false
	}
	for name := range before {
		if _, there := after[name]; !there {
			after[name] = changes{name: name}
		}
	}
	c := newComparer()
	for _, base := range slices.Sorted(maps.Keys(after)) {
		f, ok := c.merge(before[base], after[base])
		if !ok {
			return nil, false
		}
		if len(f.Hunks) > 0 || f.Note != "" {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return files, true
}

// Texts returns the differences between two versions of a file.
func Texts(name, a, b string) File {
	f := File{Name: name}
	f.add(newComparer().compare(split(a), split(b), 1, 1), true)
	return f
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
}

// add appends compared lines as hunks. It omits unchanged lines that are far from changed lines.
// whole reports whether the lines are the whole file.
func (f *File) add(lines []Line, whole bool) {
	from := 0 // first line that is not in a hunk
	for at := 0; at < len(lines); {
		if lines[at].Kind == Same {
			at++
			continue
		}
		start, end := max(from, at-context), at
		for next := at; next < len(lines) && next <= end+2*context; next++ {
			if lines[next].Kind != Same {
				end = next
			}
		}
		at = min(len(lines), end+1+context)
		h := Hunk{Lines: lines[start:at], Before: start - from}
		if from == 0 && !whole {
			h.Before = -1
		}
		f.Hunks = append(f.Hunks, h)
		from = at
	}
	for at := 0; at < len(lines); {
		var removed, added int
		for ; at < len(lines) && lines[at].Kind != Same; at++ {
			if lines[at].Kind == Removed {
				removed++
			} else {
				added++
			}
		}
		f.Removed, f.Added, f.Changed = f.Removed+removed, f.Added+added, f.Changed+max(removed, added)
		at++
	}
}

// changes holds the differences between the commit and a working tree for one file.
type changes struct {
	name  string
	hunks []change
	note  string
}

// change replaces the lines old of the commit, starting at line number at, with the lines new.
type change struct {
	at       int
	old, new []string
}

const (
	truncated = "A recorded diff was truncated."
	binary    = "The file is binary."
)

// parse parses the output of git diff and returns the changes by the name of the file in the
// commit. A new file is listed under its new name. ok is false if text is not empty but contains
// no file.
func parse(text string) (files map[string]changes, ok bool) {
	files = map[string]changes{}
	lines := split(text)
	var key string
	var c changes
	flush := func() {
		if key != "" {
			files[key] = c
		}
		key, c = "", changes{}
	}
	for at := 0; at < len(lines); {
		line := lines[at]
		at++
		switch {
		case strings.HasPrefix(line, "diff --git "):
			flush()
			key = nameInHeader(line)
			c.name = key
		case key == "":
		case strings.HasPrefix(line, "--- "):
			if name := nameOf(line[4:], "a/"); name != "" {
				key = name
			}
		case strings.HasPrefix(line, "+++ "):
			if name := nameOf(line[4:], "b/"); name != "" {
				c.name = name
			} else {
				c.name = key
			}
		case strings.HasPrefix(line, "rename from "):
			key = unquote(line[len("rename from "):])
		case strings.HasPrefix(line, "rename to "):
			c.name = unquote(line[len("rename to "):])
		case strings.HasPrefix(line, "Binary files ") || line == "GIT binary patch":
			c.note = binary
		case strings.HasPrefix(line, "@@ "):
			h, next, complete := parseHunk(line, lines[at:])
			at += next
			if !complete {
				c.note = truncated
				continue
			}
			c.hunks = append(c.hunks, h)
		}
	}
	flush()
	for _, c := range files {
		slices.SortFunc(c.hunks, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	}
	return files, len(files) > 0 || strings.TrimSpace(text) == ""
}

// parseHunk parses the hunk with the given header and returns the number of its lines. complete
// is false if the header is invalid or lines are missing.
func parseHunk(head string, lines []string) (h change, next int, complete bool) {
	ranges := strings.Fields(head)
	if len(ranges) < 4 {
		return h, 0, false
	}
	at, old, okOld := parseRange(ranges[1], "-")
	_, added, okNew := parseRange(ranges[2], "+")
	if !okOld || !okNew {
		return h, 0, false
	}
	if h.at = at; old == 0 {
		h.at++ // the lines are inserted after line at
	}
	for next < len(lines) && (len(h.old) < old || len(h.new) < added) {
		line := lines[next]
		kind, text := Same, ""
		if line != "" { // some programs remove the space of an empty line
			kind, text = Kind(line[0]), line[1:]
		}
		switch kind {
		case Same:
			h.old, h.new = append(h.old, text), append(h.new, text)
		case Removed:
			h.old = append(h.old, text)
		case Added:
			h.new = append(h.new, text)
		case '\\': // no newline at the end of the file
		default:
			return h, next, false
		}
		next++
	}
	return h, next, len(h.old) == old && len(h.new) == added
}

// parseRange parses a range such as -41,7 and returns its first line and its length.
func parseRange(text, sign string) (at, n int, ok bool) {
	text, ok = strings.CutPrefix(text, sign)
	first, length, has := strings.Cut(text, ",")
	at, err := strconv.Atoi(first)
	if n = 1; has && err == nil {
		n, err = strconv.Atoi(length)
	}
	return at, n, ok && err == nil && at >= 0 && n >= 0 && at < 1<<40 && n < 1<<40
}

// nameOf returns the name of the file in a line that begins with --- or +++, or "" for /dev/null.
func nameOf(text, prefix string) string {
	name, _, _ := strings.Cut(text, "\t")
	if name = unquote(name); name == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(name, prefix)
}

// nameInHeader returns the new name of the file in a line that begins with diff --git.
func nameInHeader(line string) string {
	if at := strings.LastIndex(line, " b/"); at >= 0 {
		return line[at+len(" b/"):]
	}
	if at := strings.LastIndex(line, ` "b/`); at >= 0 {
		return strings.TrimPrefix(unquote(line[at+1:]), "b/")
	}
	return line[strings.LastIndexByte(line, ' ')+1:]
}

func unquote(name string) string {
	if strings.HasPrefix(name, `"`) {
		if plain, err := strconv.Unquote(name); err == nil {
			return strings.ToValidUTF8(plain, "\uFFFD")
		}
	}
	return name
}

// merge returns the differences between two versions of a file that are based on the same commit.
// ok is false if a and b have different lines of the commit.
func (c *comparer) merge(a, b changes) (f File, ok bool) {
	f = File{Name: cmp.Or(b.name, a.name), Note: cmp.Or(a.note, b.note)}
	shiftA, shiftB := 0, 0 // difference from the line numbers in the commit
	for len(a.hunks) > 0 || len(b.hunks) > 0 {
		// The next hunks of a and b that overlap or touch.
		start, end := nextStart(a.hunks, b.hunks), 0
		end = start
		i, j := 0, 0
		for grown := true; grown; {
			grown = false
			for ; i < len(a.hunks) && a.hunks[i].at <= end; i, grown = i+1, true {
				end = max(end, a.hunks[i].at+len(a.hunks[i].old))
			}
			for ; j < len(b.hunks) && b.hunks[j].at <= end; j, grown = j+1, true {
				end = max(end, b.hunks[j].at+len(b.hunks[j].old))
			}
		}
		base := make(map[int]string, end-start)
		if !baseLines(base, a.hunks[:i]) || !baseLines(base, b.hunks[:j]) {
			return f, false
		}
		before, okA := apply(base, start, end, a.hunks[:i])
		after, okB := apply(base, start, end, b.hunks[:j])
		if !okA || !okB {
			return f, false
		}
		f.add(c.compare(before, after, start+shiftA, start+shiftB), false)
		shiftA, shiftB = shiftA+len(before)-(end-start), shiftB+len(after)-(end-start)
		a.hunks, b.hunks = a.hunks[i:], b.hunks[j:]
	}
	return f, true
}

func nextStart(a, b []change) int {
	switch {
	case len(a) == 0:
		return b[0].at
	case len(b) == 0:
		return a[0].at
	}
	return min(a[0].at, b[0].at)
}

// baseLines adds the lines of the commit in hunks to base. It returns false if base has a
// different line with the same number.
func baseLines(base map[int]string, hunks []change) bool {
	for _, h := range hunks {
		for i, text := range h.old {
			if known, ok := base[h.at+i]; ok && known != text {
				return false
			}
			base[h.at+i] = text
		}
	}
	return true
}

// apply applies the changes in hunks to the lines from start to end of the commit. It returns
// false if hunks overlap.
func apply(base map[int]string, start, end int, hunks []change) (lines []string, ok bool) {
	at := start
	for _, h := range hunks {
		if h.at < at {
			return nil, false
		}
		for ; at < h.at; at++ {
			lines = append(lines, base[at])
		}
		lines = append(lines, h.new...)
		at += len(h.old)
	}
	for ; at < end; at++ {
		lines = append(lines, base[at])
	}
	return lines, true
}
