package mlflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestRunPages reads four runs in pages of every size. Only the last page has no token, whether or
// not it is full.
func TestRunPages(t *testing.T) {
	b, e, _ := searchBed(t)
	for size := 1; size <= 5; size++ {
		var names []string
		token, pages := "", 0
		for {
			a := b.post("runs/search", fmt.Sprintf(`{"experiment_ids": [%q], "filter": "params.lr LIKE '%%'",
				"order_by": ["attributes.run_name"], "max_results": %d, "page_token": %q}`, e, size, token))
			names = append(names, a.names())
			pages++
			var page struct {
				Token string `json:"next_page_token"`
			}
			b.must(json.Unmarshal([]byte(a.body), &page))
			if token = page.Token; token == "" || pages > 4 {
				break
			}
		}
		if got := strings.Join(names, " "); got != "a b c d" || pages != (4+size-1)/size {
			t.Errorf("pages of %d: %d with %q", size, pages, got)
		}
	}
}
