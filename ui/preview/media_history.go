package preview

import (
	"cmp"
	"context"
	"slices"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
	"tracker/ui/chart"
)

// historyHistograms returns the histograms in the histories of W&B runs. The W&B client logs
// histograms as history values, not as artifacts.
func historyHistograms(db *store.View, runs []string) (all []Medium, more bool, err error) {
	more, err = db.Wandb.EachValue(runs, nil, []string{"histogram"}, func(run string, step scalar.Step, m format.Member) error {
		if _, ok := format.ParseHistogram(m.Value); ok {
			all = append(all, Medium{Run: run, Step: new(int64(step)), Key: m.Key, Kind: Histogram})
		}
		return nil
	})
	return all, more, err
}

// LoggedHistograms returns the histograms with the name q.Key from the histories of W&B runs.
// It reads only the given steps and returns histograms by step.
func LoggedHistograms(db *store.View, q MediaQuery, at []int64) (map[int64]*chart.Histogram, error) {
	steps := make([]scalar.Step, 0, len(at))
	for _, step := range at {
		steps = append(steps, scalar.Step(step))
	}
	counts := map[int64]*chart.Histogram{}
	_, err := db.Wandb.EachValue(q.Iterations, steps, []string{"histogram"}, func(_ string, step scalar.Step, m format.Member) error {
		if m.Key != q.Key {
			return nil
		}
		if h, ok := format.ParseHistogram(m.Value); ok {
			if c := (&chart.Histogram{Edges: h.Edges, Counts: h.Counts}); c.Valid() {
				counts[int64(step)] = c
			}
		}
		return nil
	})
	return counts, err
}

// maxMarks is the maximum number of boxes and masks of an image. markBytes is the approximate
// memory in bytes of one box or mask record.
const (
	maxMarks  = 100
	markBytes = 200
)

var errMarks = domain.Invalid("iterations", "The boxes and masks of the images have more than %d MiB. Choose fewer runs.", domain.MaxAnswerBytes>>20)

// addMarks adds boxes and masks from the histories of W&B runs to the images.
func (f *Media) addMarks(ctx context.Context, db *store.View, q MediaQuery, artifacts []files.Artifact) error {
	type file struct{ run, name string }
	ids := map[file]string{}
	for _, a := range artifacts {
		if a.IterationID != nil {
			ids[file{*a.IterationID, a.Name}] = a.ID
		}
	}
	var size int64
	hold := func(n int) error {
		if size += int64(n); size > domain.MaxAnswerBytes {
			return errMarks
		}
		return domain.Take(ctx, int64(n))
	}
	type named struct {
		run, name string
		mask      bool
	}
	index := map[named]int{}                                        // index in f.Labels
	classes := map[named]func(key, name string) map[string]string{} // functions by run ID and kind (boxes or masks)
	labelsOf := func(key string, of named) (int, error) {
		if i, ok := index[of]; ok {
			return i, nil
		}
		in := named{run: of.run, mask: of.mask}
		if classes[in] == nil {
			w, err := db.Wandb.RunOf(of.run)
			if err == nil {
				err = hold(len(w.Config))
			}
			if err != nil {
				return 0, err
			}
			classes[in] = format.ClassLabels(w.Config, of.mask)
		}
		index[of] = len(f.Labels)
		f.Labels = append(f.Labels, classes[in](key, of.name))
		return index[of], nil
	}
	marks := map[file][]marked{}
	_, err := db.Wandb.EachValue(q.Iterations, nil, []string{`"boxes`, `"masks`, `"all_`}, func(run string, _ scalar.Step, m format.Member) error {
		if m.Key != q.Key {
			return nil
		}
		for _, image := range format.MarkedImages(m.Value) {
			at := file{run, transfer.FitPath(image.File)}
			if ids[at] == "" {
				continue // not uploaded yet, or deleted
			}
			for _, mark := range image.Marks {
				one, id := marked{Name: mark.Name}, ids[file{run, transfer.FitPath(mark.File)}]
				if id == "" || len(marks[at]) == maxMarks {
					continue
				}
				if one.Boxes = id; mark.Mask {
					one.Boxes, one.Mask = "", id
				}
				err := hold(markBytes + len(mark.Name))
				if err == nil {
					one.Labels, err = labelsOf(m.Key, named{run, mark.Name, mark.Mask})
				}
				if err != nil {
					return err
				}
				marks[at] = append(marks[at], one)
			}
		}
		return nil
	})
	for i := range f.All {
		m := &f.All[i]
		if m.Marks = marks[file{m.Run, m.Name}]; m.Marks != nil {
			slices.SortFunc(m.Marks, marked.compare)
		}
	}
	return err
}

// compare orders masks before boxes. Pages draw boxes over masks.
func (m marked) compare(other marked) int {
	if (m.Mask != "") != (other.Mask != "") {
		return cmp.Compare(len(other.Mask), len(m.Mask))
	}
	return cmp.Compare(m.Name, other.Name)
}
