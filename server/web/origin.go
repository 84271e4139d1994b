package web

import (
	"net/http"
	"slices"
)

const (
	exposedHeaders = "Location, Retry-After, X-Request-Id, Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, " +
		"Resource-Id, Tus-Checksum-Algorithm, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, " +
		"Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset"
	allowedHeaders = "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Content-Digest, If-None-Match, If-Range, Range, " +
		"Tus-Resumable, Upload-Checksum, Upload-Length, Upload-Metadata, Upload-Offset"
)

// AllowOrigins returns a handler that lets pages from the trusted origins read the responses of
// next. It also answers preflight requests of browsers (CORS).
func AllowOrigins(next http.Handler, trusted []string) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !slices.Contains(trusted, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PATCH, DELETE")
			h.Set("Access-Control-Allow-Headers", allowedHeaders)
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// CrossOrigin returns a handler that passes requests to next, but passes writes from pages of other
// origins to deny unless the origin is trusted. CrossOrigin returns an error if a trusted origin is
// invalid.
func CrossOrigin(next http.Handler, trusted []string, deny http.Handler) (http.Handler, error) {
	p := http.NewCrossOriginProtection()
	for _, origin := range trusted {
		if err := p.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	p.SetDenyHandler(deny)
	return p.Handler(next), nil
}
