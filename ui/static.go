package ui

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/gorilla/mux"

	"tracker/store/json"
)

// dist holds the files that browsers load. go generate builds them from the sources in static.
//
//go:embed dist
var dist embed.FS

// assets holds the files that browsers load.
type assets struct {
	bySource map[string]asset // assets by source name, for example page.css
	files    map[string][]byte
}

// asset is an entry of manifest.json.
type asset struct {
	File    string   `json:"file"`    // file name that contains a hash of the content
	Imports []string `json:"imports"` // files that a module imports statically
}

// contentTypes maps file extensions to content types. The type table of the operating system is
// not used, because it differs between systems. With nosniff, browsers reject a wrong content
// type.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// loadAssets reads manifest.json and the files that it lists.
func loadAssets() (assets, error) {
	a := assets{files: map[string][]byte{}}
	manifest, err := dist.ReadFile("dist/manifest.json")
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(manifest, &a.bySource); err != nil {
		return a, fmt.Errorf("dist/manifest.json: %w", err)
	}
	for _, entry := range a.bySource {
		for _, name := range append(entry.Imports, entry.File) {
			if a.files[name], err = dist.ReadFile("dist/" + name); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// static serves a file of dist. Browsers can cache the file forever, because its name changes
// with its content.
func (s *site) static(w http.ResponseWriter, r *http.Request) error {
	name := mux.Vars(r)["file"]
	body, ok := s.assets.files[name]
	if !ok {
		return errNoPage
	}
	h := w.Header()
	h.Set("Content-Type", contentTypes[path.Ext(name)])
	h.Set("ETag", `"`+name+`"`)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	return nil
}
