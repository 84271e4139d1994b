package ui_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestPythonClientNeedsNoSignIn follows the links of the index to the wheel,
// as pip does.
func TestPythonClientNeedsNoSignIn(t *testing.T) {
	link := regexp.MustCompile(`href="([^"#]*)`)
	for _, base := range []string{"", "/lab/one"} {
		t.Run(fmt.Sprintf("base %q", base), func(t *testing.T) {
			s := start(t, setup{auth: true, base: base})
			address := base + "/client/python/"
			for range 2 {
				a := s.get(address)
				a.wants(t, 200)
				found := link.FindStringSubmatch(a.body)
				if found == nil || !strings.HasPrefix(found[1], base+"/client/python/runtracker/") {
					t.Fatalf("%s has no link to go on with: %v", address, found)
				}
				address = found[1]
			}
			a := s.get(address)
			a.wants(t, 200)
			if !strings.HasPrefix(a.body, "PK") {
				t.Errorf("%s is not a wheel: %.20q", address, a.body)
			}
			s.get(base+"/client/python/nothing").wants(t, 404)
		})
	}
}
