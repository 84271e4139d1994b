package cmd

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// recordAttacks holds the worst known request of each kind for records, points and pages.
var recordAttacks = []attack{
	{"packed bulks of 64 MiB", func(a *attacked) (*http.Request, []byte, error) {
		body, err := pack(string(wideBulk()))
		if err != nil {
			return nil, nil, err
		}
		r, err := a.request("POST", a.api+"/metric/iteration/"+a.iteration+"/bulk")
		if err == nil {
			r.Header.Set("Content-Encoding", "gzip")
		}
		return r, body, err
	}},
	{"bulks of 64 MiB", func(a *attacked) (*http.Request, []byte, error) {
		r, err := a.request("POST", a.api+"/metric/iteration/"+a.iteration+"/bulk")
		return r, wideBulk(), err
	}},
	{"pages with a note of 1 MiB of Markdown", func(a *attacked) (*http.Request, []byte, error) {
		table := strings.Repeat("|a", 300) + "\n" + strings.Repeat("|-", 300) + "\n"
		note := table + strings.Repeat("|x\n> [](", (attackText-len(table))/8)
		if err := a.send("PATCH", "/iteration/"+a.iteration, map[string]any{"notes": note}, nil); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.ui+"/iteration/"+a.iteration)
		return r, nil, err
	}},
	{"previews of 15 MiB of CSV", func(a *attacked) (*http.Request, []byte, error) {
		id, err := a.upload("wide.csv", bytes.Repeat([]byte("1,2\n,,\"\"\n"), 15<<20/9))
		if err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.ui+"/artifact/"+id)
		return r, nil, err
	}},
	{"sign-ins of 8 MiB", func(a *attacked) (*http.Request, []byte, error) {
		r, err := a.request("POST", a.ui+"/login")
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Del("Cookie")
		}
		return r, []byte("username=x&password=y&kept.notes=" + strings.Repeat(`"`, 8<<20-100)), err
	}},
	{"forms of 32 MiB", func(a *attacked) (*http.Request, []byte, error) {
		r, err := a.request("POST", a.ui+"/iteration/"+a.iteration)
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return r, []byte("name=x&notes=" + strings.Repeat("%20", 32<<20/3-20)), err
	}},
	{"JSON bodies of 8 MiB", func(a *attacked) (*http.Request, []byte, error) {
		r, err := a.request("POST", a.api+"/series")
		return r, []byte(`{"iterations":["` + strings.Repeat(`x","`, 8<<20/4-10) + `"]}`), err
	}},
	{"curves of 500,000 points", func(a *attacked) (*http.Request, []byte, error) {
		for key := range 10 {
			var all []map[string]any
			for step := range 49_000 {
				all = append(all, map[string]any{"key": fmt.Sprint("key", key), "value": step % 97, "step": step})
			}
			if err := a.send("POST", "/metric/iteration/"+a.iteration+"/bulk", map[string]any{"metrics": all}, nil); err != nil {
				return nil, nil, err
			}
		}
		r, err := a.request("POST", a.api+"/series")
		return r, []byte(`{"iterations":["` + a.iteration + `"],"points":49000}`), err
	}},
	{"summaries of 90,000 metrics", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.manyMetrics(90_000); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.api+"/iteration/"+a.iteration+"/summary")
		return r, nil, err
	}},
	{"pages of a run of 90,000 metrics", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.manyMetrics(90_000); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.ui+"/iteration/"+a.iteration)
		return r, nil, err
	}},
	{"comparisons of a run of 90,000 metrics", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.manyMetrics(90_000); err != nil {
			return nil, nil, err
		}
		var other struct {
			ID string `json:"id"`
		}
		if err := a.send("POST", "/iteration/experiment/"+a.experiment, map[string]any{}, &other); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.ui+"/compare?i="+a.iteration+"&i="+other.ID)
		return r, nil, err
	}},
	{"listings with parameters of 1 MiB as columns", func(a *attacked) (*http.Request, []byte, error) {
		columns, err := a.largeParameters()
		if err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.api+"/iteration/experiment/"+a.experiment+"?columns="+columns)
		return r, nil, err
	}},
	{"pages of an experiment with parameters of 1 MiB as columns", func(a *attacked) (*http.Request, []byte, error) {
		columns, err := a.largeParameters()
		if err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.ui+"/experiment/"+a.experiment+"?columns="+columns)
		return r, nil, err
	}},
	{"listings with notes of 1 MiB", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.largeNotes(); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.api+"/iteration/experiment/"+a.experiment+"?limit=100")
		return r, nil, err
	}},
}

// wideBulk returns a bulk request body of 64 MiB in which each point has its own metric name.
func wideBulk() []byte {
	const points, size = 100_000, 64<<20 - 1<<20
	text := make([]byte, 0, size+points)
	text = append(text, `{"metrics":[`...)
	long := strings.Repeat("k", size/points-40)
	for n := range points {
		if n > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `{"key":"%s%06d","value":1,"step":1}`, long, n)
	}
	return append(text, "]}"...)
}

// largeParameters adds 30 parameters of 1 MiB to the iteration and returns a query that shows them as columns.
func (a *attacked) largeParameters() (string, error) {
	var columns []string
	for n := range 30 {
		name := fmt.Sprint("p", n)
		if err := a.send("POST", "/parameter/iteration/"+a.iteration,
			map[string]any{"key": name, "value": strings.Repeat("<", attackText)}, nil); err != nil {
			return "", err
		}
		columns = append(columns, "param."+name)
	}
	return url.QueryEscape(strings.Join(columns, ",")), nil
}

// manyMetrics logs a point of each of n metrics.
func (a *attacked) manyMetrics(n int) error {
	const request = 10_000
	for first := 0; first < n; first += request {
		var all []map[string]any
		for i := first; i < min(n, first+request); i++ {
			all = append(all, map[string]any{"key": fmt.Sprintf("%0200d", i), "value": 1, "step": 1})
		}
		if err := a.send("POST", "/metric/iteration/"+a.iteration+"/bulk", map[string]any{"metrics": all}, nil); err != nil {
			return err
		}
	}
	return nil
}
