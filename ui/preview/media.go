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
	"tracker/ui/plain"
)

// MediaQuery selects the media of runs. If Key is set, MediaQuery selects only media with this
// name.
type MediaQuery struct {
	Iterations []string `json:"iterations"`
	Key        string   `json:"key,omitzero"`
	Kind       Kind     `json:"kind,omitzero"`
}

// Media holds the media that a MediaQuery selects.
type Media struct {
	All    []Medium
	Labels []labels // class labels of boxes and masks
	More   bool     // whether media were omitted because of a limit
}

// ReadMedia reads the media that q selects. Boxes and masks are read only if q selects images
// with one name.
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

// maxCaption is the maximum number of characters of a caption.
const maxCaption = 300

// Histogram is the kind of a histogram that the Python client or the W&B client logged. For a
// histogram artifact, KindOf returns JSON.
const Histogram Kind = "histogram"

// Medium is a media item that a run logged, in the JSON format of the scripts.
type Medium struct {
	ID    string `json:"id"`
	Run   string `json:"run"`
	Name  string `json:"name"`           // artifact name
	Step  *int64 `json:"step,omitempty"` // nil if the artifact name contains no step
	Place int64  `json:"place"`          // index in a list that was logged at one step
	Bytes int64  `json:"bytes"`
	// Caption is the beginning of the artifact's description.
	Caption string `json:"caption,omitempty"`

	Marks []marked `json:"marks,omitempty"` // boxes and masks of an image

	Key  string `json:"-"`
	Kind Kind   `json:"-"`
}

// marked holds the boxes or the mask that an image has under one name.
type marked struct {
	Name   string `json:"name"`
	Boxes  string `json:"boxes,omitempty"` // ID of the artifact with the boxes, "" for a mask
	Mask   string `json:"mask,omitempty"`  // ID of the artifact with the mask, "" for boxes
	Labels int    `json:"labels"`          // index in Media.Labels
}

// labels maps class numbers to class names.
type labels map[string]string

var (
	// The Python client names media KEY_STEP.END. For a list, the Python client names media
	// KEY_STEP_PLACE.END.
	ownName = regexp.MustCompile(`^(.+?)(?:_(\d{1,15}))?(?:_(\d{1,15}))?$`)
	// The W&B client appends the step and a part of the hash.
	wandbName = regexp.MustCompile(`^media/[^/]+/(.+)_(\d{1,15})_[0-9a-f]{20}$`)
	// MLflow's log_image replaces slashes with # and also logs a smaller copy of each image.
	mlflowName = regexp.MustCompile(`^images/(.+?)%step%(\d{1,15})%timestamp%\d+%[0-9a-f-]+(%compressed)?$`)
	// Files of a W&B artifact are named NAME:vN/FILE. Mask files are shown over their images,
	// not as images.
	noMedium = regexp.MustCompile(`^([^/]+:v\d+/|media/images/mask/)`)
)

// mediaKindOf returns the kind of a media item, or "" if the artifact is not media.
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

// stem returns an artifact name without its file extension.
func stem(name string) string {
	for _, end := range []string{".histogram.json", tableEnd} {
		if s, ok := strings.CutSuffix(name, end); ok {
			return s
		}
	}
	return strings.TrimSuffix(name, path.Ext(name))
}

// mediaOf returns the media among artifacts, with the key, step and place of each. The name KEY_A_B
// can mean place B in a list at step A, or step B of the key KEY_A. It is read as a list if isList
// is true for the run's media with this key.
func mediaOf(artifacts []files.Artifact) []Medium {
	type series struct {
		key  string
		kind Kind
		run  string
	}
	var all []Medium
	pairs := map[series]map[int64][]int64{} // places by step
	twice := map[int]series{}               // ambiguous names by index in all
	for _, r := range artifacts {
		k := mediaKindOf(r)
		if k == "" || r.IterationID == nil || noMedium.MatchString(r.Name) {
			continue
		}
		m := Medium{ID: r.ID, Run: *r.IterationID, Name: r.Name, Bytes: r.SizeBytes, Caption: plain.Line(r.Description, maxCaption), Kind: k}
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
		if m.Step == nil && k == Text { // an ordinary text file, not logged media
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

// LoggedMedia returns the ids of the media that runs logged at a step, and of the files that belong
// to them: masks, boxes and smaller copies.
func LoggedMedia(artifacts []files.Artifact) map[string]bool {
	logged := map[string]bool{}
	for _, m := range mediaOf(artifacts) {
		if m.Step != nil {
			logged[m.ID] = true
		}
	}
	for _, a := range artifacts {
		copied := mlflowName.FindStringSubmatch(stem(a.Name))
		if strings.HasPrefix(a.Name, "media/") || copied != nil && copied[3] != "" {
			logged[a.ID] = true
		}
	}
	return logged
}

// InVersion reports whether the name is the name of a file of an artifact version.
func InVersion(name string) bool { return versionFolder.MatchString(name) }

// isList reports whether the places of each step count from 0 without a gap and at least one
// step has several places.
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
