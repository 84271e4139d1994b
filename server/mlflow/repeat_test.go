package mlflow_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// again holds the error codes of requests that fail when they are sent a second time. All other
// requests succeed again.
var again = map[string]string{
	"POST experiments/create":                    "RESOURCE_ALREADY_EXISTS",
	"POST experiments/delete-experiment-tag":     "RESOURCE_DOES_NOT_EXIST",
	"POST experiments/delete":                    "RESOURCE_DOES_NOT_EXIST",
	"POST experiments/restore":                   "RESOURCE_DOES_NOT_EXIST",
	"POST runs/delete-tag":                       "RESOURCE_DOES_NOT_EXIST",
	"POST registered-models/create":              "RESOURCE_ALREADY_EXISTS",
	"POST registered-models/rename":              "RESOURCE_DOES_NOT_EXIST",
	"DELETE registered-models/delete":            "RESOURCE_DOES_NOT_EXIST",
	"DELETE model-versions/delete":               "RESOURCE_DOES_NOT_EXIST",
	"DELETE logged-models/{model_id}":            "RESOURCE_DOES_NOT_EXIST",
	"DELETE logged-models/{model_id}/tags/{key}": "RESOURCE_DOES_NOT_EXIST",
	"DELETE " + protoFiles + "{path:.+}":         "RESOURCE_DOES_NOT_EXIST",
}

// createsAnother holds the requests that create another record when they are sent again, because
// they do not name the record.
var createsAnother = []string{"POST runs/create", "POST logged-models", "POST model-versions/create"}

// A request that is repeated after a lost response has no further effect. The second response never
// has a status that makes clients wait and retry.
func TestRepeatedRequests(t *testing.T) {
	b := start(t)
	all := b.samples(func(*http.Request) {})
	state := func() string {
		var text strings.Builder
		everything := func(path, body string) {
			method := "POST"
			if body == "" {
				method = "GET"
			}
			text.WriteString(path + ": " + b.send(method, path, body).wants(200).body + "\n")
		}
		var found struct {
			Experiments []struct {
				ID string `json:"experiment_id"`
			}
		}
		body := b.post("experiments/search", `{"max_results":100,"view_type":"ALL"}`).wants(200).body
		text.WriteString(body)
		b.must(json.Unmarshal([]byte(body), &found))
		var ids []string
		for _, e := range found.Experiments {
			ids = append(ids, e.ID)
		}
		list, err := json.Marshal(ids)
		b.must(err)
		everything(api+"runs/search", `{"experiment_ids":`+string(list)+`,"run_view_type":"ALL"}`)
		everything(api+"logged-models/search", `{"experiment_ids":`+string(list)+`}`)
		everything(api+"registered-models/search", "")
		everything(api+"model-versions/search", "")
		for _, s := range all {
			if strings.Contains(s.path, "metrics/get-history") || strings.Contains(s.path, "mlflow-artifacts/artifacts?") {
				everything(s.path, "")
			}
		}
		return text.String()
	}
	for _, s := range all {
		if s.method == "GET" {
			continue
		}
		name := s.method + " " + strings.TrimPrefix(s.route, api)
		b.send(s.method, s.path, s.body).wants(200)
		before := state()
		second := b.send(s.method, s.path, s.body)
		if slices.Contains(createsAnother, name) {
			second.wants(200)
			continue
		}
		if code, ok := again[name]; ok {
			if second.status >= 500 || !strings.Contains(second.body, `"`+code+`"`) {
				t.Errorf("%s answers %d %s the second time, want %s", name, second.status, second.body, code)
			}
		} else if second.status != 200 {
			t.Errorf("%s answers %d %s the second time", name, second.status, second.body)
		}
		if after := state(); after != before {
			t.Errorf("%s has changed\n%sto\n%s", name, before, after)
		}
	}
}
