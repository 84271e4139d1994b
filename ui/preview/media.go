package preview

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/files"
)

// MediaQuery selects the media of runs: all, or only the media with one name.
type MediaQuery struct {
	Iterations []string `json:"iterations"`
	Key        string   `json:"key,omitzero"`
	Kind       Kind     `json:"kind,omitzero"`
}

// Media holds the selected media.
type Media struct {
	All    []Medium
	Labels []labels // class labels of the marks
	More   bool     // whether there are further media
}

// ReadMedia reads the media of runs. Marks are read only for images with one name.
func ReadMedia(ctx context.Context, db *store.View, q MediaQuery) (found Media, err error) {
	artifacts, cut, err := db.Files.MadeArtifacts(q.Iterations)
	if err != nil {
		return found, err
	}
	found.All, found.More = mediaOf(artifacts), cut
	switch {
	case q.Key != "" && q.Kind == Image:
		return found, found.addMarks(ctx, db, q, artifacts)
	case q.Key != "" && q.Kind != "" && q.Kind != Histogram:
		return found, nil
	}
	histograms, cut, err := historyHistograms(db, q.Iterations)
	found.All, found.More = append(found.All, histograms...), found.More || cut
	return found, err
}

// Histogram is the kind of histograms that the Python client logs. A preview shows them as JSON.
const Histogram Kind = "histogram"

// Medium is an artifact that was logged under a name, in the form for scripts.
type Medium struct {
	ID    string `json:"id"`
	Run   string `json:"run"`
	Name  string `json:"name"`           // name of the artifact
	Step  *int64 `json:"step,omitempty"` // nil where the name has none
	Place int64  `json:"place"`          // in a list that was logged at once
	Bytes int64  `json:"bytes"`

	Marks []marked `json:"marks,omitempty"` // boxes and masks of an image

	Key  string `json:"-"`
	Kind Kind   `json:"-"`
}

// marked holds the boxes or the mask of an image under a name.
type marked struct {
	Name   string `json:"name"`
	Boxes  string `json:"boxes,omitempty"` // id of the artifact that has them
	Mask   string `json:"mask,omitempty"`  // likewise
	Labels int    `json:"labels"`          // index in the list of labels of the answer
}

// labels holds the names of classes, by number.
type labels map[string]string

var (
	// The Python client names media KEY_STEP.END, or KEY_STEP_PLACE.END within a list.
	ownName = regexp.MustCompile(`^(.+?)(?:_(\d{1,15}))?(?:_(\d{1,15}))?$`)
	// W&B's client adds a part of a hash.
	wandbName = regexp.MustCompile(`^media/[^/]+/(.+)_(\d{1,15})_[0-9a-f]{20}$`)
	// MLflow's log_image replaces a slash by #, and logs a smaller copy of each image.
	mlflowName = regexp.MustCompile(`^images/(.+?)%step%(\d{1,15})%timestamp%\d+%[0-9a-f-]+(%compressed)?$`)
	// Files of an artifact of W&B are named NAME:vN/FILE. Masks are drawn over images.
	noMedium = regexp.MustCompile(`^([^/]+:v\d+/|media/images/mask/)`)
)

// mediaKindOf returns the kind of a medium, "" if the artifact is not a medium.
func mediaKindOf(r files.Artifact) Kind {
	if strings.HasSuffix(r.Name, ".histogram.json") {
		return Histogram
	}
	switch k := KindOf(r); k {
	case Image, Audio, Video, Table, HTML:
		return k
	case JSON:
		if strings.HasSuffix(r.Name, tableEnd) {
			return Table
		}
	case Text:
		if path.Ext(r.Name) == ".txt" {
			return Text
		}
	}
	return ""
}

// stem returns a name without its ending.
func stem(name string) string {
	for _, end := range []string{".histogram.json", tableEnd} {
		if s, ok := strings.CutSuffix(name, end); ok {
			return s
		}
	}
	return strings.TrimSuffix(name, path.Ext(name))
}

// mediaOf returns the media among artifacts, with the name, step and place of each. KEY_A_B may
// be place B of a list at step A, or step B of KEY_A. It is a list if, in the same run, the places
// of each step run from 0 without a gap and at least one step has several.
func mediaOf(artifacts []files.Artifact) []Medium {
	type series struct {
		key  string
		kind Kind
		run  string
	}
	var all []Medium
	pairs := map[series]map[int64][]int64{} // places by step
	twice := map[int]series{}               // by index in all
	for _, r := range artifacts {
		k := mediaKindOf(r)
		if k == "" || r.IterationID == nil || noMedium.MatchString(r.Name) {
			continue
		}
		m := Medium{ID: r.ID, Run: *r.IterationID, Name: r.Name, Bytes: r.SizeBytes, Kind: k}
		name := stem(r.Name)
		if found := wandbName.FindStringSubmatch(name); found != nil {
			m.Key, m.Step = found[1], whole(found[2])
		} else if found := mlflowName.FindStringSubmatch(name); found != nil {
			if found[3] != "" {
				continue
			}
			m.Key, m.Step = strings.ReplaceAll(found[1], "#", "/"), whole(found[2])
		} else if found := ownName.FindStringSubmatch(name); found != nil {
			m.Key, m.Step = found[1], whole(found[2])
			if found[3] != "" {
				m.Place = *whole(found[3])
				s := series{m.Key, k, m.Run}
				if pairs[s] == nil {
					pairs[s] = map[int64][]int64{}
				}
				pairs[s][*m.Step] = append(pairs[s][*m.Step], m.Place)
				twice[len(all)] = s
			}
		} else {
			m.Key = name
		}
		if m.Step == nil && k == Text { // a file, rather than a text that was logged
			continue
		}
		all = append(all, m)
	}
	for at, s := range twice {
		if !isList(pairs[s]) {
			m := &all[at]
			m.Key, m.Step, m.Place = m.Key+"_"+strconv.FormatInt(*m.Step, 10), new(m.Place), 0
		}
	}
	return all
}

// isList reports whether the places of each step run from 0 without a gap and at least one step has several.
func isList(places map[int64][]int64) bool {
	several := false
	for _, all := range places {
		slices.Sort(all)
		all = slices.Compact(all)
		several = several || len(all) > 1
		if all[0] != 0 || all[len(all)-1] != int64(len(all)-1) {
			return false
		}
	}
	return several
}

func whole(digits string) *int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
