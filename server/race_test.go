package server_test

import (
	"fmt"
	"sync"
	"testing"
)

// Writers that leave the step to the server get consecutive steps without duplicates.
func TestConcurrentWritersGetConsecutiveSteps(t *testing.T) {
	t.Parallel()
	a := start(t)
	i := a.running()
	const writers, each = 32, 5
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for range each {
				if n%2 == 0 {
					a.do("POST", "/metric/iteration/"+i, `{"key":"loss","value":1}`).wants(201)
				} else {
					a.do("POST", "/metric/iteration/"+i+"/batch", `{"metrics":{"other":1,"loss":1}}`).wants(201)
				}
			}
		})
	}
	all.Wait()
	for key, want := range map[string]int{"loss": writers * each, "other": writers * each / 2} {
		got := a.get("/metric/iteration/" + i + "?limit=1000&key=" + key).has(fmt.Sprintf(`{"total":%d}`, want))
		for step, d := range parse(t, got.body).(map[string]any)["data"].([]any) {
			if s := fmt.Sprint(d.(map[string]any)["step"]); s != fmt.Sprint(step) {
				t.Fatalf("%s: number %d has step %s", key, step, s)
			}
		}
	}
}

// While an iteration is ended and reopened, the stored points match the responses: accepted points
// are stored, rejected points are not.
func TestConcurrentEndAgreesWithEveryAnswer(t *testing.T) {
	t.Parallel()
	a := start(t)
	i := a.running()
	path := "/iteration/" + i
	const writers, each = 8, 20
	accepted := make([]map[string]bool, writers)
	var all sync.WaitGroup
	for n := range writers {
		accepted[n] = map[string]bool{}
		all.Go(func() {
			for range each {
				switch got := a.do("POST", "/metric/iteration/"+i, `{"key":"loss","value":1}`); got.status {
				case 201:
					accepted[n][got.id()] = true
				default:
					got.fails(422, "ITERATION_ENDED", "")
				}
			}
		})
	}
	all.Go(func() {
		for n := range 2 * each {
			a.do("PATCH", path, `{"status":"`+[]string{"FAILED", "RUNNING"}[n%2]+`"}`).wants(204)
		}
	})
	all.Wait()
	want := map[string]bool{}
	for _, ids := range accepted {
		for id := range ids {
			want[id] = true
		}
	}
	got := a.get("/metric/iteration/" + i + "?limit=1000").ids()
	if len(got) != len(want) {
		t.Errorf("%d points are stored, %d were accepted", len(got), len(want))
	}
	for _, id := range got {
		if !want[id] {
			t.Errorf("%s is stored, and was not accepted", id)
		}
	}
	a.end(i)
	a.unchanged(func() {
		a.do("POST", "/metric/iteration/"+i, `{"key":"loss","value":1}`).fails(422, "ITERATION_ENDED", "")
	})
}

// If many callers create the same record at once, exactly one of them creates it.
func TestConcurrentCreatesOfTheSame(t *testing.T) {
	a := start(t)
	w := a.world()
	for _, tt := range []struct {
		path, body string
		again      int // status of all responses except the first
	}{
		{"/user", `{"username":"raced","password":"12345678"}`, 409},
		{"/userpermission/user/" + w["user"] + "/project/" + w["other"], `{}`, 409},
		{"/parameter/iteration/" + w["iteration"], `{"key":"raced","value":1}`, 409},
		{"/iteration/experiment/" + w["experiment"], `{"id":"` + nobody + `"}`, 200},
		{"/tag/project/" + w["project"], `{"value":"raced"}`, 200},
		{"/model/project/" + w["project"], `{"name":"raced"}`, 409},
	} {
		t.Run(tt.path, func(t *testing.T) {
			a := a.on(t)
			statuses := make([]int, 8)
			var all sync.WaitGroup
			for n := range statuses {
				all.Go(func() { statuses[n] = a.do("POST", tt.path, tt.body).status })
			}
			all.Wait()
			count := map[int]int{}
			for _, s := range statuses {
				count[s]++
			}
			if count[201] != 1 || count[tt.again] != len(statuses)-1 {
				t.Errorf("the answers were %v", statuses)
			}
		})
	}
}
