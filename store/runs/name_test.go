package runs_test

import (
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/projects"
	"tracker/store/runs"
)

func TestWordsOfNames(t *testing.T) {
	for _, words := range [][]string{runs.Adjectives, runs.Nouns} {
		if n := len(slices.Compact(slices.Sorted(slices.Values(words)))); n != len(words) {
			t.Errorf("%d of %d words are different", n, len(words))
		}
		for _, w := range words {
			if !regexp.MustCompile(`^[a-z]{2,12}$`).MatchString(w) {
				t.Errorf("%q", w)
			}
		}
	}
}

func TestMadeUpNamesAreUnique(t *testing.T) {
	b := newBed(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 60 {
				if _, err := b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	file := raw(t, b.Path())
	if n := ask[int](t, file, `SELECT count(*) - count(DISTINCT name) FROM iteration`); n != 0 {
		t.Errorf("%d names are there twice", n)
	}
}

// A name is found quickly even if all names without a number and thousands of names with a
// number are used.
func TestNamesWhenThousandsAreTaken(t *testing.T) {
	b := newBed(t)
	taken := map[string]bool{}
	for _, a := range runs.Adjectives {
		for _, n := range runs.Nouns {
			taken[a+"-"+n], taken[a+"-"+n+"-2"] = true, true
		}
	}
	all := must(json.Marshal(slices.Collect(maps.Keys(taken))))(t)
	execSQL(t, raw(t, b.Path()), `INSERT INTO iteration (id, experiment_id, name, status, created_date, last_seen)
		SELECT value, ?, value, 'RUNNING', 0, 0 FROM json_each(?)`, b.Experiment, string(all))
	pattern := regexp.MustCompile(`^[a-z]+-[a-z]+-[0-9]+$`)
	for range 100 {
		id := b.NewIteration(t)
		i := must(b.Runs.Iteration(ctx, domain.System, id))(t)
		if taken[i.Name] || !pattern.MatchString(i.Name) {
			t.Errorf("the name %q", i.Name)
		}
		taken[i.Name] = true
	}
	// In another experiment, all names are free.
	other := must(b.Projects.CreateExperiment(ctx, domain.System, b.Project, projects.NewExperiment{Name: "other"}))(t).ID
	id := must(b.Runs.CreateIteration(ctx, domain.System, other, runs.NewIteration{}))(t).ID
	if i := must(b.Runs.Iteration(ctx, domain.System, id))(t); pattern.MatchString(i.Name) {
		t.Errorf("the first name of an experiment is %q", i.Name)
	}
}

// A given name is stored unchanged, even if another run has the name.
func TestGivenNames(t *testing.T) {
	b := newBed(t)
	for i, name := range []string{"mine", "mine", "с именем 🙂", "amber-acorn"} {
		id := must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: &name}))(t).ID
		if got := must(b.Runs.Iteration(ctx, domain.System, id))(t).Name; got != name {
			t.Errorf("name %d is %q, want %q", i, got, name)
		}
	}
	if n := ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM iteration WHERE name = 'mine'`); n != 2 {
		t.Errorf("%d", n)
	}
}
