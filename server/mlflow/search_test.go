package mlflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/users"
)

// names returns the names of the runs in a response, separated by spaces.
func (a answer) names() string {
	a.b.Helper()
	a.wants(200)
	var got struct {
		Runs []struct {
			Info struct {
				Name string `json:"run_name"`
			}
		}
	}
	a.b.must(json.Unmarshal([]byte(a.body), &got))
	var names []string
	for _, r := range got.Runs {
		names = append(names, r.Info.Name)
	}
	return strings.Join(names, " ")
}

// searchBed creates four runs in one experiment and two in another.
func searchBed(t *testing.T) (b bed, e, other string) {
	b = start(t)
	e, other = b.experiment("one"), b.experiment("two")
	log := func(experiment, name string, begun int, fields, status string) string {
		id := b.run(experiment, fmt.Sprintf(`,"run_name":%q,"start_time":%d`, name, 1_700_000_000_000+begun))
		b.post("runs/log-batch", `{"run_id":"`+id+`",`+fields+`}`).is(`{}`)
		if status != "" {
			b.post("runs/update", `{"run_id":"`+id+`","status":"`+status+`","end_time":1700000009000}`).wants(200)
		}
		return id
	}
	metric := func(key, value string) string {
		return fmt.Sprintf(`{"key":%q,"value":%s,"timestamp":1,"step":1}`, key, value)
	}
	log(e, "a", 1, `"metrics":[`+metric("loss", "0.5")+`,`+metric("val/x.y z", "1")+`],"params":[{"key":"lr","value":"0.1"},{"key":"net","value":"ResNet"}],
		"tags":[{"key":"team","value":"Red"},{"key":"mlflow.user","value":"ada"}]`, "FINISHED")
	b1 := log(e, "b", 2, `"metrics":[`+metric("loss", "0.25")+`],"params":[{"key":"lr","value":"0.10"},{"key":"net","value":"vgg"}],"tags":[{"key":"team","value":"blue_1"}]`, "FAILED")
	log(e, "c", 3, `"metrics":[`+metric("loss", `"NaN"`)+`],"params":[{"key":"lr","value":"9"}],"tags":[{"key":"mlflow.parentRunId","value":"`+b1+`"}]`, "")
	log(e, "d", 4, `"params":[{"key":"lr","value":"10"}],"tags":[{"key":"team","value":"Red"},{"key":"mlflow.source.name","value":"train.py"}]`, "KILLED")
	log(other, "z", 5, `"metrics":[`+metric("loss", "0.75")+`],"params":[{"key":"lr","value":"0.1"}]`, "")
	id := log(other, "y", 6, `"metrics":[`+metric("loss", `"Infinity"`)+`]`, "")
	b.post("runs/log-inputs", `{"run_id":"`+id+`","datasets":[{"tags":[{"key":"mlflow.data.context","value":"train"}],
		"dataset":{"name":"iris","digest":"d1","source_type":"x","source":"y"}}]}`).is(`{}`)
	return b, e, other
}

func TestRunSearch(t *testing.T) {
	b, e, other := searchBed(t)
	search := func(filter string, order ...string) answer {
		q, err := json.Marshal(map[string]any{"experiment_ids": []string{e, other, "nothing"}, "filter": filter, "order_by": order})
		b.must(err)
		return b.post("runs/search", string(q))
	}
	child := b.get("experiments/get-by-name", "experiment_name", "one").text("experiment", "experiment_id")
	idOf := func(name string) string {
		var got struct {
			Runs []struct {
				Info struct {
					ID  string `json:"run_id"`
					URI string `json:"artifact_uri"`
				}
			}
		}
		b.must(json.Unmarshal([]byte(search("run_name = '"+name+"'").wants(200).body), &got))
		return got.Runs[0].Info.ID
	}
	for _, c := range []struct{ filter, want string }{
		{"", "y z d c b a"},
		{"metrics.loss < 0.6", "b a"},
		{"metrics.loss <= 0.25", "b"},
		{"metric.loss > 0.5", "y z"},
		{"metrics.loss >= 5e-1", "y z a"},
		{"metrics.loss = .25", "b"},
		{"metrics.loss != 0.25", "y z c a"}, // NaN matches only !=
		{"metrics.`val/x.y z` = 1", "a"},
		{`metrics."val/x.y z" >= 1`, "a"},
		{"metrics.nothing != 1", ""},
		{"params.lr = '0.1'", "z a"}, // parameters are compared as strings
		{"params.lr != '0.1'", "d c b"},
		{"param.net LIKE 'Res%'", "a"},
		{"parameters.net like 'res%'", ""},
		{"params.net ILIKE 'res%'", "a"},
		{"params.net LIKE 'v_g'", "b"},
		{"params.net IS NULL", "y z d c"},
		{"params.net IS NOT NULL", "b a"},
		{"tags.team = 'Red'", "d a"},
		{"tags.team != \"Red\"", "b"},
		{"tag.team LIKE 'blue_1'", "b"},
		{"tags.team IS NULL", "y z c"},
		{"tags.`mlflow.user` = 'ada'", "a"},
		{"tags.mlflow.source.name = 'train.py'", "d"},
		{"tags.mlflow.runName = 'c'", "c"},
		{"tags.mlflow.note.content IS NULL AND tags.team = 'Red'", "d a"},
		{"tags.mlflow.parentRunId = '" + idOf("b") + "'", "c"},
		{"tags.mlflow.parentRunId IS NULL and attributes.status = 'RUNNING'", "y z"},
		{"tags.mlflow.parentRunId != 'x'", "c"},
		{"attributes.status = 'FINISHED'", "a"},
		{"status != 'FINISHED'", "y z d c b"},
		{"status IN ('FAILED', 'KILLED')", "d b"},
		{"status LIKE 'F%'", "b a"},
		{"status = 'LOST'", ""},
		{"run_name ILIKE '_' and run_name != 'a'", "y z d c b"},
		{"run_name IN ('a','z',)", "z a"},
		{"attributes.run_name NOT IN ('a', 'b', 'c')", "y z d"},
		{"user_id = 'ada'", "a"},
		{"run_id = '" + idOf("d") + "'", "d"},
		{"attr.run_id IN ('" + idOf("d") + "', '" + idOf("a") + "')", "d a"},
		{"run_id NOT IN ('" + idOf("d") + "')", "y z c b a"},
		{"artifact_uri = 'mlflow-artifacts:/" + child + "/" + idOf("a") + "/artifacts'", "a"},
		{"start_time >= 1700000000004", "y z d"},
		{"attributes.created < 1700000000002", "a"},
		{"end_time > 0", "d b a"},
		{"end_time != 1700000009000", ""},
		{"dataset.name = 'iris' AND datasets.context = 'train'", "y"},
		{"dataset.digest IN ('d1', 'd2')", "y"},
		{"dataset.name != 'wine'", "y"},
		{"dataset.name != 'iris'", ""},
		{"dataset.name LIKE 'x%'", ""},
		{"metrics.loss < 1 AND params.lr = '0.1' And tags.team = 'Red'", "a"},
		{"params.lr = 'it''s'", ""},
	} {
		if got := search(c.filter).names(); got != c.want {
			t.Errorf("%s: %q, want %q", c.filter, got, c.want)
		}
	}
	for _, c := range []struct{ order, want string }{
		{"metrics.loss", "b a z y c d"}, // NaN, then runs without the metric, last in both directions
		{"metrics.loss ASC", "b a z y c d"},
		{"metrics.loss DESC", "y z a b c d"},
		{"params.lr", "z a b d c y"}, // parameters are sorted as strings
		{"params.lr desc", "c d b z a y"},
		{"tags.team", "d a b y z c"},
		{"start_time", "a b c d z y"},
		{"attributes.start_time DESC", "y z d c b a"},
		{"run_name DESC", "z y d c b a"},
		{"end_time", "d b a y z c"},
	} {
		if got := search("", c.order).names(); got != c.want {
			t.Errorf("by %s: %q, want %q", c.order, got, c.want)
		}
	}
	if got := search("", "tags.team", "metrics.loss").names(); got != "a d b z y c" {
		t.Errorf("by two keys: %q", got)
	}
	for _, filter := range []string{"loss < 1", "metrics.loss", "metrics.loss <", "metrics.loss < '1'", "metrics.loss LIKE '1'", "params.lr = 1", "params.lr < '1'",
		"metrics.loss < 1 OR metrics.loss > 2", "(metrics.loss < 1)", "NOT params.lr = '1'", "params.lr = 'x", "foo.bar = 'x'", "metrics. = 1", "start_time = 'x'",
		"start_time = 1.5", "run_id IN 'x'", "run_id IN ()", "run_id IN (1)", "params.lr IS", "params.lr IS NOT", "dataset.size = 'x'", "AND", "a = b = c", "status < 'X'",
		"artifact_uri LIKE 'x'", strings.Repeat("params.a = 'x' AND ", 300) + "params.a = 'x'", "params.a LIKE '" + strings.Repeat("x", 1001) + "'"} {
		search(filter).fails(400, "INVALID_PARAMETER_VALUE")
	}
	for _, order := range []string{"loss", "metrics.loss UP", "metrics.loss ASC DESC", "dataset.name", "", "params."} {
		search("", order).fails(400, "INVALID_PARAMETER_VALUE")
	}
}

func TestRunSearchPages(t *testing.T) {
	b, e, other := searchBed(t)
	body := func(token string) string {
		return `{"experiment_ids":["` + e + `","` + other + `"],"max_results":"4","page_token":"` + token + `"}`
	}
	first := b.post("runs/search", body(""))
	second := b.post("runs/search", body(first.text("next_page_token")))
	if got := first.names() + " | " + second.names(); got != "y z d c | b a" || strings.Contains(second.body, "next_page_token") {
		t.Errorf("the pages are %s", got)
	}
	b.post("runs/search", body("nonsense")).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/search", `{"experiment_ids":["`+e+`"],"max_results":0}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/search", `{"experiment_ids":["`+e+`"],"max_results":50001}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/search", `{"experiment_ids":["`+e+`"],"run_view_type":2}`).is(`{}`)
	b.post("runs/search", `{"experiment_ids":["`+e+`"],"run_view_type":"SOME"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/search", `{}`).is(`{}`)
}

func TestExperimentSearch(t *testing.T) {
	b := start(t)
	for i, name := range []string{"alpha", "beta", "Gamma"} {
		b.now.Store(begin + int64(i))
		b.post("experiments/create", fmt.Sprintf(`{"name":%q,"tags":[{"key":"n","value":"%d"}]}`, name, 5-i)).wants(200)
	}
	b.now.Store(begin + 10)
	b.post("experiments/set-experiment-tag", `{"experiment_id":"`+b.get("experiments/get-by-name", "experiment_name", "beta").text("experiment", "experiment_id")+
		`","key":"team","value":"Red"}`).is(`{}`)
	for _, c := range []struct{ query, want string }{
		{`"max_results":10`, "Gamma beta alpha"},
		{`"max_results":10,"filter":"name = 'beta'"`, "beta"},
		{`"max_results":10,"filter":"attribute.name LIKE '%a%'"`, "Gamma beta alpha"},
		{`"max_results":10,"filter":"name ILIKE 'g%'"`, "Gamma"},
		{`"max_results":10,"filter":"name != 'beta' AND tags.n = '5'"`, "alpha"},
		{`"max_results":10,"filter":"tags.team = 'Red'"`, "beta"},
		{`"max_results":10,"filter":"tags.team IS NULL"`, "Gamma alpha"},
		{`"max_results":10,"filter":"creation_time > 1800000000000"`, "Gamma beta"},
		{`"max_results":10,"filter":"last_update_time >= 1800000000010"`, "beta"},
		{`"max_results":10,"order_by":["name ASC"]`, "Gamma alpha beta"},
		{`"max_results":10,"order_by":["last_update_time DESC"]`, "beta Gamma alpha"},
		{`"max_results":10,"order_by":["tags.n"]`, "Gamma beta alpha"},
		{`"max_results":2,"order_by":["creation_time"]`, "alpha beta"},
		{`"max_results":10,"view_type":"DELETED_ONLY"`, ""},
	} {
		var got struct{ Experiments []struct{ Name string } }
		b.must(json.Unmarshal([]byte(b.post("experiments/search", "{"+c.query+"}").wants(200).body), &got))
		var names []string
		for _, e := range got.Experiments {
			names = append(names, e.Name)
		}
		if all := strings.Join(names, " "); all != c.want {
			t.Errorf("%s: %q, want %q", c.query, all, c.want)
		}
	}
	for _, filter := range []string{"params.x = '1'", "size = 1", "creation_time = 'x'"} {
		b.post("experiments/search", `{"max_results":10,"filter":`+quote(filter)+`}`).fails(400, "INVALID_PARAMETER_VALUE")
	}
}

// TestUserOfNativeRun checks that the account that created a run is its user and its tag mlflow.user,
// also in filters and orders, until a client sets the tag.
func TestUserOfNativeRun(t *testing.T) {
	b := startWith(t, true)
	root := basic(users.DefaultUsername, password)
	experiment := b.post("experiments/create", `{"name":"sweep"}`, root).text("experiment_id")
	for _, name := range []string{"ada", "grace"} {
		u, err := b.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: name, Password: password, IsAdmin: true})
		b.must(err)
		_, err = b.db.Runs.CreateIteration(t.Context(), domain.Actor{UserID: u.ID}, experiment, runs.NewIteration{Name: new("of " + name)})
		b.must(err)
		b.must(b.db.Users.DeleteUser(t.Context(), domain.System, u.ID))
	}
	client := b.post("runs/create", `{"experiment_id":`+quote(experiment)+`,"run_name":"client","user_id":"hopper"}`, root).text("run", "info", "run_id")
	b.post("runs/create", `{"experiment_id":`+quote(experiment)+`,"run_name":"none"}`, root).wants(200)
	search := func(filter string) (found string) {
		var got struct {
			Runs []struct {
				Info struct {
					Name string `json:"run_name"`
					User string `json:"user_id"`
				}
				Data struct{ Tags []struct{ Key, Value string } }
			}
		}
		a := b.post("runs/search", `{"experiment_ids":[`+quote(experiment)+`],"order_by":["tags.mlflow.user"],"filter":`+quote(filter)+`}`, root).wants(200)
		b.must(json.Unmarshal([]byte(a.body), &got))
		for _, r := range got.Runs {
			tag := ""
			for _, t := range r.Data.Tags {
				if t.Key == "mlflow.user" {
					tag += t.Value
				}
			}
			if tag != r.Info.User {
				t.Errorf("the run %q has the user %q and the tag %q", r.Info.Name, r.Info.User, tag)
			}
			found += r.Info.User + ": " + r.Info.Name + "\n"
		}
		return found
	}
	same := func(filter, want string) {
		t.Helper()
		if got := search(filter); got != want {
			t.Errorf("the filter %q finds\n%swant\n%s", filter, got, want)
		}
	}
	same("", "ada: of ada\ndefault: none\ngrace: of grace\nhopper: client\n")
	same("tags.`mlflow.user` = 'ada'", "ada: of ada\n")
	same("tags.mlflow.user != 'ada' AND user_id LIKE 'gr%'", "grace: of grace\n")
	same("user_id IN ('default', 'hopper')", "default: none\nhopper: client\n")
	b.post("runs/delete-tag", `{"run_id":`+quote(client)+`,"key":"mlflow.user"}`, root).wants(200)
	same("tags.mlflow.user = 'default'", "default: client\ndefault: none\n")
	b.post("runs/set-tag", `{"run_id":`+quote(client)+`,"key":"mlflow.user","value":"ada"}`, root).wants(200)
	same("user_id = 'ada'", "ada: of ada\nada: client\n")
}
