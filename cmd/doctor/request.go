package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// nobody is an id that no record has.
const nobody = "00000000-0000-0000-0000-000000000000"

// events checks that the first event of a stream arrives, which it does not if a proxy collects
// responses before it sends them.
func (e *examiner) events(ctx context.Context) {
	const check = "events"
	path, why := e.stream(ctx)
	if path == "" {
		e.add(check, Skipped, "", "%s", why)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, streamWithin)
	defer cancel()
	request, err := e.request(ctx, "GET", e.api+path, nil, http.Header{})
	if err != nil {
		return
	}
	const fix = "let the proxy send responses at once; in nginx, remove proxy_ignore_headers X-Accel-Buffering, or set proxy_buffering off"
	response, err := e.client.Do(request)
	if err != nil {
		e.add(check, Failed, fix, "no event arrives within %v", streamWithin)
		return
	}
	defer response.Body.Close()
	first := make([]byte, 1)
	_, err = response.Body.Read(first)
	switch kind := response.Header.Get("Content-Type"); {
	case response.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream"):
		e.add(check, Failed, "let the proxy pass on event streams unchanged", "the stream answers %s with %s", response.Status, kind)
	case err != nil:
		e.add(check, Failed, fix, "no event arrives within %v", streamWithin)
	default:
		e.add(check, OK, "", "arrive at once")
	}
}

// stream returns the path of an event stream that the user may read, or the reason why there is
// none.
func (e *examiner) stream(ctx context.Context) (path, why string) {
	type list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	read := func(path string) (ids []string, status int) {
		a, err := e.get(ctx, e.api+path)
		var l list
		if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &l) != nil {
			return nil, a.status
		}
		for _, one := range l.Data {
			ids = append(ids, one.ID)
		}
		return ids, a.status
	}
	projects, status := read("/project?limit=20")
	if status == http.StatusUnauthorized {
		return "", "needs a token: set TRACKER_TOKEN, or use `tracker login`"
	}
	for _, project := range projects {
		if experiments, _ := read("/experiment/project/" + project + "?limit=1"); len(experiments) > 0 {
			return "/experiment/" + experiments[0] + "/events", ""
		}
	}
	return "", "no experiment was found, so no events can be read"
}

// bodies checks that large requests, requests without a length and resumable uploads reach the
// server. The requests are for records that do not exist, so they change nothing.
func (e *examiner) bodies(ctx context.Context) {
	content := bytes.Repeat([]byte(" "), bodySize)
	const size = "in nginx, remove client_max_body_size, or set it to 1m or more; clients send larger files in parts"
	for _, r := range []struct {
		check, method, path, fix string
		length                   int64
		header                   http.Header
	}{
		{"request of 1 MB", "POST", "/metric/iteration/" + nobody + "/bulk", size, bodySize, http.Header{"Content-Type": {"application/json"}}},
		{"chunked request", "POST", "/metric/iteration/" + nobody + "/bulk", "let the proxy accept Transfer-Encoding: chunked", -1,
			http.Header{"Content-Type": {"application/json"}}},
		{"resumable upload", "PATCH", "/upload/" + nobody, "let the proxy pass on PATCH and the headers Tus-Resumable and Upload-Offset", bodySize,
			http.Header{"Content-Type": {"application/offset+octet-stream"}, "Tus-Resumable": {"1.0.0"}, "Upload-Offset": {"0"}}},
	} {
		// The server may answer before it has read the body, and close the connection. The answer can then be lost.
		var a answer
		var err error
		for range 3 {
			if a, err = e.do(ctx, r.method, e.api+r.path, bytes.NewReader(content), r.header, r.length); err == nil {
				break
			}
		}
		switch {
		case err != nil:
			e.add(r.check, Failed, r.fix, "%v", err)
		case a.status == http.StatusRequestEntityTooLarge:
			e.add(r.check, Failed, size, "a proxy answers %s", a.what())
		case a.code() == "":
			e.add(r.check, Failed, r.fix, "a proxy answers %s", a.what())
		case a.code() == "MALFORMED_BODY" || a.status == http.StatusNotFound || a.status == http.StatusUnauthorized || a.status == http.StatusUnprocessableEntity:
			e.add(r.check, OK, "", "reaches the server")
		default:
			e.add(r.check, Failed, r.fix, "%s: %s", a.what(), a.message())
		}
	}
}

func (e *examiner) mlflow(ctx context.Context) {
	a, err := e.get(ctx, e.api+"/api/2.0/mlflow/experiments/get?experiment_id="+nobody)
	e.protocol("MLflow", "MLFLOW_TRACKING_URI="+e.api, a, err, a.field("error_code") != "")
}

func (e *examiner) wandb(ctx context.Context) {
	body := `{"query":"query Viewer { viewer { id } }"}`
	a, err := e.do(ctx, "POST", e.api+"/graphql", strings.NewReader(body), http.Header{"Content-Type": {"application/json"}}, int64(len(body)))
	e.protocol("W&B", "WANDB_BASE_URL="+e.api, a, err, json.Valid(a.body) && len(a.body) > 0 && a.status != http.StatusNotFound)
}

// protocol adds the result of a request with the protocol of another client.
func (e *examiner) protocol(check, setting string, a answer, err error, answered bool) {
	if err != nil || !answered {
		e.add(check, Failed, fmt.Sprintf("let the proxy pass on all paths below %s", e.api), "%s", orError(a, err))
		return
	}
	e.add(check, OK, "", "%s", setting)
}
