package ui_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// tuning creates runs. Their loss is lowest for a medium learning rate and adamw. They also log the
// learning rate as a metric. tuning returns the experiment and the runs.
func (s *site) tuning(t testing.TB, found int) (experiment string, ids []string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: "vision"})
	check(err)
	e, err := s.db.Projects.CreateExperiment(t.Context(), domain.System, p.ID, projects.NewExperiment{Name: "sweep"})
	check(err)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range found {
		r, err := s.db.Runs.CreateIteration(t.Context(), domain.System, e.ID, runs.NewIteration{Name: new(fmt.Sprintf("sweep-%03d", i))})
		check(err)
		rate, optimizer, size := -5+4*random.Float64(), []string{"adamw", "sgd", "lion"}[random.IntN(3)], fmt.Sprint(16<<random.IntN(4))
		if i%20 == 19 {
			size = "auto"
		}
		loss := math.Pow(rate+3, 2) + map[string]float64{"adamw": 0, "sgd": 2, "lion": 1}[optimizer]
		for key, value := range map[string]string{"lr": fmt.Sprintf("%.3g", math.Pow(10, rate)), "optimizer": optimizer, "batch_size": size, "seed": fmt.Sprint(random.IntN(1000))} {
			_, err = s.db.Runs.CreateParameter(t.Context(), domain.System, r.ID, key, scalar.Text(value))
			check(err)
		}
		for _, key := range []string{"amp/scale", "lr", "train/loss", "val/loss", "val/accuracy"} {
			value := map[string]float64{"amp/scale": 65536, "lr": rate, "train/loss": loss / 2, "val/loss": loss, "val/accuracy": 1 / (1 + loss)}[key]
			for step, factor := range []float64{3, 1.5, 1, 1.1} {
				if key == "val/accuracy" {
					factor = 1 / factor
				}
				_, err = s.db.Runs.CreateMetric(t.Context(), domain.System, r.ID, points.Sample{Key: key, Step: new(scalar.Step(step)), Value: scalar.Value(value * factor)})
				check(err)
			}
		}
		ids = append(ids, r.ID)
		s.clock.move(time.Second)
	}
	return e.ID, ids
}

var importanceRow = regexp.MustCompile(`(?s)<th scope="row"><bdi>([^<]*)</bdi>.*?<bdi data-testid="direction">([^<]*)</bdi>`)

func TestImportancePage(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 120)
	directions := func(query string) map[string]string {
		t.Helper()
		page := s.get("/experiment/" + experiment + "/importance" + query)
		page.wants(t, 200)
		found := map[string]string{}
		for _, row := range importanceRow.FindAllStringSubmatch(page.body, -1) {
			found[row[1]] = row[2]
		}
		return found
	}
	got := directions("")
	// The guessed objective is to minimize val/loss. The metric lr does not count as a parameter.
	if len(got) != 4 || !strings.HasPrefix(got["lr"], "best near ") || !strings.HasPrefix(got["optimizer"], "adamw best") || got["seed"] != "no clear effect" {
		t.Errorf("for val/loss: %q", got)
	}
	if got := directions("?metric=val/accuracy"); !strings.HasPrefix(got["lr"], "best near ") || !strings.HasPrefix(got["optimizer"], "adamw best") {
		t.Errorf("for val/accuracy: %q", got)
	}
	if got := directions("?metric=val/loss&goal=maximize"); !strings.HasPrefix(got["lr"], "worst near ") {
		t.Errorf("with another goal: %q", got)
	}
	if got := directions("?metric=val/loss&goal=none"); !strings.HasPrefix(got["lr"], "lowest near ") {
		t.Errorf("without a goal: %q", got)
	}
	for query, want := range map[string]string{
		"?metric=nothing":                         "0 runs with this metric; an estimate needs at least 10.",
		"?filter=param.optimizer+%3D+%27x%27":     "0 runs with this metric; an estimate needs at least 10.",
		"?metric=amp/scale":                       "Based on 120 runs: the metric, or every parameter, has the same value in all of them.",
		"?filter=param.optimizer+%3D+%27adamw%27": " runs.",
	} {
		s.get("/experiment/"+experiment+"/importance"+query).wants(t, 200, want)
	}
	s.get("/experiment/"+experiment+"/importance?filter=(").wants(t, 422, "filter is wrong at character")
}

// TestImportanceInComparison checks that the table uses the metric on the Y axis.
func TestImportanceInComparison(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 60)
	b := s.openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/compare?" + url.Values{"i": ids[:50]}.Encode()))
	const first = `document.querySelector('#importance tbody th').textContent`
	b.is(first, "lr")
	b.is(`document.querySelector('#importance').dataset.metric`, "val/loss")
	b.is(`document.querySelector('#importance').textContent.includes('50 runs')`, "true")
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const y = document.querySelector('[name="sy"]'); y.value = 'metric.train/loss'; y.dispatchEvent(new Event('change')); })()`))
	b.is(`document.querySelector('#importance').dataset.metric`, "train/loss")
	b.is(first, "lr")
	b.do(chromedp.Navigate(s.url + "/compare?" + url.Values{"experiment": {experiment}, "filter": {"param.optimizer = 'adamw'"}}.Encode()))
	adamw := must(s.db.Runs.Iterations(t.Context(), domain.System, experiment, runs.IterationQuery{Filter: "param.optimizer = 'adamw'"}))(t).Total
	b.is(`document.querySelector('#importance').textContent.includes('`+strconv.Itoa(adamw)+` runs')`, "true")
	b.quiet()
}
