package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"

	"github.com/gorilla/mux"
)

//go:embed static
var staticFiles embed.FS

// asset is an embedded file.
type asset struct {
	body        []byte
	hash        string // of the content, as it is in the address
	contentType string
}

// The table of the operating system is not asked: it differs from one to the
// next, and browsers take no guess for an answer under nosniff.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func loadAssets() (map[string]asset, error) {
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	assets := map[string]asset{}
	for _, e := range entries {
		body, err := fs.ReadFile(staticFiles, "static/"+e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		a := asset{body: body, hash: hex.EncodeToString(sum[:8]), contentType: contentTypes[path.Ext(e.Name())]}
		if a.contentType == "" {
			a.contentType = "text/plain; charset=utf-8"
		}
		assets[e.Name()] = a
	}
	return assets, nil
}

// static serves an embedded file. An address with the hash of the content may
// be kept for good, any other must be asked for again.
func (s *site) static(w http.ResponseWriter, r *http.Request) error {
	name := mux.Vars(r)["file"]
	a, ok := s.assets[name]
	if !ok {
		return errNoPage
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("ETag", `"`+a.hash+`"`)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(a.body))
	return nil
}
