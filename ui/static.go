package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"
)

//go:embed static
var staticFiles embed.FS

// asset is an embedded file.
type asset struct {
	body        []byte
	hash        string // of the content of all files, as it is in the address
	contentType string
	imports     []string // the modules that it names, for one that is no lazy import
}

// importing finds where a script names another one.
var importing = regexp.MustCompile(`(from |import\(|import )'\./([a-z]+\.js)'`)

// remark finds lines of a script that are for who reads its source.
var remark = regexp.MustCompile(`(?m)^ *//.*\n`)

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
	sum := sha256.New()
	for _, e := range entries {
		body, err := fs.ReadFile(staticFiles, "static/"+e.Name())
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%s %d\n%s", e.Name(), len(body), body)
		a := asset{body: body, contentType: contentTypes[path.Ext(e.Name())]}
		if a.contentType == "" {
			a.contentType = "text/plain; charset=utf-8"
		}
		assets[e.Name()] = a
	}
	hash := hex.EncodeToString(sum.Sum(nil)[:8])
	for name, a := range assets {
		a.hash = hash
		if strings.HasSuffix(name, ".js") {
			a.pin()
		}
		assets[name] = a
	}
	return assets, nil
}

// pin has a script name others by the address that may be kept for good, so
// that a browser does not ask whether they have changed, one after the other.
// Remarks are left out.
func (a *asset) pin() {
	for _, m := range importing.FindAllSubmatch(a.body, -1) {
		if string(m[1]) != "import(" {
			a.imports = append(a.imports, string(m[2]))
		}
	}
	a.body = importing.ReplaceAll(remark.ReplaceAll(a.body, nil), []byte("${1}'./${2}?v="+a.hash+"'"))
}

// modules are all scripts that one needs to run, itself left out, by name.
func modules(assets map[string]asset, name string) []string {
	found := map[string]bool{}
	var follow func(string)
	follow = func(name string) {
		for _, next := range assets[name].imports {
			if !found[next] {
				found[next] = true
				follow(next)
			}
		}
	}
	follow(name)
	delete(found, name)
	return slices.Sorted(maps.Keys(found))
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
