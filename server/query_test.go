package server_test

import "testing"

// When several query parameters are wrong, the error always names the same one: the first unknown
// or repeated parameter in alphabetical order, or else the first invalid one in the order of the
// API description.
func TestSameMistakeIsNamedEachTime(t *testing.T) {
	a := start(t)
	iteration := a.running()
	for _, tt := range []struct{ path, field string }{
		{"/project?offset=x&limit=x", "limit"},
		{"/project?z=1&y=1&x=1&b=1&a=1", "a"},
		{"/project?offset=1&offset=2&limit=1&limit=2", "limit"},
		{"/metric/iteration/" + iteration + "/series?to=x&from=x", "from"},
	} {
		for range 30 { // a map with two keys is in the right order half of the time
			a.get(tt.path).fails(422, "INVALID_PAYLOAD", tt.field)
		}
	}
	for range 30 {
		a.do("POST", "/series", `{"iterations":["`+iteration+`"],"to":"x","from":"x"}`).fails(422, "INVALID_PAYLOAD", "from")
	}
}
