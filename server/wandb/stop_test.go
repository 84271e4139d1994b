package wandb_test

import (
	"fmt"
	"testing"

	"tracker/store/domain"
)

// After a user requests a stop, the client is told to stop its script. The run then ends as killed,
// whatever the exit code.
func TestStopRequest(t *testing.T) {
	t.Parallel()
	const going, stopped = `{"exitcode":null,"limits":{},"stopped":false}`, `{"exitcode":null,"limits":{},"stopped":true}`
	for _, code := range []int{0, 1, 255} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			b := start(t, false)
			b.run("p", "r")
			id := b.id("p", "r")
			b.stream("p", "r", `{}`).is(going)
			b.query(`{ project(name: "p") { run(name: "r") { stopped } } }`, nil).has(`"stopped":false`)
			b.must(b.db.Runs.RequestStop(t.Context(), domain.System, id))
			b.query(`{ project(name: "p") { run(name: "r") { stopped state } } }`, nil).has(`"stopped":true`)
			b.history("p", "r", 0, `{"_step":0,"ok":1}`).is(stopped)
			b.run("p", "r") // clients also send this when settings change
			b.history("p", "r", 1, `{"_step":1,"ok":1}`).is(stopped)
			b.stream("p", "r", fmt.Sprintf(`{"complete":true,"exitcode":%d}`, code)).is(stopped)
			it, err := b.db.Runs.Iteration(t.Context(), domain.System, id)
			b.must(err)
			if it.Status != domain.Killed || it.ErrorMessage != "Stopped on request." || it.StopRequested != nil || b.points("p", "r") != "ok 0 1, ok 1 1" {
				t.Errorf("the run is %s, %q, %v, with %s", it.Status, it.ErrorMessage, it.StopRequested, b.points("p", "r"))
			}
			b.run("p", "r") // resumes the run
			b.stream("p", "r", `{}`).is(going)
		})
	}
}

// A stop request does not affect a run that was lost and starts again.
func TestLostRunStartsWithoutStopRequest(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	b.must(b.db.Runs.RequestStop(t.Context(), domain.System, b.id("p", "r")))
	b.now.Add(6 * 60_000)
	b.run("p", "r")
	b.stream("p", "r", `{}`).has(`"stopped":false`)
}

// Clients since 0.17 do not interrupt a function that an agent runs, so the agent gets a stop
// command if the function still logs. A sweep's script is interrupted by its own client.
func TestStopRunOfAgent(t *testing.T) {
	t.Parallel()
	const program = `{"program":"train.py","method":"grid","parameters":{"x":{"values":[1,2,3]}}}`
	for config, command := range map[string]string{grid: "stop ", program: ""} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			b := start(t, false)
			sweep := b.sweep(config)
			agent := b.agent(sweep)
			name := b.given(b.beat(agent), 1)
			b.begin(name, sweep)
			b.must(b.db.Runs.RequestStop(t.Context(), domain.System, b.id("p", name)))
			b.says(b.beat(agent, name), "")
			for step := range 2 {
				b.history("p", name, step, fmt.Sprintf(`{"_step":%d,"loss":2}`, step)).has(`"stopped":true`)
				want := ""
				if step == 1 && command != "" {
					want = command + name
				}
				b.says(b.beat(agent, name), want)
			}
			b.stream("p", name, `{"complete":true,"exitcode":1}`).wants(200)
			b.says(b.beat(agent, name), "")
			it, err := b.db.Runs.Iteration(t.Context(), domain.System, b.id("p", name))
			if b.must(err); it.Status != domain.Killed || it.ErrorMessage != "Stopped on request." {
				t.Errorf("the run is %s, %q", it.Status, it.ErrorMessage)
			}
			b.given(b.beat(agent), 2)
		})
	}
}
