package server_test

import (
	"math"
	"net/url"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
)

// search returns the path that lists an experiment's iterations. pairs holds names and values of
// query parameters.
func search(experiment string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return "/iteration/experiment/" + experiment + "?" + q.Encode()
}

// sweep creates an experiment with three runs: "one", "two" and "three".
func (a api) sweep() (experiment string, found []string) {
	a.t.Helper()
	experiment = a.experiment(a.project(a.root))
	for _, name := range []string{"one", "two", "three"} {
		c, err := a.db.Runs.CreateIteration(a.t.Context(), domain.System, experiment, runs.NewIteration{Name: &name})
		a.must(err)
		found = append(found, c.ID)
	}
	a.parameter(found[0], "lr", "0.10")
	a.parameter(found[1], "lr", "1e-3")
	a.parameter(found[1], "optimizer", "adam")
	a.metric(found[0], "val/loss", 0.5)
	a.metric(found[0], "val/loss", 0.75)
	a.metric(found[1], "val/loss", 0.25)
	a.metric(found[1], "val/loss", math.NaN())
	a.tag(runs.IterationTag, found[2], "best of all")
	a.end(found[0])
	return experiment, found
}

func TestSearchOnTheListing(t *testing.T) {
	a := start(t)
	e, runs := a.sweep()
	for _, c := range []struct {
		query []string
		want  []string
	}{
		{nil, []string{runs[0], runs[1], runs[2]}},
		{[]string{"filter", "", "sort", "", "columns", ""}, []string{runs[0], runs[1], runs[2]}},
		{[]string{"filter", "param.lr < 0.1"}, []string{runs[1]}},
		{[]string{"filter", "metric.val/loss.min <= 0.5", "sort", "metric.val/loss.min"}, []string{runs[1], runs[0]}},
		{[]string{"filter", "metric.val/loss = NaN or tag = 'best of all'"}, []string{runs[1], runs[2]}},
		{[]string{"filter", "status = 'succeeded' and name != 'two'"}, []string{runs[0]}},
		{[]string{"filter", "not param.lr = 0.1", "sort", "-created, -id"}, []string{runs[2], runs[1]}},
		{[]string{"sort", "-param.lr, name"}, []string{runs[0], runs[1], runs[2]}},
		{[]string{"sort", "-metric.val/loss"}, []string{runs[0], runs[1], runs[2]}},
		{[]string{"sort", "name", "limit", "1", "offset", "1"}, []string{runs[2]}},
		{[]string{"filter", `id = "` + runs[2] + `"`}, []string{runs[2]}},
		{[]string{"filter", "name contains '日本'"}, nil},
	} {
		if got := a.get(search(e, c.query...)).wants(200).ids(); strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%q: %q, want %q", c.query, got, c.want)
		}
	}
	a.get(search(e, "filter", "param.lr < 1", "limit", "1", "offset", "5")).is(`{"data":[],"total":2,"limit":1,"offset":5}`)
}

func TestColumnsOfTheListing(t *testing.T) {
	a := start(t)
	e, _ := a.sweep()
	a.get(search(e, "columns", "param.lr, param.optimizer, metric.val/loss, metric.`val/loss`.min, metric.val/loss.count", "limit", "2")).has(`{"data":[
		{"name":"one","params":{"lr":"0.10"},"metrics":{"val/loss":0.75,"val/loss.min":0.5,"val/loss.count":2}},
		{"name":"two","params":{"lr":"1e-3","optimizer":"adam"},"metrics":{"val/loss":"NaN","val/loss.min":0.25,"val/loss.count":2}}]}`)
	a.get(search(e, "columns", "param.none", "sort", "-name", "limit", "1")).has(`{"data":[{"name":"two","params":{},"metrics":{}}]}`)
	if body := a.get(search(e)).body; strings.Contains(body, "params") || strings.Contains(body, `"metrics"`) {
		t.Errorf("a listing without columns has some: %s", body)
	}
	first := a.get(search(e, "columns", "metric.val/loss.max,metric.val/loss,metric.val/loss.min,metric.val/loss.count")).body
	for range 5 {
		if again := a.get(search(e, "columns", "metric.val/loss.max,metric.val/loss,metric.val/loss.min,metric.val/loss.count")).body; again != first {
			t.Errorf("the same listing is once %s and once %s", first, again)
		}
	}
}

func TestMistakesInASearchHaveAPosition(t *testing.T) {
	a := start(t)
	e, _ := a.sweep()
	for _, c := range []struct{ field, value, message string }{
		{"filter", "param.lr = adam", "filter is wrong at character 12: put text in quotes, like 'adam'."},
		{"filter", "größe = 1", `filter is wrong at character 1: \"größe\" is not known`},
		{"filter", "name = 'é' and (", "filter is wrong at character 17: write param.NAME"},
		{"sort", "name, -", "sort is wrong at character 8: write param.NAME"},
		{"columns", "param.lr, tag", "columns is wrong at character 11: a column is param.NAME, metric.NAME or summary.NAME"},
		{"filter", "name = '\xff'", "filter is wrong at character 9: it must be valid UTF-8"},
	} {
		got := a.get(search(e, c.field, c.value)).fails(422, "INVALID_PAYLOAD", c.field)
		if !strings.Contains(got.body, c.message) {
			t.Errorf("%s=%s: %s, want %s", c.field, c.value, got.body, c.message)
		}
	}
	// A filter error is reported before the experiment is looked up.
	a.get(search(nobody, "filter", "x =")).fails(422, "INVALID_PAYLOAD", "filter")
	a.get(search(nobody, "filter", "name = 'x'")).fails(404, "NOT_FOUND", "")
	a.get(search(e, "filter", "name = 'x'"), as(a.user("stranger"))).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	a.get("/iteration/experiment/"+e+"?filter=&filter=").fails(422, "INVALID_PAYLOAD", "filter")
	a.get("/iteration/"+nobody+"/children?filter=x+%3D", loose).fails(422, "INVALID_PAYLOAD", "filter")
}

func TestKeysOfAnExperiment(t *testing.T) {
	a := start(t)
	e, runs := a.sweep()
	path := "/experiment/" + e + "/keys"
	a.get(path).is(`{"data":[
		{"kind":"metric","key":"val/loss","iterations":2},
		{"kind":"param","key":"lr","iterations":2},
		{"kind":"param","key":"optimizer","iterations":1}],"total":3,"limit":50,"offset":0}`)
	a.get(path + "?q=L").has(`{"data":[{"key":"val/loss"},{"key":"lr"}],"total":2}`)
	a.get(path + "?q=l&kind=param").has(`{"data":[{"key":"lr"}],"total":1}`)
	a.get(path + "?limit=1&offset=1").is(`{"data":[{"kind":"param","key":"lr","iterations":2}],"total":3,"limit":1,"offset":1}`)
	a.get(path + "?q=%25").has(`{"data":[],"total":0}`)
	a.get(path+"?kind=tag").fails(422, "INVALID_PAYLOAD", "kind")
	a.get(path+"?q="+strings.Repeat("a", 251)).fails(422, "INVALID_PAYLOAD", "q")
	a.get(path+"?limit=-1").fails(422, "INVALID_PAYLOAD", "limit")
	a.get("/experiment/"+nobody+"/keys").fails(404, "NOT_FOUND", "")
	a.get(path, as(a.user("stranger"))).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	a.do("DELETE", "/iteration/"+runs[1], "").wants(204)
	a.get(path).has(`{"data":[{"key":"val/loss","iterations":1},{"key":"lr","iterations":1}],"total":2}`)
}
