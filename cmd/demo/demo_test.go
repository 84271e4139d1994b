package demo

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// flat lists a run and its descendants with all their data.
func flat(r run, under string) (all []string) {
	name := under + "/" + r.name
	all = append(all, fmt.Sprint(name, r.params, r.tags, r.notes, r.status, r.message, r.started))
	for _, m := range r.points(time.Time{}) {
		all = append(all, fmt.Sprint(name, " ", m.Key, " ", *m.Step, " ", m.Value))
	}
	for _, child := range r.children {
		all = append(all, flat(child, name)...)
	}
	return all
}

// The demo shows overfitting: without augmentation, the held-out loss eventually rises; with
// augmentation, it does not.
func TestDemoOverfits(t *testing.T) {
	for _, p := range plan() {
		for _, e := range p.experiments {
			for _, r := range e.runs {
				for _, c := range r.curves {
					if e.name != "Augmentation" || c.key != "val/loss" || r.steps < 400 {
						continue
					}
					best, last := c.at(0), 0.0
					for step := range r.steps {
						last = c.at(float64(step))
						best = min(best, last)
					}
					if turned := last > 1.3*best; turned != (r.name == "augment none") {
						t.Errorf("%s: the best loss is %.3f, the last one %.3f", r.name, best, last)
					}
				}
			}
		}
	}
}

func TestDemoIsTheSameEachTime(t *testing.T) {
	var makings [2][]string
	for i := range makings {
		for _, p := range plan() {
			for _, e := range p.experiments {
				for _, r := range e.runs {
					makings[i] = append(makings[i], flat(r, p.name+"/"+e.name)...)
				}
			}
		}
	}
	if len(makings[0]) < 100_000 || !slices.Equal(makings[0], makings[1]) {
		t.Errorf("the demo differs from one making to the next; %d and %d lines", len(makings[0]), len(makings[1]))
	}
}
