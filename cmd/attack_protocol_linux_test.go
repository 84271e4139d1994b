package cmd

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// protocolAttacks holds the worst known request of each kind in the protocols of other clients, and
// for reports, archives and consoles.
var protocolAttacks = []attack{
	{"MLflow batches of 11,000,000 metrics", func(a *attacked) (*http.Request, []byte, error) {
		r, err := a.request("POST", a.api+"/api/2.0/mlflow/runs/log-batch")
		return r, []byte(`{"run_id":"` + a.iteration + `","metrics":[{}` + strings.Repeat(",{}", 32<<20/3-100) + `]}`), err
	}},
	{"MLflow searches for runs with parameters of 1 MiB", func(a *attacked) (*http.Request, []byte, error) {
		if _, err := a.largeParameters(); err != nil {
			return nil, nil, err
		}
		var found struct {
			Experiments []struct {
				ID string `json:"experiment_id"`
			} `json:"experiments"`
		}
		path := "/mlflow/" + a.project + "/api/2.0/mlflow"
		if err := a.send("POST", path+"/experiments/search", map[string]any{"max_results": 10}, &found); err != nil {
			return nil, nil, err
		}
		if len(found.Experiments) != 1 {
			return nil, nil, fmt.Errorf("MLflow's search finds %d experiments", len(found.Experiments))
		}
		r, err := a.request("POST", a.api+path+"/runs/search")
		return r, []byte(`{"experiment_ids":["` + found.Experiments[0].ID + `"],"max_results":1000}`), err
	}},
	{"streams of W&B of 64 MiB", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.wandbRun("run", `{}`); err != nil {
			return nil, nil, err
		}
		row := strings.Repeat(`\"a\":1,`, 200)
		row = `"{` + row[:len(row)-1] + `}",`
		rows := strings.Repeat(row, (64<<20-200)/len(row))
		r, err := a.request("POST", a.api+"/files/me/attack/run/file_stream")
		if err != nil {
			return nil, nil, err
		}
		return r, []byte(`{"files":{"wandb-history.jsonl":{"offset":0,"content":[` + rows[:len(rows)-1] + `]}}}`), nil
	}},
	{"streams of W&B of 20,000,000 lines", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.wandbRun("run", `{}`); err != nil {
			return nil, nil, err
		}
		r, err := a.request("POST", a.api+"/files/me/attack/run/file_stream")
		if err != nil {
			return nil, nil, err
		}
		return r, []byte(`{"files":{"output.log":{"offset":0,"content":[""` + strings.Repeat(`,""`, (64<<20-200)/3) + `]}}}`), nil
	}},
	{"queries of W&B with 2,500,000 variables", func(a *attacked) (*http.Request, []byte, error) {
		return a.query(`{ viewer { id } }`, `"x":[{"a":{}}`+strings.Repeat(`,{"a":{}}`, (32<<20-200)/9)+`]`)
	}},
	{"queries of W&B with fragments of fragments", func(a *attacked) (*http.Request, []byte, error) {
		document := "{ viewer { ...F0 } }"
		for n := range 30 {
			document += fmt.Sprintf(" fragment F%d on User { ...F%d ...F%d }", n, n+1, n+1)
		}
		return a.query(document+" fragment F30 on User { id }", "")
	}},
	{"queries of W&B for 1,000 configurations of 8 MiB", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.wandbRun("run", `{"a":{"value":"`+strings.Repeat("x", 8<<20)+`"}}`); err != nil {
			return nil, nil, err
		}
		document := "{"
		for n := range 1000 {
			document += fmt.Sprintf(` p%d: project(name: "attack") { run(name: "run") { config } }`, n)
		}
		return a.query(document+"}", "")
	}},
	{"queries of W&B for 500,000 points", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.wandbRun("run", `{}`); err != nil {
			return nil, nil, err
		}
		for first := 0; first < 49_000; first += 1000 {
			var rows []string
			for step := first; step < first+1000; step++ {
				rows = append(rows, fmt.Sprintf(`{"_step":%d,"_timestamp":1,"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`, step))
			}
			body := map[string]any{"files": map[string]any{"wandb-history.jsonl": map[string]any{"offset": first, "content": rows}}}
			if err := a.send("POST", "/files/me/attack/run/file_stream", body, nil); err != nil {
				return nil, nil, err
			}
		}
		return a.query(`{ project(name: "attack") { run(name: "run") { history(samples: 100000) } } }`, "")
	}},
	{"manifests of W&B of 6,000,000 files", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.wandbRun("run", `{}`); err != nil {
			return nil, nil, err
		}
		var manifest bytes.Buffer
		manifest.WriteString(`{"contents":{"0":{}`)
		for n := 1; manifest.Len() < 64<<20-100; n++ {
			fmt.Fprintf(&manifest, `,"%x":{}`, n)
		}
		manifest.WriteString("}}")
		var made struct {
			Data struct {
				CreateArtifact struct{ Artifact struct{ ID string } }
			}
		}
		err := a.send("POST", "/graphql", map[string]any{"query": `mutation { createArtifact(input: {projectName: "attack", runName: "run",
			artifactTypeName: "t", artifactCollectionName: "c", digest: "d"}) { artifact { id } } }`}, &made)
		if err != nil {
			return nil, nil, err
		}
		id := made.Data.CreateArtifact.Artifact.ID
		put, err := a.request("PUT", a.api+"/artifacts/"+id+"/wandb_manifest.json")
		if err != nil {
			return nil, nil, err
		}
		put.Body = io.NopCloser(&manifest)
		if err := a.do(put, nil); err != nil {
			return nil, nil, err
		}
		return a.query(`mutation { commitArtifact(input: {artifactID: "`+id+`"}) { artifact { id } } }`, "")
	}},
	{"archives with a manifest of 60 MiB", func(a *attacked) (*http.Request, []byte, error) {
		var body bytes.Buffer
		z := zip.NewWriter(&body)
		w, err := z.Create("manifest.json")
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprint(w, `{"format":1,"base":{"":""`)
		for n := range (60 << 20) / 13 {
			fmt.Fprintf(w, `,"%07x":""`, n)
		}
		fmt.Fprint(w, "}}")
		return a.archive(&body, z)
	}},
	{"archives of 150,000 files", func(a *attacked) (*http.Request, []byte, error) {
		var body bytes.Buffer
		z := zip.NewWriter(&body)
		for n := range 150_000 {
			name := fmt.Sprintf("%064x", n)
			if _, err := z.CreateHeader(&zip.FileHeader{Name: "artifacts/" + name[:2] + "/" + name}); err != nil {
				return nil, nil, err
			}
		}
		return a.archive(&body, z)
	}},
	{"exports of a run of 90,000 metrics", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.manyMetrics(90_000); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.api+"/project/"+a.project+"/archive")
		return r, nil, err
	}},
	{"consoles of 8 MiB", func(a *attacked) (*http.Request, []byte, error) {
		r, err := a.request("POST", a.api+"/iteration/"+a.iteration+"/console")
		return r, []byte(`{"lines":[""` + strings.Repeat(`,""`, 8<<20/3-100) + `]}`), err
	}},
	{"pages of a console of 50,000 lines", func(a *attacked) (*http.Request, []byte, error) {
		line := strings.Repeat("\x1b[1;31m<\x1b[0m", 8<<10/12)
		for range 125 {
			var lines []string // in JSON, each of these characters takes two bytes
			for range 400 {
				lines = append(lines, line)
			}
			if err := a.send("POST", "/iteration/"+a.iteration+"/console", map[string]any{"lines": lines}, nil); err != nil {
				return nil, nil, err
			}
		}
		r, err := a.request("GET", a.ui+"/iteration/"+a.iteration+"/console")
		return r, nil, err
	}},
	{"properties of 8 MiB", func(a *attacked) (*http.Request, []byte, error) {
		var body strings.Builder
		body.WriteString(`{"properties":{"":""`)
		for n := 0; body.Len() < 8<<20-100; n++ {
			fmt.Fprintf(&body, `,"%x":""`, n)
		}
		body.WriteString("}}")
		r, err := a.request("PATCH", a.api+"/property/iteration/"+a.iteration)
		return r, []byte(body.String()), err
	}},
	{"pages of a report of 1 MiB", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.manyMetrics(1000); err != nil {
			return nil, nil, err
		}
		text := strings.Repeat("```chart\nexperiment: attack\nmetrics: 0\nruns: 30\n```\n```table\nexperiment: attack\nruns: 30\n```\n", 60)
		text += strings.Repeat("|x\n> [](", (attackText-len(text))/8)
		form, err := a.request("POST", a.ui+"/project/"+a.project+"/reports")
		if err != nil {
			return nil, nil, err
		}
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form.Body = io.NopCloser(strings.NewReader(url.Values{"name": {"worst"}, "text": {text}}.Encode()))
		res, err := a.client.Do(form)
		if err != nil {
			return nil, nil, err
		}
		res.Body.Close()
		at := res.Header.Get("Location")
		if res.StatusCode != http.StatusSeeOther || !strings.Contains(at, "/report/") {
			return nil, nil, fmt.Errorf("a new report is answered %d, to %q", res.StatusCode, at)
		}
		r, err := a.request("GET", a.ui+at)
		return r, nil, err
	}},
	{"importance of 300 parameters in 300 runs", func(a *attacked) (*http.Request, []byte, error) {
		for n := range 300 {
			config := `{"p":{"value":0}`
			for p := range 300 {
				config += fmt.Sprintf(`,"p%d":{"value":%d}`, p, n*p%97)
			}
			if err := a.wandbRun(fmt.Sprint("run", n), config+"}"); err != nil {
				return nil, nil, err
			}
			body := map[string]any{"files": map[string]any{"wandb-history.jsonl": map[string]any{"content": []string{fmt.Sprintf(`{"_step":1,"loss":%d}`, n%31)}}}}
			if err := a.send("POST", fmt.Sprintf("/files/me/attack/run%d/file_stream", n), body, nil); err != nil {
				return nil, nil, err
			}
		}
		var all struct {
			Data []struct{ ID, Name string }
		}
		if err := a.get("/experiment/project/"+a.project, &all); err != nil {
			return nil, nil, err
		}
		for _, e := range all.Data {
			if e.Name != "attack" {
				a.experiment = e.ID
			}
		}
		r, err := a.request("GET", a.ui+"/experiment/"+a.experiment+"/importance?objective=minimize+loss")
		return r, nil, err
	}},
	{"searches for words in notes of 1 MiB", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.largeNotes(); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.api+"/iteration/experiment/"+a.experiment+"?filter="+url.QueryEscape(strings.Repeat("ä", 200)+" b c"))
		return r, nil, err
	}},
	{"tables of a project's runs, with parameters of 1 MiB as columns", func(a *attacked) (*http.Request, []byte, error) {
		columns, err := a.largeParameters()
		if err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.ui+"/project/"+a.project+"/runs?columns="+columns)
		return r, nil, err
	}},
	{"first pages with notes of 1 MiB", func(a *attacked) (*http.Request, []byte, error) {
		if err := a.largeNotes(); err != nil {
			return nil, nil, err
		}
		r, err := a.request("GET", a.ui+"/")
		return r, nil, err
	}},
}

// pack returns text compressed with gzip.
func pack(text string) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, text); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}

// wandbRun creates a run with a configuration in the project "attack", in W&B's protocol.
func (a *attacked) wandbRun(name, config string) error {
	return a.send("POST", "/graphql", map[string]any{
		"query":     `mutation ($n: String, $c: JSONString) { upsertBucket(input: {modelName: "attack", name: $n, config: $c}) { inserted } }`,
		"variables": map[string]any{"n": name, "c": config}}, nil)
}

// query returns a query in W&B's protocol. variables holds members of a JSON object.
func (a *attacked) query(document, variables string) (*http.Request, []byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, nil, err
	}
	r, err := a.request("POST", a.api+"/graphql")
	return r, []byte(`{"query":` + string(text) + `,"variables":{` + variables + `}}`), err
}

// archive returns a request that imports an archive.
func (a *attacked) archive(body *bytes.Buffer, z *zip.Writer) (*http.Request, []byte, error) {
	if err := z.Close(); err != nil {
		return nil, nil, err
	}
	r, err := a.request("POST", a.api+"/archive")
	if err == nil {
		r.Header.Set("Content-Type", "application/zip")
	}
	return r, body.Bytes(), err
}

// largeNotes creates 40 iterations with notes of 1 MiB.
func (a *attacked) largeNotes() error {
	for range 40 {
		err := a.send("POST", "/iteration/experiment/"+a.experiment,
			map[string]any{"notes": strings.Repeat("<", attackText), "created_date": time.Now().UTC().Format(time.RFC3339)}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}
