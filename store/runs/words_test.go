package runs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestWords checks that a filter that is not an expression is a search for words in the text
// fields of runs.
func TestWords(t *testing.T) {
	b := newBed(t)
	run := func(name, notes, tag, optimizer string) {
		t.Helper()
		id := must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: &name, Notes: notes}))(t).ID
		must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, id, tag))(t)
		must(b.Runs.CreateParameter(ctx, domain.System, id, "optimizer", scalar.Text(optimizer)))(t)
	}
	run("restarts", "Diverged at step 240.", "baseline", "adamw")
	run("cosine", "", "paper", "AdamW")
	run("linear", "see the paper", "old", "sgd 0.9")
	for text, want := range map[string]string{
		"adamw":          "cosine restarts",
		"ADAMW diverged": "restarts",
		"paper":          "cosine linear",
		"resta":          "restarts",
		"0.9":            "linear",
		"adamw zebra":    "",
		"base-line":      "",
		"param":          "",
		" sgd  paper ":   "linear",
	} {
		list, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: text})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var names []string
		for _, i := range list.Data {
			names = append(names, i.Name)
		}
		slices.Sort(names)
		wantText(t, strings.Join(names, " "), want)
	}
	for _, wrong := range []string{"lr < 0.1", "adamw and", "not adamw", "name", "param.lr", "'adamw'", "status run", strings.Repeat("x ", 21)} {
		_, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: wrong})
		wantCode(t, err, domain.CodeInvalidPayload)
	}
}

func TestValues(t *testing.T) {
	b := newBed(t)
	for _, lr := range []string{"0.1", "0.1", "0.2", strings.Repeat("9", 300)} {
		id := b.NewIteration(t)
		must(b.Runs.CreateParameter(ctx, domain.System, id, "lr", scalar.Text(lr)))(t)
		must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, id, "Tag "+lr[:3]))(t)
	}
	wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
		wantText(t, fmt.Sprint(must(v.Runs.ParamValues(b.Experiment, "lr", ""))(t)), "[{0.1 2} {0.2 1}]")
		wantText(t, fmt.Sprint(must(v.Runs.ParamValues(b.Experiment, "lr", "2"))(t)), "[{0.2 1}]")
		wantText(t, fmt.Sprint(must(v.Runs.ParamValues(b.Experiment, "decay", ""))(t)), "[]")
		wantText(t, fmt.Sprint(must(v.Runs.TagValues(b.Experiment, "tag 0.1"))(t)), "[{Tag 0.1 2}]")
		return nil
	}))
}
