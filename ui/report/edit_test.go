package report

import (
	"strings"
	"testing"

	"tracker/store/domain"
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
