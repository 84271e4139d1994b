package search_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// runWith creates a run with the given parameters and the given values of metrics, at steps 0, 1,
// …
func runWith(t testing.TB, db *store.DB, experimentID, name string, params map[string]string, metrics map[string][]float64) string {
	t.Helper()
	c, err := db.Runs.CreateIteration(context.Background(), domain.System, experimentID, runs.NewIteration{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range params {
		if _, err := db.Runs.CreateParameter(context.Background(), domain.System, c.ID, key, scalar.Text(value)); err != nil {
			t.Fatal(err)
		}
	}
	for key, values := range metrics {
		for _, v := range values {
			if _, err := db.Runs.CreateMetric(context.Background(), domain.System, c.ID, points.Sample{Key: key, Value: scalar.Value(v)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c.ID
}

// namesOf returns the names of the runs that a search finds, separated by spaces.
func namesOf(t testing.TB, db *store.DB, experimentID string, q runs.IterationQuery) string {
	t.Helper()
	if q.Page == (domain.Page{}) {
		q.Page = domain.FirstPage
	}
	l, err := db.Runs.Iterations(context.Background(), domain.System, experimentID, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	var names []string
	for _, i := range l.Data {
		names = append(names, i.Name)
	}
	return strings.Join(names, " ")
}

func TestSearchBySortTable(t *testing.T) {
	f := newSearchFixture(t, 0)
	db, e := f.db, f.experimentID
	add := func(name string, params map[string]string, metrics map[string][]float64) {
		t.Helper()
		f.clock.Add(1)
		runWith(t, db, e, name, params, metrics)
	}
	nan, inf := math.NaN(), math.Inf(1)
	add("a", map[string]string{"lr": "0.1", "opt": "sgd"}, map[string][]float64{"loss": {3, 1, 2}})
	add("b", map[string]string{"lr": "1e-3", "opt": "adam"}, map[string][]float64{"loss": {1, nan}})
	add("c", map[string]string{"lr": "auto"}, map[string][]float64{"loss": {inf}})
	add("d", map[string]string{"lr": "10"}, nil)
	add("e", nil, map[string][]float64{"loss": {-5, 2}})
	add("f", map[string]string{"lr": "0.10"}, map[string][]float64{"loss": {-inf}})
	add("g", map[string]string{"lr": "always"}, map[string][]float64{"loss": {nan}})
	for _, c := range []struct{ filter, sort, want string }{
		{"", "", "a b c d e f g"},
		{"", "-created", "g f e d c b a"},
		{"", "name", "a b c d e f g"},
		{"", "-name", "g f e d c b a"},
		{"", "param.lr", "b a f d g c e"},        // 0.1 and 0.10 are equal: the older one first
		{"", "-param.lr", "d a f b c g e"},       // other values after numbers
		{"", "metric.loss", "f a e c b g d"},     // NaN after numbers, runs without the metric last
		{"", "-metric.loss", "c a e f b g d"},    //
		{"", "metric.loss.min", "e a b c d f g"}, // no minimum without a finite value
		{"", "-metric.loss.min", "a b e c d f g"},
		{"", "-metric.loss.max,name", "a e b c d f g"},
		{"", "metric.loss.mean, -name", "e b a g f d c"},
		{"", "-metric.loss.count, -name", "a e b g f c d"},
		{"", "param.opt, -name", "b a g f e d c"},
		{"", "ended, tag, -id", "g f e d c b a"},
		{"param.lr > 0.01", "", "a c d f g"}, // a non-numeric value is compared with the literal as written
		{"param.lr > 0.01 and not param.lr > 'a'", "", "a d f"},
		{"param.lr = 0.1", "", "a f"},
		{"param.lr = '0.1'", "", "a"},
		{"param.lr != 0.1", "", "b c d g"},
		{"not param.lr = 0.1", "", "b c d e g"},
		{"param.lr in (10, 'auto')", "-name", "d c"},
		{"param.lr contains 'A'", "", "c g"},
		{"metric.loss = NaN", "", "b g"},
		{"metric.loss != NaN", "", "a c e f"},
		{"metric.loss != 2", "", "c f"},
		{"not metric.loss = 2", "", "b c d f g"},
		{"metric.loss >= 2", "", "a c e"},
		{"metric.loss.min < 2", "", "a b e"},
		{"metric.loss.count = 1", "", "c f g"},
		{"metric.none > 0 or param.none = 1", "metric.none, -param.none", ""},
		{"status = 'running' and (name < 'c' or name = 'g')", "", "a b g"},
		{"ended > '2000-01-01'", "", ""},
		{"created > '2000-01-01' and duration < '1h'", "", "a b c d e f g"},
	} {
		if got := namesOf(t, db, e, runs.IterationQuery{Filter: c.filter, Sort: c.sort}); got != c.want {
			t.Errorf("filter %q sort %q: %s, want %s", c.filter, c.sort, got, c.want)
		}
	}
}

// TestSearchFindsTheLost searches for runs that have not been seen for a while.
func TestSearchFindsTheLost(t *testing.T) {
	f := newSearchFixture(t, 0)
	minute := time.Minute.Milliseconds()
	silent := runWith(t, f.db, f.experimentID, "silent", nil, nil)
	ended := runWith(t, f.db, f.experimentID, "ended", nil, nil)
	f.must(f.db.Runs.UpdateIteration(context.Background(), domain.System, ended, runs.IterationPatch{Status: new(domain.Succeeded)}))
	f.clock.Add(1)
	runWith(t, f.db, f.experimentID, "alive", nil, nil)
	f.clock.Add(5 * minute)
	at := time.UnixMilli(f.clock.Load() - 5*minute).UTC().Format(time.RFC3339Nano)
	for _, c := range []struct{ filter, sort, want string }{
		{"status = 'lost'", "", "silent"},
		{"status in ('Lost', 'succeeded')", "", "silent ended"},
		{"status != 'lost'", "", "ended alive"},
		{"not status = 'lost'", "", "ended alive"},
		{"status = 'running'", "", "silent alive"},
		{"status = 'running' and not status = 'lost'", "", "alive"},
		{"status = 'running' and last_seen < '" + at + "'", "", "silent"},
		{"last_seen >= '" + at + "'", "", "alive"},
		{"status = 'running'", "-last_seen", "alive silent"},
		{"status = 'running'", "last_seen", "silent alive"},
	} {
		if got := namesOf(t, f.db, f.experimentID, runs.IterationQuery{Filter: c.filter, Sort: c.sort}); got != c.want {
			t.Errorf("filter %q sort %q: %s, want %s", c.filter, c.sort, got, c.want)
		}
	}
	f.must(f.db.Runs.Heartbeat(context.Background(), domain.System, silent))
	for deadline := time.Now().Add(5 * time.Minute); namesOf(t, f.db, f.experimentID, runs.IterationQuery{Filter: "status = 'lost'"}) != ""; {
		if time.Now().After(deadline) {
			t.Fatal("a run that was heard of again is still lost")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestSearchPagesFitTogether(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	for i := range 23 {
		runWith(t, db, e, fmt.Sprint(i), map[string]string{"k": fmt.Sprint(i % 3)}, nil)
	}
	for _, q := range []runs.IterationQuery{{}, {Sort: "param.k"}, {Sort: "-param.k"}, {Filter: "param.k > 0"}, {Filter: "param.k = 7"}, {Sort: "tag"}} {
		q.Page = domain.Page{Limit: domain.MaxLimit}
		whole := namesOf(t, db, e, q)
		total := len(strings.Fields(whole))
		var parts []string
		for offset := 0; offset < 30; offset += 4 {
			q.Page = domain.Page{Limit: 4, Offset: offset}
			l, err := db.Runs.Iterations(context.Background(), domain.System, e, q)
			if err != nil {
				t.Fatal(err)
			}
			if l.Total != total || l.Limit != 4 || l.Offset != offset || l.Data == nil {
				t.Errorf("%+v: total %d, limit %d, offset %d, want %d", q, l.Total, l.Limit, l.Offset, total)
			}
			for _, i := range l.Data {
				parts = append(parts, i.Name)
			}
		}
		if got := strings.Join(parts, " "); got != whole {
			t.Errorf("%+v: the pages have %s, the whole %s", q, got, whole)
		}
		q.Page = domain.Page{Limit: 0}
		if l, err := db.Runs.Iterations(context.Background(), domain.System, e, q); err != nil || l.Total != total || len(l.Data) != 0 {
			t.Errorf("%+v: %d of %d, want 0 of %d (%v)", q, len(l.Data), l.Total, total, err)
		}
	}
}

func TestSearchEmbedsColumns(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	params := map[string]string{"lr": "0.10", "a b": "x", "lr.min": "text"}
	runWith(t, db, e, "a", params, map[string][]float64{
		"loss": {3, 1, 2}, "loss.min": {7}, "a`b": {math.Inf(-1)}, "val/acc": {0.5, math.NaN()}, "big": {math.MaxFloat64, math.MaxFloat64}})
	runWith(t, db, e, "b", nil, nil)
	for _, c := range []struct{ columns, want string }{
		{"param.lr", `{"params":{"lr":"0.10"},"metrics":{}}`},
		{"param.lr, param.lr, param.`a b`, param.lr.min, param.none",
			`{"params":{"a b":"x","lr":"0.10","lr.min":"text"},"metrics":{}}`},
		{"metric.loss, metric.loss.last, metric.loss.min, metric.loss.max, metric.loss.mean, metric.loss.count",
			`{"params":{},"metrics":{"loss":2,"loss.count":3,"loss.last":2,"loss.max":3,"loss.mean":2,"loss.min":1}}`},
		{"metric.`loss.min`, metric.loss.min, metric.`loss.min`.max",
			"{\"params\":{},\"metrics\":{\"`loss.min`\":7,\"loss.min\":1,\"loss.min.max\":7}}"},
		{"metric.`a``b`, metric.`a``b`.min, metric.`a``b`.count",
			"{\"params\":{},\"metrics\":{\"a`b\":\"-Infinity\",\"a`b.count\":1}}"},
		{"metric.val/acc, metric.val/acc.max, metric.big.mean, metric.big.max, metric.none.count",
			`{"params":{},"metrics":{"big.max":1.7976931348623157e+308,"val/acc":"NaN","val/acc.max":0.5}}`},
	} {
		for _, q := range []runs.IterationQuery{{Columns: c.columns}, {Columns: c.columns, Sort: "-name"}} {
			q.Page = domain.FirstPage
			l, err := db.Runs.Iterations(context.Background(), domain.System, e, q)
			if err != nil {
				t.Fatal(err)
			}
			if q.Sort != "" {
				slices.Reverse(l.Data)
			}
			if got := embeddedIn(t, l.Data[0]); got != c.want {
				t.Errorf("%s: %s, want %s", c.columns, got, c.want)
			}
			if got := embeddedIn(t, l.Data[1]); got != `{"params":{},"metrics":{}}` {
				t.Errorf("%s: an empty run has %s", c.columns, got)
			}
		}
	}
	l, err := db.Runs.Iterations(context.Background(), domain.System, e, runs.IterationQuery{Page: domain.FirstPage})
	if err != nil || embeddedIn(t, l.Data[0]) != `{}` {
		t.Errorf("without columns there is %s (%v)", embeddedIn(t, l.Data[0]), err)
	}
}

// embeddedIn returns the JSON of the embedded data of a listed run.
func embeddedIn(t *testing.T, i runs.Iteration) string {
	t.Helper()
	part := runs.Iteration{Params: i.Params, Metrics: i.Metrics, Tags: domain.Strings{}}
	whole, err := json.Marshal(part, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(whole), `"tags":[],`)
	if !found {
		return `{}`
	}
	return "{" + rest
}

func TestSearchOnlyLooksIntoItsExperiment(t *testing.T) {
	db := openForTest(t)
	mine, other := newExperiment(t, db), newExperiment(t, db)
	for _, e := range []string{other, mine, other} {
		runWith(t, db, e, "run-"+e, map[string]string{"lr": "1"}, map[string][]float64{"loss": {1}})
	}
	for _, q := range []runs.IterationQuery{
		{},
		{Filter: "param.lr = 1 or metric.loss = 1"},
		{Filter: "not param.lr = 2", Sort: "metric.loss"},
		{Filter: "name contains 'run' or name contains 'run'"},
	} {
		if got, want := namesOf(t, db, mine, q), "run-"+mine; got != want {
			t.Errorf("%+v: %s, want %s", q, got, want)
		}
	}
}

func TestSearchNeedsReadPermission(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	u, err := db.Users.CreateUser(context.Background(), domain.System, users.NewUser{Username: "u", Password: "a password"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		actor        domain.Actor
		experimentID string
		want         domain.Code
	}{
		{domain.Actor{UserID: u.ID}, e, domain.CodeProjectPermissionRequired},
		{domain.System, "no such", domain.CodeNotFound},
	} {
		_, err := db.Runs.Iterations(context.Background(), c.actor, c.experimentID, runs.IterationQuery{Page: domain.FirstPage, Filter: "name = 'x'", Sort: "name"})
		if domain.AsError(err) == nil || domain.AsError(err).Code != c.want {
			t.Errorf("a search: %v, want %s", err, c.want)
		}
		_, err = db.Runs.Keys(context.Background(), c.actor, c.experimentID, runs.KeyQuery{Page: domain.FirstPage})
		if domain.AsError(err) == nil || domain.AsError(err).Code != c.want {
			t.Errorf("the names: %v, want %s", err, c.want)
		}
	}
}

// TestSearchBindsWhatItIsGiven tries to inject SQL with quotes and names.
func TestSearchBindsWhatItIsGiven(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	evil := []string{`'; DROP TABLE iteration; --`, `" OR 1=1 --`, `') OR (1=1`, `x' UNION SELECT password_hash FROM user --`,
		`?`, `:a`, `$1`, `%`, `_`, `\`, `\'`, "`", "``; DELETE FROM user", `]`, `json_each(1)`, `(SELECT 1)`}
	for i, s := range evil {
		runWith(t, db, e, fmt.Sprint(i), map[string]string{s: s}, map[string][]float64{s: {float64(i)}})
	}
	for i, s := range evil {
		name := "`" + strings.ReplaceAll(s, "`", "``") + "`"
		text := `'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + `'`
		for _, filter := range []string{
			"param." + name + " = " + text,
			"param." + name + " contains " + text,
			"param." + name + " in (" + text + ")",
			fmt.Sprintf("metric.%s = %d", name, i),
			"metric." + name + " >= 0 and not name = " + text,
		} {
			q := runs.IterationQuery{Filter: filter, Sort: "-param." + name + ", metric." + name + ".min", Columns: "param." + name + ",metric." + name}
			if got := namesOf(t, db, e, q); got != fmt.Sprint(i) {
				t.Errorf("%s: finds %q, want %d", filter, got, i)
			}
		}
		for _, filter := range []string{"name = " + text, "tag = " + text, "tag contains " + text, "id in (" + text + ")"} {
			if got := namesOf(t, db, e, runs.IterationQuery{Filter: filter}); got != "" {
				t.Errorf("%s: finds %q", filter, got)
			}
		}
	}
}

// TestSearchTakesTheLargestExpressions runs filters at every limit. SQLite must accept all of
// them.
func TestSearchTakesTheLargestExpressions(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	runWith(t, db, e, "a", map[string]string{"x": "1"}, nil)
	var names, sort []string
	for i := range filter.MaxKeys {
		key := fmt.Sprintf("metric.m%d", i)
		names = append(names, key+" > 0 or "+key+".min in (1, NaN)")
		if i < filter.MaxSortKeys {
			sort = append(sort, key+".mean")
		}
	}
	for name, q := range map[string]runs.IterationQuery{
		"names":       {Filter: strings.Join(names, " or ") + " or name = 'a'", Sort: strings.Join(sort, ",")},
		"comparisons": {Filter: repeat("param.x > 0", " and ", filter.MaxComparisons)},
		"nots":        {Filter: strings.Repeat("not ", filter.MaxNesting) + "name = 'a'"},
		"parentheses": {Filter: strings.Repeat("(not ", (filter.MaxNesting-1)/2) + "name = 'a' or id = 'b'" + strings.Repeat(")", (filter.MaxNesting-1)/2)},
		"both": {Filter: repeat(strings.Repeat("(", filter.MaxNesting)+repeat("param.x = 1", " and ", 3)+strings.Repeat(")", filter.MaxNesting),
			" or ", 60)},
		"list":     {Filter: "param.x in (" + repeat("1", ",", filter.MaxValues) + ") and id in (" + repeat("'a'", ",", filter.MaxValues) + ") or param.x in (" + repeat("'1'", ",", filter.MaxValues) + ")"},
		"contains": {Filter: "not name contains '" + strings.Repeat("é", filter.MaxContains/2) + "' and not name contains '" + strings.Repeat("e", filter.MaxContains) + "'"},
		"columns":  {Columns: repeat("metric.x", ",", filter.MaxColumns)},
	} {
		if got := namesOf(t, db, e, q); got != "a" {
			t.Errorf("%s: finds %q", name, got)
		}
	}
}

func repeat(s, separator string, n int) string {
	return strings.Repeat(s+separator, n-1) + s
}

func TestSearchRefusesMistakes(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	for _, c := range []struct {
		q     runs.IterationQuery
		field string
		text  string
	}{
		{runs.IterationQuery{Filter: "param.lr = "}, "filter", "filter is wrong at character 12: write a number, or a text in quotes, here."},
		{runs.IterationQuery{Sort: "created,"}, "sort", "sort is wrong at character 9: write param.NAME"},
		{runs.IterationQuery{Columns: "param.lr, name"}, "columns", "columns is wrong at character 11: a column is param.NAME, metric.NAME or summary.NAME"},
		{runs.IterationQuery{Group: &runs.Grouped{By: "name"}}, "group", "group is wrong at character 1: runs are grouped by"},
		{runs.IterationQuery{Group: &runs.Grouped{By: "tag, param.x", Values: []*string{nil}}}, "group", "A group of 2 names has 1 values; give one value for each name."},
	} {
		_, err := db.Runs.Iterations(context.Background(), domain.System, e, c.q)
		refused := domain.AsError(err)
		if refused == nil || refused.Code != domain.CodeInvalidPayload || refused.Field != c.field || !strings.HasPrefix(refused.Message, c.text) {
			t.Errorf("%.80v: %+v, want %s", c.q, refused, c.text)
		}
	}
}

func TestSearchKnowsEveryStatus(t *testing.T) {
	var all []string
	for _, s := range runs.IterationStatuses {
		all = append(all, string(s))
	}
	if !slices.Equal(all, filter.Statuses) {
		t.Errorf("iterations have the statuses %q, the search language %q", all, filter.Statuses)
	}
}
