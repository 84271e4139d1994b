//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

const mlflowAPI = "/api/2.0/mlflow/"

// mlflowClient logs batches to its own run. Each batch has 50 points, and a parameter and a tag
// with the batch's number.
type mlflowClient struct {
	run   string
	sent  int // number of sent batches
	known int // number of acknowledged batches: all sent batches, or all but the last
}

const batchPoints = 50

func newMLflowClients(t *testing.T, w *conn, n int) []*mlflowClient {
	t.Helper()
	var e struct {
		ID string `json:"experiment_id"`
	}
	decodeBody(t, w.must(t, 200, "POST", mlflowAPI+"experiments/create", `{"name":"killed"}`).Body, &e)
	clients := make([]*mlflowClient, n)
	for i := range clients {
		var r struct {
			Run struct {
				Info struct {
					ID string `json:"run_id"`
				}
			}
		}
		decodeBody(t, w.must(t, 200, "POST", mlflowAPI+"runs/create", `{"experiment_id":"`+e.ID+`"}`).Body, &r)
		clients[i] = &mlflowClient{run: r.Run.Info.ID}
	}
	return clients
}

func decodeBody(t *testing.T, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// batch returns the body of batch n. The points alternate between two metrics, in descending order
// of steps.
func (c *mlflowClient) batch(n int) string {
	points := make([]string, batchPoints)
	for i := range points {
		number := n*batchPoints + i
		points[i] = fmt.Sprintf(`{"key":"m%d","value":%d,"timestamp":%d,"step":%d}`, i%2, number, 1_700_000_000_000+number, -number)
	}
	return fmt.Sprintf(`{"run_id":%q,"metrics":[%s],"params":[{"key":"p%d","value":"%d"}],"tags":[{"key":"last","value":"%d"}]}`,
		c.run, strings.Join(points, ","), n, n, n)
}

// verify checks that each point of the acknowledged batches is stored once, and that a batch
// without a response is stored completely or not at all. It reports whether that batch is stored.
func (c *mlflowClient) verify(t *testing.T, w *conn) (last bool) {
	t.Helper()
	var r struct {
		Run struct {
			Data struct {
				Params, Tags []struct{ Key, Value string }
			}
		}
	}
	decodeBody(t, w.must(t, 200, "GET", mlflowAPI+"runs/get?run_id="+c.run, "").Body, &r)
	n := len(r.Run.Data.Params)
	if n != c.known && n != c.sent {
		t.Errorf("run %s has %d batches; %d were sent, %d acknowledged", c.run, n, c.sent, c.known)
	}
	for _, tag := range r.Run.Data.Tags {
		if tag.Key == "last" && tag.Value != fmt.Sprint(n-1) {
			t.Errorf("run %s: the last tag is %s after %d batches", c.run, tag.Value, n)
		}
	}
	seen := map[int64]bool{}
	for _, key := range []string{"m0", "m1"} {
		var h struct {
			Metrics []struct {
				Value           float64
				Timestamp, Step int64
			}
		}
		decodeBody(t, w.must(t, 200, "GET", mlflowAPI+"metrics/get-history?run_id="+c.run+"&metric_key="+key, "").Body, &h)
		for _, m := range h.Metrics {
			if seen[m.Step] || m.Value != float64(-m.Step) || m.Timestamp != 1_700_000_000_000-m.Step {
				t.Fatalf("run %s has the point %+v of %s", c.run, m, key)
			}
			seen[m.Step] = true
		}
	}
	if len(seen) != n*batchPoints {
		t.Errorf("run %s has %d points in %d batches", c.run, len(seen), n)
	}
	return n == c.sent
}

// The server is killed while MLflow's clients send batches. Acknowledged batches are stored. A
// batch without a response is stored completely or not at all, and after it is sent again, it is
// stored exactly once.
func TestKillUnderMLflow(t *testing.T) {
	inFullRuns(t)
	const rounds = 8
	dir := t.TempDir()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p := startServer(t, dir, env)
	clients := newMLflowClients(t, dial(t, p), 4)
	for round := range rounds {
		var first sync.Once
		var group sync.WaitGroup
		acknowledged := make(chan struct{})
		for _, c := range clients {
			w := dial(t, p)
			group.Go(func() {
				for {
					c.sent = c.known + 1
					r, err := w.Send(w.Request("POST", mlflowAPI+"runs/log-batch", "", c.batch(c.known)))
					if err != nil {
						return // the server was killed
					}
					if r.Status != 200 {
						t.Errorf("log-batch answers %s", r)
						return
					}
					c.known = c.sent
					first.Do(func() { close(acknowledged) })
				}
			})
		}
		select {
		case <-acknowledged:
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond) // the pause until the random moment
		case <-p.ended:
		}
		p.kill()
		group.Wait()
		p = startServer(t, dir, env)
		w := dial(t, p)
		for _, c := range clients {
			c.verify(t, w)
			w.must(t, 200, "POST", mlflowAPI+"runs/log-batch", c.batch(c.known)) // like a client that got no response
			c.known, c.sent = c.known+1, c.known+1
			c.verify(t, w)
		}
		if r := runBinary(t, dir, nil, "", "check"); r.code != 0 || r.stdout != "ok\n" {
			t.Errorf("check: %v", r)
		}
		if t.Failed() {
			t.Fatalf("round %d\n%s", round, p.log)
		}
	}
	p.stop()
}
