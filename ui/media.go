package ui

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/ui/preview"
)

// mediaKey is a name under which runs have logged media.
type mediaKey struct {
	Key   string       `json:"key"`
	Kind  preview.Kind `json:"kind"`
	Count int          `json:"count"`
	Steps []int64      `json:"steps"`
}

// mediaRuns is the maximum number of runs whose media are shown at once.
const mediaRuns = 50

// media parses a media request and reads the requested media.
func (s *site) media(r *http.Request, actor domain.Actor) (q preview.MediaQuery, found preview.Media, err error) {
	if err := readBody(r, &q); err != nil {
		return q, found, err
	}
	if len(q.Iterations) > mediaRuns {
		return q, found, domain.Invalid("iterations", "A request for media may name up to %d runs.", mediaRuns)
	}
	err = s.DB.View(r.Context(), actor, func(db *store.View) (err error) {
		found, err = preview.ReadMedia(r.Context(), db, q)
		return err
	})
	return q, found, err
}

// mediaData returns the names under which runs logged media. If the request contains a name,
// mediaData returns the media with that name.
func (s *site) mediaData(r *http.Request, actor domain.Actor) (any, error) {
	q, found, err := s.media(r, actor)
	if err != nil {
		return nil, err
	}
	if q.Key != "" {
		under := []preview.Medium{}
		for _, m := range found.All {
			if m.Key == q.Key && m.Kind == q.Kind {
				under = append(under, m)
			}
		}
		return map[string]any{"media": under, "labels": found.Labels}, nil
	}
	type name struct {
		key  string
		kind preview.Kind
	}
	byName := map[name]*mediaKey{}
	keys := []*mediaKey{}
	for _, m := range found.All {
		k := byName[name{m.Key, m.Kind}]
		if k == nil {
			k = &mediaKey{Key: m.Key, Kind: m.Kind, Steps: []int64{}}
			byName[name{m.Key, m.Kind}] = k
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
	return map[string]any{"keys": keys, "more": found.More}, nil
}

// framePolicy isolates a logged HTML page. The page gets its own origin and can read neither the
// cookies nor the pages of this site. The page can't load other resources.
const framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
	"img-src data: blob:; media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'; "

// vegaPolicy isolates a chart that Vega draws. The frame loads the scripts of this site, and
// nothing else. Vega's interpreter of expressions needs no eval.
const vegaPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; " +
	"form-action 'none'; base-uri 'none'; "

// artifactFrame responds with a logged HTML page or chart for a frame. If a browser opens the address
// of an HTML page itself, artifactFrame offers the file as a download: the page could navigate to
// another site. Browsers send no Sec-Fetch-Dest to other hosts without TLS.
func (s *site) artifactFrame(w http.ResponseWriter, r *http.Request, user domain.User) error {
	a, data, err := s.DB.Files.OpenArtifact(r.Context(), user.Actor(), idOf(r))
	if err != nil {
		return err
	}
	defer data.Close()
	_, ancestors, _ := strings.Cut(s.policy(), "frame-ancestors")
	switch kind := preview.KindOf(a); {
	case kind == preview.JSON && a.SizeBytes <= preview.MaxJSON:
		body, err := io.ReadAll(data)
		if err != nil {
			return err
		}
		language := preview.VegaOf(a, body)
		if language == "" {
			return errNoPage
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", vegaPolicy+"frame-ancestors"+ancestors)
		return vegaFrame(frame{base: s.BasePath, assets: s.assets}, a.Name, language, string(body)).Render(r.Context(), w)
	case kind != preview.HTML:
		return errNoPage
	}
	w.Header().Add("Vary", "Sec-Fetch-Dest")
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "iframe" {
		return s.sendArtifact(w, r, user, true)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	web.ServeContentUnder(w, r, a, data, framePolicy+"frame-ancestors"+ancestors, func(e *domain.Error) { s.fail(w, r, e) })
	return nil
}
