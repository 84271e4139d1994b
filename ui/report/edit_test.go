package report

import (
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/ui/table"
)

const edited = "# Found\n\ntext\n```chart\nexperiment: e\nmetrics: loss\n```\n```table\nexperiment: e\n```\nlast"

func TestEdits(t *testing.T) {
	prose, chart, table, last := "# Found\n\ntext\n", "```chart\nexperiment: e\nmetrics: loss\n```\n", "```table\nexperiment: e\n```\n", "last\n"
	was := func(i int) string { return domain.Fingerprint(parse(edited)[i].text) }
	for _, c := range []struct {
		name string
		edit Edit
		want []string
		at   int
	}{
		{"up", Edit{Do: "up", Block: 1, Was: was(1)}, []string{chart, prose, table, last}, 0},
		{"up at the top", Edit{Do: "up", Block: 0, Was: was(0)}, []string{prose, chart, table, last}, 0},
		{"down", Edit{Do: "down", Block: 1, Was: was(1)}, []string{prose, table, chart, last}, 2},
		{"down at the end", Edit{Do: "down", Block: 3, Was: was(3)}, []string{prose, chart, table, last}, 3},
		{"move to the end", Edit{Do: "move", Block: 0, Was: was(0), To: 9}, []string{chart, table, last, prose}, 3},
		{"half", Edit{Do: "half", Block: 2, Was: was(2)}, []string{prose, chart, "```table\nexperiment: e\nsize: half\n```\n", last}, 2},
		{"remove", Edit{Do: "remove", Block: 2, Was: was(2)}, []string{prose, chart, last}, 2},
		{"text", Edit{Do: "text", Block: 3, Was: was(3), Text: "more\n\n"}, []string{prose, chart, table, "more\n"}, 3},
		{"an empty text", Edit{Do: "text", Block: 3, Was: was(3), Text: " \n"}, []string{prose, chart, table}, 3},
		{"open code", Edit{Do: "text", Block: 0, Was: was(0), Text: "```python\n1"}, []string{"```python\n1\n```\n", chart, table, last}, 0},
		{"add", Edit{Do: "add", Text: "new"}, []string{prose, chart, table, last, "new\n"}, 4},
		{"another place", Edit{Do: "up", Block: 3, Was: was(2)}, []string{prose, table, chart, last}, 1}, // another user has removed a block
	} {
		got, at, err := c.edit.Apply(edited)
		if want := strings.Join(c.want, "\n"); err != nil || got != want || at != c.at {
			t.Errorf("%s: %q at %d, %v, want %q at %d", c.name, got, at, err, want, c.at)
		}
	}
	for name, e := range map[string]Edit{"another text": {Do: "up", Block: 1, Was: "x"}, "a removed block": {Do: "up", Block: 7, Was: "x"}} {
		if _, _, err := e.Apply(edited); domain.AsError(err).Code != domain.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := (Edit{Do: "explode", Block: 1, Was: was(1)}).Apply(edited); domain.AsError(err).Code != domain.CodeInvalidPayload {
		t.Errorf("an unknown change: %v", err)
	}
	// Of equal blocks, the index selects one.
	twice := chart + "\n" + chart
	if _, at, err := (Edit{Do: "remove", Block: 1, Was: was(1)}).Apply(twice); err != nil || at != 1 {
		t.Errorf("the second of equal blocks: %d, %v", at, err)
	}
	if _, _, err := (Edit{Do: "remove", Block: 5, Was: was(1)}).Apply(twice); err == nil {
		t.Error("one of two equal blocks was removed")
	}
}

// Blocks of values and of differences are edited as other blocks.
func TestEditsOfNewBlocks(t *testing.T) {
	for kind := range kinds {
		block, text := "```"+kind+"\nexperiment: e\nx: param.lr\n```\n", "words\n"
		both := block + "\n" + text
		got, at, err := Edit{Do: "half", Was: domain.Fingerprint(block)}.Apply(both)
		if want := "```" + kind + "\nexperiment: e\nx: param.lr\nsize: half\n```\n\n" + text; err != nil || got != want || at != 0 {
			t.Errorf("%s: %q at %d, %v", kind, got, at, err)
		}
		if got, at, err = (Edit{Do: "down", Was: domain.Fingerprint(block)}).Apply(both); err != nil || got != text+"\n"+block || at != 1 {
			t.Errorf("%s: %q at %d, %v", kind, got, at, err)
		}
	}
}

// A frozen difference shows its texts unchanged.
func TestDifferenceMarkdown(t *testing.T) {
	d := Difference{Sentence: "a_b × 2: loss −0.1.", Details: []string{"One.", "Two."}, Note: "More *rows*.", Table: table.Table{Labels: []string{"Differs"},
		Heads: []table.Head{{Name: "Kind"}, {Name: "A"}}, Rows: []table.Row{{Labels: []string{"a|b"}, Cells: []table.Cell{{Text: "Parameter"}, {Text: "<b>"}}}}}}
	want := "**a\\_b × 2\\: loss −0.1.**\n\nOne. Two.\n\n| Differs | Kind | A |\n| --- | --- | --- |\n| a\\|b | Parameter | \\<b\\> |\n\nMore \\*rows\\*.\n"
	if got := d.Markdown(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if blocks := parse(Append("# Found", d.Markdown())); len(blocks) != 1 {
		t.Errorf("%d blocks", len(blocks))
	}
}

func TestCoverage(t *testing.T) {
	for want, c := range map[string][4]int{
		"1 run.":                {1, 1, 1, 1},
		"50 runs; 5 in colour.": {50, 50, 50, 5},
		"48 of 50 runs; the others have no finite value; 5 in colour.":                                            {48, 50, 50, 5},
		"The newest 10,000 of 12,345 runs; 0 in colour.":                                                          {10000, 10000, 12345, 0},
		"9,000 runs of the newest 10,000 (12,345 pass the filter); the others have no finite value; 3 in colour.": {9000, 10000, 12345, 3},
	} {
		if got := coverage(c[0], c[1], c[2], c[3]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An editor of a picture's block does not show the data of the picture, and keeps it.
func TestEditsKeepPictures(t *testing.T) {
	source := "```image\nsvg: AAAA\ncaption: a\n```\n"
	p := Part{Source: source}
	if got := p.Editable(); got != "```image\ncaption: a\n```\n" {
		t.Errorf("the editor has %q", got)
	}
	got, _, err := Edit{Do: "text", Was: p.Fingerprint(), Text: "```image\ncaption: b\n```\n"}.Apply(source)
	if want := "```image\ncaption: b\nsvg: AAAA\n```\n"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	got, _, _ = Edit{Do: "half", Was: p.Fingerprint()}.Apply(source)
	if blocks := parse(got); blocks[0].fields["size"] != half || blocks[0].fields["svg"] != "AAAA" {
		t.Errorf("half: %q", got)
	}
	got, _, _ = Edit{Do: "full", Was: domain.Fingerprint(got)}.Apply(got)
	if got != source {
		t.Errorf("full: %q, want %q", got, source)
	}
}
