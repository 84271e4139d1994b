package server_test

import "testing"

func TestConsole(t *testing.T) {
	a := start(t)
	path := "/iteration/" + a.running() + "/console"
	a.get(path).is(`{"lines":[],"first":0,"next":0}`)
	a.do("POST", path, `{"from":0,"lines":["epoch 1","10%"]}`).wants(201).is(`{"next":2}`)
	a.do("POST", path, `{"from":1,"lines":["100%"]}`).wants(201).is(`{"next":2}`)
	a.do("POST", path, `{"lines":["Epoch 2"]}`).wants(201).is(`{"next":3}`)
	a.get(path + "?from=1").has(`{"lines":[{"number":1,"text":"100%"},{"number":2,"text":"Epoch 2"}],"first":0,"next":3}`)
	a.get(path + "?q=epoch").has(`{"lines":[{"number":0},{"number":2}]}`)
	for _, from := range []string{"", "x", "-1", "1.5"} {
		a.do("GET", path+"?from="+from, "", loose).fails(422, "INVALID_PAYLOAD", "from")
	}
	a.do("POST", path, `{"from":-1,"lines":[]}`, loose).fails(422, "INVALID_PAYLOAD", "from")
	a.do("POST", path, `{"from":0}`, loose).fails(422, "INVALID_PAYLOAD", "lines")
}
