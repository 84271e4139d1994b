package wandb_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// agentCommand is a command for an agent.
type agentCommand struct {
	Type string `json:"type"`
	Run  string `json:"run_id"`
	Args map[string]struct {
		Value any `json:"value"`
	} `json:"args"`
}

// sweep creates a sweep in the project p and returns its id.
func (b bed) sweep(config string) string {
	b.Helper()
	var out struct {
		Data struct {
			UpsertSweep struct {
				Sweep struct {
					Name string `json:"name"`
				} `json:"sweep"`
			} `json:"upsertSweep"`
		} `json:"data"`
	}
	a := b.query(`mutation ($c: String) { upsertSweep(input: {projectName: "p", config: $c}) { sweep { name } } }`, map[string]any{"c": config}).wants(200)
	b.must(json.Unmarshal([]byte(a.body), &out))
	return out.Data.UpsertSweep.Sweep.Name
}

// agent creates an agent of a sweep and returns its id.
func (b bed) agent(sweep string) string {
	b.Helper()
	var out struct {
		Data struct {
			CreateAgent struct {
				Agent struct {
					ID string `json:"id"`
				} `json:"agent"`
			} `json:"createAgent"`
		} `json:"data"`
	}
	a := b.query(`mutation { createAgent(input: {sweep: "`+sweep+`", host: "h"}) { agent { id } } }`, nil).wants(200)
	b.must(json.Unmarshal([]byte(a.body), &out))
	return out.Data.CreateAgent.Agent.ID
}

// beat sends a heartbeat of an agent with its running runs and returns the command in the response.
func (b bed) beat(agent string, running ...string) string {
	b.Helper()
	states := map[string]bool{}
	for _, name := range running {
		states[name] = true
	}
	text, err := json.Marshal(states)
	b.must(err)
	var out struct {
		Data struct {
			AgentHeartbeat struct {
				Commands string `json:"commands"`
			} `json:"agentHeartbeat"`
		} `json:"data"`
	}
	a := b.query(`mutation ($s: JSONString) { agentHeartbeat(input: {id: "`+agent+`", metrics: "{}", runState: $s}) { agent { id } commands } }`,
		map[string]any{"s": string(text)}).wants(200)
	b.must(json.Unmarshal([]byte(a.body), &out))
	var all []agentCommand
	b.must(json.Unmarshal([]byte(out.Data.AgentHeartbeat.Commands), &all))
	var said []string
	for _, c := range all {
		one := c.Type + " " + c.Run
		for name, arg := range c.Args {
			one += fmt.Sprintf(" %s=%v", name, arg.Value)
		}
		said = append(said, one)
	}
	return strings.Join(said, ", ")
}

// given returns the run name in a command to run with x. It stops the test for any other command.
func (b bed) given(said string, x int) string {
	b.Helper()
	name, ok := strings.CutSuffix(said, fmt.Sprintf(" x=%d", x))
	if name, ok2 := strings.CutPrefix(name, "run "); ok && ok2 && !strings.Contains(name, " ") {
		return name
	}
	b.Fatalf("the agent is told %q, want a run with x = %d", said, x)
	return ""
}

// begin starts a run of a sweep as its client would.
func (b bed) begin(name, sweep string) {
	b.Helper()
	b.now.Add(10)
	b.query(`mutation { upsertBucket(input: {modelName: "p", name: "`+name+`", sweep: "`+sweep+`", host: "h"}) { bucket { id } } }`, nil).wants(200)
}

func (b bed) says(got, want string) {
	b.Helper()
	if got != want {
		b.Fatalf("the agent is told %q, want %q", got, want)
	}
}

const grid = `{"method":"grid","parameters":{"x":{"values":[1,2,3]}}}`

// A run whose command was lost is assigned again: to its agent at once, and to another agent after
// some time.
func TestLostCommand(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	sweep := b.sweep(grid)
	one, other := b.agent(sweep), b.agent(sweep)
	first := b.given(b.beat(one), 1)
	b.says(b.beat(one), "run "+first+" x=1")
	second := b.given(b.beat(other), 2)
	b.begin(second, sweep)
	b.says(b.beat(other, second), "")
	b.now.Add(6 * 60_000)
	b.stream("p", second, `{"complete":true,"exitcode":0}`).wants(200)
	b.says(b.beat(other), "run "+first+" x=1")
	b.given(b.beat(one), 3)
}

// A preempted run is assigned once more under the same name, before any new run.
func TestPreempted(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost %v", lost), func(t *testing.T) {
			t.Parallel()
			b := start(t, false)
			sweep := b.sweep(grid)
			one, other := b.agent(sweep), b.agent(sweep)
			name := b.given(b.beat(one), 1)
			b.begin(name, sweep)
			b.says(b.beat(one, name), "")
			b.stream("p", name, `{"preempting":true}`).wants(200)
			if lost { // no further requests from the run or its agent
				b.now.Add(6 * 60_000)
			} else {
				b.stream("p", name, `{"complete":true,"exitcode":1}`).wants(200)
				b.says(b.beat(one, name), "") // the agent has not noticed yet that its script has ended
			}
			b.says(b.beat(other), "run "+name+" x=1")
			b.query(`{ project(name: "p") { run(name: "`+name+`") { state } } }`, nil).has(`"preempted"`)
			b.says(b.beat(other, name), "")
			b.given(b.beat(one), 2)
			b.begin(name, sweep)
			b.query(`{ project(name: "p") { run(name: "`+name+`") { state } } }`, nil).has(`"running"`)
			b.says(b.beat(other, name), "")
			// This time the run fails without being preempted.
			b.stream("p", name, `{"complete":true,"exitcode":1}`).wants(200)
			b.given(b.beat(other), 3)
			b.query(`{ project(name: "p") { sweep(sweepName: "`+sweep+`") { runCount agents { edges { node { host totalRuns state runs { edges { node { state } } } } } }
				agent(agentName: "`+other+`") { id } } } }`, nil).
				is(`{"data":{"project":{"sweep":{"agent":{"id":"` + other + `"},"agents":{"edges":[` +
					`{"node":{"host":"h","runs":{"edges":[{"node":{"state":"failed"}}]},"state":"RUNNING","totalRuns":2}},` +
					`{"node":{"host":"","runs":{"edges":[]},"state":"RUNNING","totalRuns":1}}]},"runCount":3}}}}`)
		})
	}
}

const early = `{"method":"grid","metric":{"name":"loss","goal":"minimize"},"parameters":{"x":{"values":[1,2]}},
	"early_terminate":{"type":"hyperband","min_iter":1,"eta":2}}`

// losing starts the second run of a sweep, which is worse than the first one, so that the next
// heartbeat of its agent ends it. It returns the agent, the run and a function that logs another
// row.
func (b bed) losing(sweep string) (agent, name string, log func()) {
	b.Helper()
	agent = b.agent(sweep)
	first := b.given(b.beat(agent), 1)
	b.begin(first, sweep)
	b.history("p", first, 0, `{"_step":0,"loss":1}`).wants(200)
	b.says(b.beat(agent, first), "")
	b.stream("p", first, `{"complete":true,"exitcode":0}`).wants(200)
	name = b.given(b.beat(agent), 2)
	b.begin(name, sweep)
	step := 0
	log = func() {
		b.Helper()
		b.history("p", name, step, fmt.Sprintf(`{"_step":%d,"loss":2}`, step)).wants(200)
		step++
	}
	log()
	b.says(b.beat(agent, name), "")
	b.stream("p", name, `{}`).has(`"stopped":true`)
	return agent, name, log
}

// An agent is told to stop a run that still logs after it was ended, but not a run that is
// finishing, because client 0.17 would then wait forever.
func TestStopWhatLogsOn(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	agent, name, log := b.losing(b.sweep(early))
	for range 3 { // the run may be uploading files
		b.says(b.beat(agent, name), "")
	}
	log() // this row may have been logged before the run was ended
	for range 3 {
		b.says(b.beat(agent, name), "")
	}
	log()
	b.says(b.beat(agent, name), "stop "+name)
	b.says(b.beat(agent, name), "") // the run may be finishing
	for i := range 5 {              // system metrics show that the run is not finishing
		b.stream("p", name, fmt.Sprintf(`{"files":{"wandb-events.jsonl":{"offset":%d,"content":["{\"_runtime\":3,\"system.cpu\":1}"]}}}`, i)).wants(200)
		b.says(b.beat(agent, name), map[bool]string{true: "stop " + name}[i >= 3])
	}
	log()
	b.stream("p", name, `{"complete":true,"exitcode":1}`).wants(200)
	b.says(b.beat(agent, name), "")
	b.says(b.beat(agent), "exit ")
}

// An agent of a canceled sweep gets the command to exit after its run has stopped or finished.
func TestCancelWhileFinishing(t *testing.T) {
	t.Parallel()
	for _, finishing := range []bool{true, false} {
		t.Run(fmt.Sprintf("finishing %v", finishing), func(t *testing.T) {
			t.Parallel()
			b := start(t, false)
			sweep := b.sweep(grid)
			agent := b.agent(sweep)
			name := b.given(b.beat(agent), 1)
			b.begin(name, sweep)
			b.query(`mutation { upsertSweep(input: {id: "`+sweep+`", state: "CANCELED"}) { sweep { name } } }`, nil).wants(200)
			b.stream("p", name, `{}`).has(`"stopped":true`)
			b.says(b.beat(agent, name), "")
			if finishing {
				b.stream("p", name, `{"complete":true,"exitcode":0}`).wants(200)
				b.says(b.beat(agent, name), "") // the agent still waits for its script
				b.says(b.beat(agent), "exit ")
				return
			}
			for step, want := range []string{"", "stop " + name} {
				b.history("p", name, step, fmt.Sprintf(`{"_step":%d,"loss":2}`, step)).wants(200)
				b.says(b.beat(agent, name), want)
			}
			b.says(b.beat(agent), "exit ")
		})
	}
}
