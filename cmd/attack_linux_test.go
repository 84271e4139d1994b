package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	attackers  = 64 // number of connections in each attack
	attackTime = 4 * time.Second
	// answerTime is the maximum wait for the last responses to an attack.
	answerTime = 15 * time.Second
	// healthPause is the time between two requests for /health under attack.
	healthPause = 100 * time.Millisecond
	attackText  = 1 << 20 // maximum length of a string in a record
)

// attack is a request that needs a lot of memory. prepare creates the records that the request
// needs.
type attack struct {
	name    string
	prepare func(*attacked) (*http.Request, []byte, error)
}

// attacked is a server under attack.
type attacked struct {
	api, ui    string
	token      string
	project    string
	experiment string
	iteration  string
	client     *http.Client
	ctx        context.Context
}

func (a *attacked) request(method, address string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(a.ctx, method, address, nil)
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+a.token)
		r.Header.Set("Cookie", "tracker_token="+a.token)
	}
	return r, err
}

// send sends JSON to the API. If to is not nil, the response is decoded into it.
func (a *attacked) send(method, path string, body, to any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := a.request(method, a.api+path)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return a.do(r, to)
}

// get requests path from the API and decodes the response into to.
func (a *attacked) get(path string, to any) error {
	r, err := a.request("GET", a.api+path)
	if err != nil {
		return err
	}
	return a.do(r, to)
}

func (a *attacked) do(r *http.Request, to any) error {
	res, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("the server answers %d: %s", res.StatusCode, answer[:min(len(answer), 500)])
	case to == nil:
		return nil
	}
	return json.Unmarshal(answer, to)
}

// upload stores an artifact and returns its id.
func (a *attacked) upload(name string, content []byte) (string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("data", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err = errors.Join(err, form.WriteField("name", name), form.Close()); err != nil {
		return "", err
	}
	r, err := a.request("POST", a.api+"/resource/experiment/"+a.experiment)
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Body = io.NopCloser(&body)
	var created struct {
		ID string `json:"id"`
	}
	return created.ID, errors.Join(a.do(r, &created))
}

// BenchmarkAttack sends each attack over many connections to a new server for attackTime. peak-MB
// is the maximum memory of the server; health-p50-ms and health-p95-ms are the latencies of /health
// during the attack. answered, busy and refused count the responses. -bench 'Attack/sign-ins'
// selects attacks by name.
func BenchmarkAttack(b *testing.B) {
	for _, at := range slices.Concat(recordAttacks, protocolAttacks) {
		b.Run(at.name, func(b *testing.B) { measureAttack(b, at) })
	}
}

func measureAttack(b *testing.B, at attack) {
	p := startServer(b, b.TempDir(), []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword, "SERVICE_JWT_SECRET=" + strings.Repeat("k", 32),
		"SERVICE_ARTIFACT_BACKEND=inline"}, "--host", "127.0.0.1", "--ui-host", "127.0.0.1", "--log-level", "error", "--enable-auth")
	defer p.kill()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: attackers, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	a := &attacked{api: p.API, ui: p.UI, client: client, ctx: b.Context()}
	if err := a.setUp(adminPassword); err != nil {
		b.Fatal(err)
	}
	r, body, err := at.prepare(a)
	if err != nil {
		b.Fatal(err)
	}
	// Reset the peak memory, because it includes the memory that the preparation used.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID), []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
	var healthy []time.Duration
	var counts answers
	for b.Loop() {
		if healthy, counts, err = a.run(r, body); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(healthy)
	b.ReportMetric(memoryMB(b, p.PID, "VmHWM:"), "peak-MB")
	b.ReportMetric(milliseconds(healthy[len(healthy)/2]), "health-p50-ms")
	b.ReportMetric(milliseconds(healthy[len(healthy)*95/100]), "health-p95-ms")
	b.ReportMetric(float64(counts.answered), "answered")
	b.ReportMetric(float64(counts.busy), "busy")
	b.ReportMetric(float64(counts.refused), "refused")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// setUp signs in and creates an experiment with an iteration.
func (a *attacked) setUp(password string) error {
	var grant struct {
		AccessToken string `json:"access_token"`
	}
	if err := a.send("POST", "/auth", map[string]any{"username": "default", "password": password}, &grant); err != nil {
		return err
	}
	a.token = grant.AccessToken
	var created struct {
		ID string `json:"id"`
	}
	for _, step := range []struct {
		path string
		to   *string
		body any
	}{
		{"/project", &a.project, map[string]any{"name": "attack"}},
		{"/experiment/project/", &a.experiment, map[string]any{"name": "attack"}},
		{"/iteration/experiment/", &a.iteration, map[string]any{}},
	} {
		path := step.path
		switch step.to {
		case &a.experiment:
			path += a.project
		case &a.iteration:
			path += a.experiment
		}
		if err := a.send("POST", path, step.body, &created); err != nil {
			return err
		}
		*step.to = created.ID
	}
	return nil
}

// answers counts the responses to an attack: 2xx or 3xx, 503 or 429, and all others, including
// broken connections.
type answers struct{ answered, busy, refused int64 }

// run sends the request repeatedly over all connections for attackTime and requests /health at the same time.
func (a *attacked) run(r *http.Request, body []byte) (healthy []time.Duration, counts answers, err error) {
	deadline := time.Now().Add(attackTime)
	ctx, cancel := context.WithDeadline(a.ctx, deadline.Add(answerTime))
	defer cancel()
	var group sync.WaitGroup
	for range attackers {
		group.Go(func() {
			for time.Now().Before(deadline) {
				one := r.Clone(ctx)
				if body != nil {
					one.Body, one.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				}
				res, err := a.client.Do(one)
				if err != nil {
					atomic.AddInt64(&counts.refused, 1) // the server may close the connection before it has read the whole request
					continue
				}
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				switch {
				case res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusTooManyRequests:
					atomic.AddInt64(&counts.busy, 1)
				case err != nil || res.StatusCode >= 400:
					atomic.AddInt64(&counts.refused, 1)
				default:
					atomic.AddInt64(&counts.answered, 1)
				}
			}
		})
	}
	for time.Now().Before(deadline) && err == nil {
		start := time.Now()
		var health *http.Request
		if health, err = a.request("GET", a.api+"/health"); err == nil {
			err = a.do(health, nil)
		}
		healthy = append(healthy, time.Since(start))
		time.Sleep(healthPause)
	}
	group.Wait()
	return healthy, counts, err
}
