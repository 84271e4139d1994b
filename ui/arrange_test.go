package ui_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// arranged is an experiment for groups, children and views: each run logs the
// same steps of train/loss and val/acc.
type arranged struct {
	experiment string
	runs       []string
	last       []float64 // last value of train/loss
}

const arrangedSteps = 20

// arrangement creates six runs with two values of lr, two values of opt, and one value of same. The
// last two runs are children of the first run.
func (s *site) arrangement() arranged {
	s.t.Helper()
	a := arranged{experiment: s.sweep(0, 0).experiment}
	ctx, actor := s.t.Context(), s.actor("alice")
	for i := range 6 {
		n := runs.NewIteration{Name: new(fmt.Sprint("run ", i+1))}
		if i >= 4 {
			n.ParentIterationID = &a.runs[0]
		}
		id := s.run(a.experiment, n)
		for key, value := range map[string]string{"lr": []string{"0.1", "0.01"}[i%2], "opt": []string{"adam", "sgd"}[i/3], "same": "1"} {
			if _, err := s.db.Runs.CreateParameter(ctx, actor, id, key, scalar.Text(value)); err != nil {
				s.t.Fatal(err)
			}
		}
		var all []points.Sample
		for step := range arrangedSteps {
			loss := float64(i*i) + 10/float64(step+1)
			all = append(all, points.Sample{Key: "train/loss", Value: scalar.Value(loss), Step: new(scalar.Step(step))},
				points.Sample{Key: "val/acc", Value: scalar.Value(float64(step) / 100), Step: new(scalar.Step(step))})
			if step == arrangedSteps-1 {
				a.last = append(a.last, loss)
			}
		}
		if err := s.db.Runs.CreateMetrics(ctx, actor, id, all); err != nil {
			s.t.Fatal(err)
		}
		a.runs = append(a.runs, id)
		s.clock.move(time.Second)
	}
	return a
}

// spread holds a mean and a sample standard deviation.
func spread(values ...float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(values)-1))
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

func TestGroupsAsData(t *testing.T) {
	s := start(t, setup{})
	a := s.arrangement()
	var groups struct {
		Data []struct {
			Values     []*string
			Iterations int
			Metrics    map[string]struct {
				N        int
				Mean, SD float64
			}
		}
		Total int
		Wrong *struct{ Field string }
	}
	path := "/data/experiment/" + a.experiment
	s.get(path+"/groups?group=param.lr&columns=metric.train/loss").json(t, 200, &groups)
	if groups.Total != 2 || len(groups.Data) != 2 {
		t.Fatalf("the groups are %+v", groups)
	}
	for i, g := range groups.Data {
		// The smaller lr, of the second run, comes first.
		first := 1 - i
		mean, sd := spread(a.last[first], a.last[first+2], a.last[first+4])
		if m := g.Metrics["train/loss"]; *g.Values[0] != []string{"0.01", "0.1"}[i] || g.Iterations != 3 || m.N != 3 || !near(m.Mean, mean) || !near(m.SD, sd) {
			t.Errorf("group %d is %+v, want mean %v and deviation %v", i, g, mean, sd)
		}
	}
	s.get(path+"/groups?group=oops").json(t, 200, &groups)
	if groups.Wrong == nil || groups.Wrong.Field != "group" {
		t.Errorf("a wrong name answers %+v", groups.Wrong)
	}

	var runs struct {
		Data  []struct{ ID string }
		Total int
	}
	s.get(path+"/iterations?group=param.lr&values="+url.QueryEscape(`["0.1"]`)).json(t, 200, &runs)
	if runs.Total != 3 || runs.Data[0].ID != a.runs[4] {
		t.Errorf("the runs of a group are %+v", runs)
	}
	s.get(path+"/iterations?group=param.lr&values=x").wants(t, 422, "a list of strings")

	var curves struct {
		Curves []struct {
			ID   string
			X, Y []float64
			Low  []float64
			High []float64
			N    []int
			Runs int
		}
	}
	body := `"keys":["train/loss"],"points":250,"x":"step","scale":"linear","groups":{"experiment":"` + a.experiment +
		`","by":"param.lr","sort":"-created","hide":["` + a.runs[5] + `"],"values":[["0.1"],["0.01"],["none"]]}`
	s.curves(`{`+body+`}`).json(t, 200, &curves)
	if len(curves.Curves) != 2 {
		t.Fatalf("there are %d curves", len(curves.Curves))
	}
	all, part := curves.Curves[0], curves.Curves[1]
	end := arrangedSteps - 1
	mean, sd := spread(a.last[0], a.last[2], a.last[4])
	if all.Runs != 3 || len(all.X) != arrangedSteps || all.N[end] != 3 || !near(all.Y[end], mean) || !near(all.Low[end], mean-sd) || !near(all.High[end], mean+sd) {
		t.Errorf("the mean of three ends at %v in %v to %v, want %v ± %v", all.Y[end], all.Low[end], all.High[end], mean, sd)
	}
	if mean, _ = spread(a.last[1], a.last[3]); part.Runs != 2 || part.N[end] != 2 || !near(part.Y[end], mean) {
		t.Errorf("without a run the mean of %v ends at %v, want %v", part.N[end], part.Y[end], mean)
	}
	s.curves(`{`+strings.Replace(body, `"by"`, `"most":2,"by"`, 1)+`}`).json(t, 200, &curves)
	if mean, _ = spread(a.last[2], a.last[4]); curves.Curves[0].Runs != 2 || !near(curves.Curves[0].Y[end], mean) {
		t.Errorf("the mean of the first two runs is %+v", curves.Curves[0])
	}
	s.curves(`{"against":"val/acc","iterations":["`+a.runs[0]+`"],"keys":["train/loss"],"points":250,"x":"step","scale":"linear"}`).json(t, 200, &curves)
	if c := curves.Curves[0]; len(c.X) != arrangedSteps || !near(c.X[end], float64(end)/100) || !near(c.Y[end], a.last[0]) {
		t.Errorf("over another metric it is %+v", c)
	}

	var same struct{ Same []string }
	s.get(path+"/same?key=lr&key=same").json(t, 200, &same)
	if len(same.Same) != 1 || same.Same[0] != "same" {
		t.Errorf("the same in all are %v", same.Same)
	}
}

// A mean includes all runs of a group, even if they do not fit on a page of the table.
func TestMeanOfManyRuns(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(130, 2)
	var curves struct {
		Curves []struct {
			N    []int
			Runs int
		}
	}
	s.curves(`{"keys":["train/loss"],"points":250,"x":"step","scale":"linear","groups":{"experiment":"`+w.experiment+
		`","by":"tag","sort":"-created","hide":["`+w.runs[7]+`"],"most":1000,"values":[[null]]}}`).json(t, 200, &curves)
	if len(curves.Curves) != 1 || curves.Curves[0].Runs != 129 || curves.Curves[0].N[1] != 129 {
		t.Errorf("the mean of 129 runs is %+v", curves)
	}
}

// Views and tags require rights.
func TestViewsAndTagsOfOthers(t *testing.T) {
	s := start(t, setup{auth: true})
	a := s.arrangement()
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	views, kind := "/data/experiment/"+a.experiment+"/views", header("Content-Type", "application/json")
	send := func(method, path, body string, who edit) answer {
		t.Helper()
		return s.do(method, path, strings.NewReader(body), who, kind)
	}
	var made struct{ ID string }
	send("POST", views, `{"name":" best ","query":"sort=name"}`, alice).json(t, 200, &made)
	send("POST", views, `{"name":"best","query":""}`, alice).wants(t, 409, "view with this name")
	send("POST", views, `{"name":"`, alice).wants(t, 400, "MALFORMED_BODY")
	one := "/data/view/" + made.ID
	tag := `{"iterations":["` + a.runs[0] + `","` + a.runs[1] + `"],"value":"good","attach":true}`
	refused := func() {
		t.Helper()
		send("POST", views, `{"name":"x","query":""}`, bob).wants(t, 403)
		send("PATCH", one, `{"name":"x"}`, bob).wants(t, 403)
		send("DELETE", one, "", bob).wants(t, 403)
		send("POST", "/data/tags", tag, bob).wants(t, 403)
	}
	s.get(views, bob).wants(t, 403)
	s.get("/data/experiment/"+a.experiment+"/groups?group=tag", bob).wants(t, 403)
	refused()
	if _, err := s.db.Users.CreateUserPermission(t.Context(), domain.System, s.actor("bob").UserID,
		s.project("alice", "other", "", 0, 0), users.PermissionPatch{}); err != nil {
		t.Fatal(err)
	}
	refused()
	send("DELETE", one, "", header("Sec-Fetch-Site", "cross-site")).wants(t, 403)
	send("DELETE", one, "", header("Accept", "*/*")).wants(t, 401)
	s.get(views, alice).wants(t, 200, `"name":"best"`, `"created_by":"alice"`)
	send("POST", "/data/tags", tag, alice).wants(t, 200, `{"changed":2}`)
	send("POST", "/data/tags", tag, alice).wants(t, 200, `{"changed":0}`)
	send("POST", "/data/tags", `{"iterations":["`+a.runs[0]+`","none"],"value":"half","attach":true}`, alice).wants(t, 404)
	s.get("/data/experiment/"+a.experiment+"/iterations?filter="+url.QueryEscape("tag = 'half'"), alice).wants(t, 200, `"total":0`)
	send("POST", "/data/tags", `{"iterations":[],"value":"x"}`, alice).wants(t, 422, "Choose 1 to")
	send("PATCH", one, `{"query":"sort=-name"}`, alice).wants(t, 200)
	send("DELETE", one, "", alice).wants(t, 200)
	s.get(views, alice).wants(t, 200, `"total":0`)
}

// The page contains the data that the scripts would otherwise request first. Responses with data
// are compressed.
func TestFirstData(t *testing.T) {
	s := start(t, setup{})
	a := s.arrangement()
	for _, query := range []string{"", "?group=param.lr", "?tree=1", "?group=oops", "?filter=oops+%3D", "?offset=2"} {
		page := s.get("/experiment/" + a.experiment + query)
		var first struct {
			Rows *struct {
				Data  []json.RawMessage
				Wrong *struct{ Field string }
			}
			Keys struct{ Total int }
		}
		text := find(page.body, `(?s)id="first">(.*?)</script>`)
		if err := json.Unmarshal([]byte(text), &first); err != nil {
			t.Fatalf("%s: %v in %s", query, err, text)
		}
		rows := map[string]int{"": 6, "?group=param.lr": 2, "?tree=1": 4}
		switch {
		case first.Keys.Total != 2:
			t.Errorf("%s: %d metrics", query, first.Keys.Total)
		case rows[query] > 0 && len(first.Rows.Data) != rows[query]:
			t.Errorf("%s: %d rows, want %d", query, len(first.Rows.Data), rows[query])
		case query == "?group=oops" && first.Rows.Wrong.Field != "group":
			t.Errorf("%s: %+v", query, first.Rows)
		case query == "?filter=oops+%3D" || query == "?offset=2":
			if first.Rows != nil {
				t.Errorf("%s: %+v", query, first.Rows)
			}
		}
	}
	packed := s.get("/data/experiment/"+a.experiment+"/iterations?columns=param.lr,param.opt,param.same", header("Accept-Encoding", "gzip"))
	if packed.Header.Get("Content-Encoding") != "gzip" {
		t.Error("data does not come packed")
	}
}
