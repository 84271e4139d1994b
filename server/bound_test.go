package server_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/scalar"
)

// A page has at most 2 MiB of text. It reports its number of records, and the next page begins
// after them.
func TestPageOfLargeTextsIsCut(t *testing.T) {
	a := start(t)
	iteration := a.running()
	for i := range 5 {
		a.parameter(iteration, fmt.Sprint("p", i), strings.Repeat("x", 1<<20))
	}
	path := "/parameter/iteration/" + iteration
	var ids []string
	for _, want := range []int{2, 2, 1} {
		got := a.get(fmt.Sprint(path, "?offset=", len(ids)))
		limit := want
		if len(ids) == 4 {
			limit = domain.DefaultLimit
		}
		got.has(fmt.Sprintf(`{"total":5,"limit":%d,"offset":%d}`, limit, len(ids)))
		if page := got.ids(); len(page) != want {
			t.Fatalf("the page has %d records, want %d", len(page), want)
		}
		ids = append(ids, got.ids()...)
	}
	project := a.project(a.root)
	for range 3 {
		_, err := a.db.Projects.CreateExperiment(t.Context(), domain.System, project, projects.NewExperiment{Name: "n", Description: strings.Repeat("x", 1<<20)})
		a.must(err)
	}
	a.get("/experiment/project/" + project).has(`{"total":3,"limit":2}`)
}

func TestIterationNamedTwiceIsAnsweredOnce(t *testing.T) {
	a := start(t)
	w := a.world()
	other := a.iteration(w["experiment"])
	a.metric(other, "loss", 1)
	once := a.do("POST", "/series", fmt.Sprintf(`{"iterations":[%q,%q]}`, w["iteration"], other)).wants(200)
	again := a.do("POST", "/series", fmt.Sprintf(`{"iterations":[%q,%q%s]}`, w["iteration"], other, strings.Repeat(fmt.Sprintf(",%q", w["iteration"]), 20))).wants(200)
	if once.body != again.body {
		t.Errorf("named again: %s\nnamed once: %s", again.body, once.body)
	}
}

// A response has at most 500,000 points.
func TestAnswerWithTooManyPoints(t *testing.T) {
	t.Parallel()
	a := start(t)
	iteration := a.running()
	for k := range 6 {
		values := make([]points.Sample, 100_000)
		for i := range values {
			values[i] = points.Sample{Key: fmt.Sprint("key ", k), Value: scalar.Value(i)}
		}
		a.must(a.db.Runs.CreateMetrics(t.Context(), domain.System, iteration, values))
	}
	path := "/metric/iteration/" + iteration + "/series"
	a.get(path+"?points=100000").fails(422, "INVALID_PAYLOAD", "points")
	a.do("POST", "/series", fmt.Sprintf(`{"iterations":[%q],"points":100000}`, iteration)).fails(422, "INVALID_PAYLOAD", "points")
	a.get(path + "?points=1000").wants(200)
}

// A caller can't send more than 16 KiB before signing in.
func TestSignInTakesLittle(t *testing.T) {
	a := start(t)
	long := strings.Repeat("x", 16<<10)
	a.do("POST", "/auth", credentials("ada", long), anonymous).fails(413, "PAYLOAD_TOO_LARGE", "")
	a.do("POST", "/auth", credentials("default", password)+strings.Repeat(" ", 10<<10), anonymous).wants(200)
}
