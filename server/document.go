package server

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"tracker/server/web"
)

//go:embed openapi.yaml
var openapiYAML []byte

// openapiJSON returns openapiYAML converted to JSON.
var openapiJSON = sync.OnceValues(func() ([]byte, error) {
	var doc any
	if err := yaml.Unmarshal(openapiYAML, &doc); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
})

// Document returns a handler that serves the API's description as /openapi.yaml and
// /openapi.json without a token.
func Document() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := writeDocument(w, r); err != nil {
			web.WriteError(w, r, err)
		}
	})
}

func (s *Server) document(c *call) error { return writeDocument(c.w, c.r) }

func writeDocument(w http.ResponseWriter, r *http.Request) error {
	body, contentType := openapiYAML, "application/yaml"
	if strings.HasSuffix(r.URL.Path, ".json") {
		var err error
		if body, err = openapiJSON(); err != nil {
			return err
		}
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, err := w.Write(body)
	return err
}
