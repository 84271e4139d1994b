package ui

import (
	"cmp"
	"net/http"
	"slices"

	"tracker/store"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

// historyHistograms returns the histograms in the histories of W&B's runs. They have no artifacts.
func historyHistograms(db *store.View, runs []string) (all []medium, more bool, err error) {
	more, err = db.EachWandbValue(runs, nil, []string{"histogram"}, func(run string, step store.Step, m format.Member) error {
		if _, ok := format.ParseHistogram(m.Value); ok {
			all = append(all, medium{Run: run, Step: new(int64(step)), key: m.Key, kind: histogramKind})
		}
		return nil
	})
	return all, more, err
}

// historyCounts returns the histograms in the history of a run under a name, at some steps.
func (s *site) historyCounts(r *http.Request, actor store.Actor, q mediaRequest, at []int64) (map[int64]*binCounts, error) {
	steps := make([]store.Step, 0, len(at))
	for _, step := range at {
		steps = append(steps, store.Step(step))
	}
	counts := map[int64]*binCounts{}
	err := s.DB.View(r.Context(), actor, func(db *store.View) error {
		_, err := db.EachWandbValue(q.Iterations, steps, []string{"histogram"}, func(_ string, step store.Step, m format.Member) error {
			if m.Key != q.Key {
				return nil
			}
			if h, ok := format.ParseHistogram(m.Value); ok {
				if c := (&binCounts{Edges: h.Edges, Counts: h.Counts}); c.valid() {
					counts[int64(step)] = c
				}
			}
			return nil
		})
		return err
	})
	return counts, err
}

// addMarks adds to images the boxes and masks that the histories of W&B's runs have for
// them.
func addMarks(db *store.View, q mediaRequest, artifacts []store.Artifact, all []medium) error {
	type file struct{ run, name string }
	ids := map[file]string{}
	for _, a := range artifacts {
		if a.IterationID != nil {
			ids[file{*a.IterationID, a.Name}] = a.ID
		}
	}
	marks := map[file][]marked{}
	type labels struct {
		masks, boxes func(key, name string) map[string]string
	}
	known := map[string]labels{} // by run
	_, err := db.EachWandbValue(q.Iterations, nil, []string{`"boxes`, `"masks`, `"all_`}, func(run string, _ store.Step, m format.Member) error {
		if m.Key != q.Key {
			return nil
		}
		images := format.MarkedImages(m.Value)
		if _, ok := known[run]; !ok && len(images) > 0 {
			w, err := db.WandbRunOf(run)
			if err != nil {
				return err
			}
			known[run] = labels{format.ClassLabels(w.Config, true), format.ClassLabels(w.Config, false)}
		}
		for _, image := range images {
			at := file{run, transfer.FitPath(image.File)}
			for _, mark := range image.Marks {
				one := marked{Name: mark.Name}
				id := ids[file{run, transfer.FitPath(mark.File)}]
				switch {
				case id == "":
					continue // it has not been sent yet, or was deleted
				case mark.Mask:
					one.Mask, one.Labels = id, known[run].masks(m.Key, mark.Name)
				default:
					one.Boxes, one.Labels = id, known[run].boxes(m.Key, mark.Name)
				}
				marks[at] = append(marks[at], one)
			}
		}
		return nil
	})
	for i := range all {
		m := &all[i]
		if m.Marks = marks[file{m.Run, m.Name}]; m.Marks != nil {
			slices.SortFunc(m.Marks, marked.compare)
		}
	}
	return err
}

// compare puts masks before the boxes that are drawn over them.
func (m marked) compare(other marked) int {
	if (m.Mask != "") != (other.Mask != "") {
		return cmp.Compare(len(other.Mask), len(m.Mask))
	}
	return cmp.Compare(m.Name, other.Name)
}
