package cmd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// retried holds the statuses after which MLflow's clients repeat a request for minutes.
var retried = []int{408, 429, 500, 502, 503, 504}

// On a full disk, batches of MLflow's clients get a response that the clients do not retry but
// raise at once. Reads continue, and the same batch can be written once there is space again.
func TestFullDiskUnderMLflow(t *testing.T) {
	d := limitFiles(t, 3<<20)
	p := startServer(t, d.dir, []string{"SERVICE_LOG_LEVEL=error"})
	w := dial(t, p)
	c := newMLflowClients(t, w, 1)[0]
	log := func() bool {
		c.sent = c.known + 1
		r, err := w.Send(w.Request("POST", mlflowAPI+"runs/log-batch", "", c.batch(c.known)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == 200 {
			c.known = c.sent
			return true
		}
		c.sent = c.known
		if slices.Contains(retried, r.Status) || r.Status != 507 || !bytes.Contains(r.Body, []byte(`"error_code":"RESOURCE_EXHAUSTED"`)) {
			t.Fatalf("a full disk answers %s", r)
		}
		return false
	}
	log()
	d.limit(p)
	file := "/api/2.0/mlflow-artifacts/artifacts/"
	for full := 0; full < 5; {
		var tags []string
		for i := range 50 {
			tags = append(tags, fmt.Sprintf(`{"key":"filler%d","value":%q}`, i, strings.Repeat("x", 5000+c.known+full)))
		}
		body := `{"run_id":"` + c.run + `","tags":[` + strings.Join(tags, ",") + `]}`
		if r, err := w.Send(w.Request("POST", mlflowAPI+"runs/log-batch", "", body)); err != nil {
			t.Fatal(err)
		} else if r.Status == 200 && log() {
			continue
		}
		full++
	}
	c.verify(t, w)
	var e struct {
		Run struct {
			Info struct {
				Artifacts string `json:"artifact_uri"`
			}
		}
	}
	decodeBody(t, w.must(t, 200, "GET", mlflowAPI+"runs/get?run_id="+c.run, "").Body, &e)
	r, err := w.Send(w.Request("PUT", file+strings.TrimPrefix(e.Run.Info.Artifacts, "mlflow-artifacts:/")+"/large.bin", "", strings.Repeat("x", 3<<20+100<<10)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 507 {
		t.Errorf("an artifact on a full disk answers %s", r)
	}
	d.free(p)
	for range 3 {
		if !log() {
			t.Fatal("there is room, and it is refused")
		}
	}
	c.verify(t, w)
	p.stop()
}
