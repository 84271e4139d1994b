package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/runs"
)

// wideTable is a note of 35 KB that would be rendered as a table of 24 million cells.
var wideTable = strings.Repeat("|<b>a", 6000) + "\n" + strings.Repeat("|-", 6000) + "\n" + strings.Repeat("b\n", 4000)

// A note, a description or an artifact that exceeds a limit for rendering is shown as plain text,
// with the reason.
func TestProseLimits(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	ctx, alice := t.Context(), s.actor("alice")
	for text, reason := range map[string]string{
		wideTable:                         "because it has more than 50,000 table cells, links and other elements.",
		strings.Repeat("[](", 100_000):    "because it is longer than 256 KiB.",
		strings.Repeat("[](", 50_000):     "because its paragraphs are too long or have too many special characters.",
		strings.Repeat("a\n", 100_000):    "because it has more than 10,000 lines.",
		strings.Repeat("> ", 100) + "end": "end</p>",
	} {
		if err := s.db.Runs.UpdateIteration(ctx, alice, w.runs[0], runs.IterationPatch{Notes: &text}); err != nil {
			t.Fatal(err)
		}
		limited := func(path string) answer {
			a := s.get(path)
			if !strings.Contains(a.body, "because it takes too long to render.") { // on a busy machine
				a.wants(t, 200, reason)
			}
			return a
		}
		a := limited("/iteration/" + w.runs[0])
		a.lacks(t, "<b>a")
		if n := len(a.body); n > 8*len(text)+200_000 {
			t.Errorf("%d bytes of notes make a page of %d", len(text), n)
		}
		if len(text) <= 256<<10 { // a larger file is shown in part
			id := s.keep(w.experiment, files.NewArtifact{Name: "notes.md"}, text)
			limited("/artifact/" + id)
		}
	}
}

// The descriptions of all versions on a page share one limit.
func TestProseLimitOfAPage(t *testing.T) {
	s := start(t, setup{})
	h := s.shelf()
	w := s.sweep(1, 0)
	ctx, alice := t.Context(), s.actor("alice")
	m := must(s.db.Models.CreateModel(ctx, alice, w.project, registry.NewModel{Name: "wordy"}))(t)
	for i := range 4 {
		text := fmt.Sprintf("**version %d**\n\n", i+1) + strings.Repeat("many words ", 8000) + "\n"
		must(s.db.Models.CreateModelVersion(ctx, alice, m.ID, registry.NewModelVersion{IterationID: w.runs[0], Description: text}))(t)
	}
	a := s.get("/model/" + m.ID)
	a.wants(t, 200, "<strong>version 4</strong>", "<strong>version 3</strong>", "Only the beginning is shown, because the page has too much text.")
	a.lacks(t, "<strong>version 1</strong>")
	s.get("/model/"+h.model).lacks(t, `data-testid="plain"`)
}
