package server

import (
	"crypto/sha256"
	"net/http"

	"tracker/store/domain"
)

// idempotencyKey returns the idempotency key of a request, bound to the path, query and body. Its
// Key field is empty if the request has no key.
func idempotencyKey(r *http.Request, body []byte) (domain.IdempotencyKey, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return domain.IdempotencyKey{}, nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= 1 && len(key) <= 128
	for _, c := range []byte(key) {
		ok = ok && c >= ' ' && c <= '~'
	}
	if !ok {
		return domain.IdempotencyKey{}, domain.Invalid("Idempotency-Key",
			"Idempotency-Key must be one header of 1 to 128 visible ASCII characters, such as a UUID.")
	}
	h := sha256.New()
	h.Write([]byte(r.URL.RawQuery))
	h.Write([]byte{0})
	h.Write(body)
	return domain.IdempotencyKey{Path: r.URL.EscapedPath(), Key: key, BodyHash: h.Sum(nil)}, nil
}
