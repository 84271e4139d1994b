package server_test

import (
	"strings"
	"testing"
	"time"
)

func TestDiagnosis(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	id := a.do("POST", "/iteration/experiment/"+e, `{}`).id()
	path := "/iteration/" + id + "/diagnosis"
	a.get(path).has(`{"iteration_id":"` + id + `","outcome":"running","crash":null,"findings":[],"console":[],"console_line":null,"alike":[],"alike_total":0}`)
	for step, value := range []string{"2", `"NaN"`} {
		a.do("POST", "/metric/iteration/"+id, `{"key":"loss","step":`+string(rune('0'+step))+`,"value":`+value+`}`).wants(201)
	}
	a.do("POST", "/iteration/"+id+"/console", `{"lines":["epoch 1","Traceback (most recent call last):","  File \"train.py\", line 7, in step","    check(loss)","ValueError: nan"]}`).wants(201)
	a.do("PATCH", "/iteration/"+id, `{"status":"FAILED","error_message":"exit code 1"}`).wants(204)
	a.get(path).has(`{"outcome":"failed","crash":{"kind":"exception","exception":"ValueError","message":"nan","file":"train.py","line":7,"function":"step","code":"check(loss)"},
		"findings":[{"kind":"end","text":"The run failed with ValueError: nan. In train.py line 7, function step.","key":"","step":null},
			{"kind":"bad_value","text":"loss is NaN from step 1 on.","key":"loss","step":1}],"console_line":4}`)
	lost := a.do("POST", "/iteration/experiment/"+e, `{}`).id()
	a.clock.move(time.Hour)
	got := a.get("/iteration/" + lost + "/diagnosis").has(`{"outcome":"lost","alike_total":0}`)
	if !strings.Contains(got.body, "The run was lost") {
		t.Error(got.body)
	}
	a.do("GET", path+"?x=1", "", loose).fails(422, "INVALID_PAYLOAD", "x")
	a.get("/iteration/none/diagnosis").fails(404, "NOT_FOUND", "")
}
