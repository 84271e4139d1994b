package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"tracker/store/domain"
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

// CrossOriginError returns the error for a write of a page of another origin. The message begins with
// text.
func CrossOriginError(r *http.Request, text string) error {
	if advice := originAdvice(r); advice != "" {
		text += " " + advice
	}
	return domain.Errorf(CodeCrossOrigin, "%s", text)
}

// originAdvice returns a sentence that explains a rejected write if it can come from a page of this
// server: if the browser has sent no Sec-Fetch-Site, and a proxy can have replaced the Host header,
// with which the origin is compared. Otherwise it returns "".
func originAdvice(r *http.Request) string {
	u, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || u.Host == "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return ""
	}
	return fmt.Sprintf("The page is from %q, but the request names the host %q. If both are this server, its proxy replaces the header Host: "+
		"let it pass the header on (in nginx: proxy_set_header Host $http_host;), or set SERVICE_PUBLIC_URL to the public address.",
		Clip(u.Scheme+"://"+u.Host), Clip(r.Host))
}
