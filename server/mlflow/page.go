package mlflow

import (
	"encoding/base64"
	"strconv"

	"tracker/store/domain"
)

// requestedPage returns the page that a request selects. See maxResults for the limits of the page
// size.
func requestedPage(asked integer, token text, fallback, most int64) (domain.Page, error) {
	n, err := maxResults(asked, fallback, most)
	if err != nil {
		return domain.Page{}, err
	}
	offset, err := pageOffset(string(token))
	return domain.Page{Limit: n, Offset: offset}, err
}

// maxResults returns the requested page size. If the request has none, maxResults returns
// fallback. It returns an error if the size is not between 1 and most.
func maxResults(asked integer, fallback, most int64) (int, error) {
	n := asked.or(fallback)
	if n < 0 || n == 0 && asked.set {
		return 0, domain.Invalid("max_results", "Invalid value %d for parameter 'max_results': it must be between 1 and %d.", n, most)
	}
	if n > most {
		return 0, domain.Invalid("max_results", "Invalid value %d for parameter 'max_results': it must be at most %d.", n, most)
	}
	return int(n), nil
}

// pageOffset returns the offset in a page token. The token "" means 0.
func pageOffset(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	raw, err := base64.URLEncoding.DecodeString(token)
	if err == nil {
		var n int
		if n, err = strconv.Atoi(string(raw)); err == nil && n >= 0 {
			return n, nil
		}
	}
	return 0, domain.Invalid("page_token", "Invalid page token; start again from the first page.")
}

// pageToken returns the token for the next page. The current page has n records and starts at
// offset. pageToken returns "" if the current page is the last page.
func pageToken(offset, n, total int) string {
	if n == 0 || offset+n >= total {
		return ""
	}
	return base64.URLEncoding.EncodeToString([]byte(strconv.Itoa(offset + n)))
}
