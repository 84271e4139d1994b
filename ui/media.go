package ui

import (
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
)

// histogramKind is the kind of histograms that the Python client logs. A preview shows them as JSON.
const histogramKind kind = "histogram"

// medium is an artifact that was logged under a name, in the form for scripts.
type medium struct {
	ID    string `json:"id"`
	Run   string `json:"run"`
	Name  string `json:"name"`           // name of the artifact
	Step  *int64 `json:"step,omitempty"` // nil where the name has none
	Place int64  `json:"place"`          // in a list that was logged at once
	Bytes int64  `json:"bytes"`

	Marks []marked `json:"marks,omitempty"` // boxes and masks of an image

	key  string
	kind kind
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

// mediaKey is a name under which media were logged.
type mediaKey struct {
	Key   string  `json:"key"`
	Kind  kind    `json:"kind"`
	Count int     `json:"count"`
	Steps []int64 `json:"steps"`
}

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
func mediaKindOf(r files.Artifact) kind {
	if strings.HasSuffix(r.Name, ".histogram.json") {
		return histogramKind
	}
	switch k := kindOf(r); k {
	case imageKind, audioKind, videoKind, tableKind, htmlKind:
		return k
	case jsonKind:
		if strings.HasSuffix(r.Name, tableEnd) {
			return tableKind
		}
	case textKind:
		if path.Ext(r.Name) == ".txt" {
			return textKind
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

// mediaOfRuns returns the media among artifacts, with the name, step and place of each. KEY_A_B may
// be place B of a list at step A, or step B of KEY_A. It is a list if, in the same run, the places
// of each step run from 0 without a gap and at least one step has several.
func mediaOfRuns(artifacts []files.Artifact) []medium {
	type series struct {
		key  string
		kind kind
		run  string
	}
	var all []medium
	pairs := map[series]map[int64][]int64{} // places by step
	twice := map[int]series{}               // by index in all
	for _, r := range artifacts {
		k := mediaKindOf(r)
		if k == "" || r.IterationID == nil || noMedium.MatchString(r.Name) {
			continue
		}
		m := medium{ID: r.ID, Run: *r.IterationID, Name: r.Name, Bytes: r.SizeBytes, kind: k}
		name := stem(r.Name)
		if found := wandbName.FindStringSubmatch(name); found != nil {
			m.key, m.Step = found[1], whole(found[2])
		} else if found := mlflowName.FindStringSubmatch(name); found != nil {
			if found[3] != "" {
				continue
			}
			m.key, m.Step = strings.ReplaceAll(found[1], "#", "/"), whole(found[2])
		} else if found := ownName.FindStringSubmatch(name); found != nil {
			m.key, m.Step = found[1], whole(found[2])
			if found[3] != "" {
				m.Place = *whole(found[3])
				s := series{m.key, k, m.Run}
				if pairs[s] == nil {
					pairs[s] = map[int64][]int64{}
				}
				pairs[s][*m.Step] = append(pairs[s][*m.Step], m.Place)
				twice[len(all)] = s
			}
		} else {
			m.key = name
		}
		if m.Step == nil && k == textKind { // a file, rather than a text that was logged
			continue
		}
		all = append(all, m)
	}
	for at, s := range twice {
		if !isList(pairs[s]) {
			m := &all[at]
			m.key, m.Step, m.Place = m.key+"_"+strconv.FormatInt(*m.Step, 10), new(m.Place), 0
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

// mediaRequest requests the names of the media of runs, or all media under one name.
type mediaRequest struct {
	Iterations []string `json:"iterations"`
	Key        string   `json:"key,omitzero"`
	Kind       kind     `json:"kind,omitzero"`
}

// mediaRuns is the maximum number of runs whose media are shown at once.
const mediaRuns = 50

// mediaFound holds the requested media.
type mediaFound struct {
	all    []medium
	labels []labels // class labels of the marks
	more   bool     // whether there are further media
}

// media parses a request for media and reads them.
func (s *site) media(r *http.Request, actor domain.Actor) (q mediaRequest, found mediaFound, err error) {
	if err := readBody(r, &q); err != nil {
		return q, found, err
	}
	if len(q.Iterations) > mediaRuns {
		return q, found, domain.Invalid("iterations", "Ask for the media of up to %d runs at once.", mediaRuns)
	}
	err = s.DB.View(r.Context(), actor, func(db *store.View) error {
		artifacts, cut, err := db.Files.MadeArtifacts(q.Iterations)
		if err != nil {
			return err
		}
		found.all, found.more = mediaOfRuns(artifacts), cut
		switch {
		case q.Key != "" && q.Kind == imageKind:
			return found.addMarks(r.Context(), db, q, artifacts)
		case q.Key != "" && q.Kind != "" && q.Kind != histogramKind:
			return nil
		}
		histograms, cut, err := historyHistograms(db, q.Iterations)
		found.all, found.more = append(found.all, histograms...), found.more || cut
		return err
	})
	return q, found, err
}

// mediaData answers with the names under which media were logged, or with the media of one name.
func (s *site) mediaData(r *http.Request, actor domain.Actor) (any, error) {
	q, found, err := s.media(r, actor)
	if err != nil {
		return nil, err
	}
	if q.Key != "" {
		under := []medium{}
		for _, m := range found.all {
			if m.key == q.Key && m.kind == q.Kind {
				under = append(under, m)
			}
		}
		return map[string]any{"media": under, "labels": found.labels}, nil
	}
	type name struct {
		key  string
		kind kind
	}
	byName := map[name]*mediaKey{}
	keys := []*mediaKey{}
	for _, m := range found.all {
		k := byName[name{m.key, m.kind}]
		if k == nil {
			k = &mediaKey{Key: m.key, Kind: m.kind, Steps: []int64{}}
			byName[name{m.key, m.kind}] = k
			keys = append(keys, k)
		}
		k.Count++
		if m.Step != nil {
			k.Steps = append(k.Steps, *m.Step)
		}
	}
	for _, k := range keys {
		slices.Sort(k.Steps)
		k.Steps = slices.Compact(k.Steps)
	}
	slices.SortStableFunc(keys, func(a, b *mediaKey) int { return strings.Compare(a.Key, b.Key) })
	return map[string]any{"keys": keys, "more": found.more}, nil
}

// framePolicy isolates a logged HTML page: the page has its own origin, so it can read neither
// cookies nor pages of this site, and it loads nothing.
const framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
	"img-src data: blob:; media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'; "

// artifactFrame answers with a logged HTML page, to be shown in a frame.
func (s *site) artifactFrame(w http.ResponseWriter, r *http.Request, user domain.User) error {
	a, data, err := s.DB.Files.OpenArtifact(r.Context(), domain.Actor{UserID: user.ID}, idOf(r))
	if err != nil {
		return err
	}
	defer data.Close()
	if kindOf(a) != htmlKind {
		return errNoPage
	}
	_, ancestors, _ := strings.Cut(s.policy(), "frame-ancestors")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	web.ServeContentUnder(w, r, a, data, framePolicy+"frame-ancestors"+ancestors, func(e *domain.Error) { s.fail(w, r, e) })
	return nil
}
