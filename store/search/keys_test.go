package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/store/storetest"
)

func keysOf(t testing.TB, db *store.DB, experimentID string, q runs.KeyQuery) string {
	t.Helper()
	if q.Page == (domain.Page{}) {
		q.Page = domain.Page{Limit: domain.MaxLimit}
	}
	l, err := db.Runs.Keys(context.Background(), domain.System, experimentID, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	var all []string
	for _, k := range l.Data {
		all = append(all, fmt.Sprintf("%s.%s:%d", k.Kind, k.Key, k.Iterations))
	}
	return strings.Join(all, " ")
}

func TestKeysAreSearchedAndPaged(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	runWith(t, db, e, "a", map[string]string{"lr": "1", "Größe": "2", "100%": "x"}, map[string][]float64{"loss": {1, 2}, "val/loss": {1}})
	runWith(t, db, e, "b", map[string]string{"lr": "2"}, map[string][]float64{"loss": {1}, "a_b": {1}, "lr": {1}})
	runWith(t, db, newExperiment(t, db), "c", map[string]string{"lr": "2"}, map[string][]float64{"elsewhere": {1}})
	for _, c := range []struct {
		q    runs.KeyQuery
		want string
	}{
		{runs.KeyQuery{}, "metric.a_b:1 metric.loss:2 metric.lr:1 metric.val/loss:1 param.100%:1 param.Größe:1 param.lr:2"},
		{runs.KeyQuery{Kind: new(search.ParamKey)}, "param.100%:1 param.Größe:1 param.lr:2"},
		{runs.KeyQuery{Kind: new(search.MetricKey)}, "metric.a_b:1 metric.loss:2 metric.lr:1 metric.val/loss:1"},
		{runs.KeyQuery{Part: "LOSS"}, "metric.loss:2 metric.val/loss:1"},
		{runs.KeyQuery{Part: "lr"}, "metric.lr:1 param.lr:2"},
		{runs.KeyQuery{Part: "lr", Kind: new(search.MetricKey)}, "metric.lr:1"},
		{runs.KeyQuery{Part: "ÖSSE"}, ""},
		{runs.KeyQuery{Part: "gRÖSS"}, ""},
		{runs.KeyQuery{Part: "GRÖß"}, "param.Größe:1"},
		{runs.KeyQuery{Part: "%"}, "param.100%:1"},
		{runs.KeyQuery{Part: "_"}, "metric.a_b:1"},
		{runs.KeyQuery{Part: "*"}, ""},
		{runs.KeyQuery{Page: domain.Page{Limit: 2}}, "metric.a_b:1 metric.loss:2"},
		{runs.KeyQuery{Page: domain.Page{Limit: 2, Offset: 3}}, "metric.val/loss:1 param.100%:1"},
		{runs.KeyQuery{Page: domain.Page{Limit: 2, Offset: 9}}, ""},
	} {
		if got := keysOf(t, db, e, c.q); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
	l, err := db.Runs.Keys(context.Background(), domain.System, e, runs.KeyQuery{Page: domain.Page{Limit: 2, Offset: 6}, Part: "l"})
	if err != nil || l.Total != 4 || l.Limit != 2 || l.Offset != 6 || l.Data == nil {
		t.Errorf("behind the end: %+v (%v)", l, err)
	}
	for _, q := range []runs.KeyQuery{{Kind: new(search.KeyKind("tag"))}, {Part: strings.Repeat("a", domain.MaxName+1)}, {Part: "a\xff"}} {
		if _, err := db.Runs.Keys(context.Background(), domain.System, e, q); domain.AsError(err) == nil || domain.AsError(err).Code != domain.CodeInvalidPayload {
			t.Errorf("%.40v: %v, want %s", q, err, domain.CodeInvalidPayload)
		}
	}
}

// TestKeysAreCountedThroughEveryChange compares the counts with a model while names are added,
// changed and removed.
func TestKeysAreCountedThroughEveryChange(t *testing.T) {
	ctx := context.Background()
	db := openForTest(t)
	rng := rand.New(rand.NewPCG(3, 3))
	type run struct {
		id      string
		params  map[string]string // id by key
		metrics map[string][]string
	}
	experiments := []string{newExperiment(t, db), newExperiment(t, db)}
	found := map[string][]*run{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for step := range 400 {
		e := pick(rng, experiments)
		key := fmt.Sprintf("k%d", rng.IntN(6))
		if len(found[e]) == 0 || rng.IntN(12) == 0 {
			found[e] = append(found[e], &run{runWith(t, db, e, "r", nil, nil), map[string]string{}, map[string][]string{}})
		}
		i := rng.IntN(len(found[e]))
		r := found[e][i]
		switch rng.IntN(8) {
		case 0, 1:
			if r.params[key] == "" {
				c, err := db.Runs.CreateParameter(ctx, domain.System, r.id, key, "v")
				must(err)
				r.params[key] = c.ID
			}
		case 2:
			if other := fmt.Sprintf("k%d", rng.IntN(6)); r.params[key] != "" && (r.params[other] == "" || other == key) {
				must(db.Runs.UpdateParameter(ctx, domain.System, r.params[key], runs.ParameterPatch{Key: &other}))
				r.params[key], r.params[other] = "", r.params[key]
			}
		case 3:
			if r.params[key] != "" {
				must(db.Runs.DeleteParameter(ctx, domain.System, r.params[key]))
				r.params[key] = ""
			}
		case 4, 5:
			c, err := db.Runs.CreateMetric(ctx, domain.System, r.id, points.Sample{Key: key, Value: 1})
			must(err)
			r.metrics[key] = append(r.metrics[key], c.ID)
		case 6:
			if ids := r.metrics[key]; len(ids) > 0 && rng.IntN(2) == 0 {
				must(db.Runs.DeleteMetric(ctx, domain.System, ids[0]))
				r.metrics[key] = ids[1:]
			} else if len(ids) > 0 {
				other := fmt.Sprintf("k%d", rng.IntN(6))
				must(db.Runs.UpdateMetric(ctx, domain.System, ids[0], points.Patch{Key: &other}))
				r.metrics[key] = ids[1:]
				r.metrics[other] = append(r.metrics[other], ids[0])
			}
		case 7:
			if rng.IntN(6) == 0 {
				must(db.Runs.DeleteIteration(ctx, domain.System, r.id))
				found[e] = append(found[e][:i], found[e][i+1:]...)
			}
		}
		if step%100 == 99 && rng.IntN(2) == 0 {
			must(db.Projects.DeleteExperiment(ctx, domain.System, experiments[0]))
			experiments[0] = newExperiment(t, db)
		}
		for _, e := range experiments {
			var want []string
			for _, kind := range []search.KeyKind{search.MetricKey, search.ParamKey} {
				for k := range 6 {
					key, n := fmt.Sprintf("k%d", k), 0
					for _, r := range found[e] {
						if kind == search.ParamKey && r.params[key] != "" || kind == search.MetricKey && len(r.metrics[key]) > 0 {
							n++
						}
					}
					if n > 0 {
						want = append(want, fmt.Sprintf("%s.%s:%d", kind, key, n))
					}
				}
			}
			if got := keysOf(t, db, e, runs.KeyQuery{}); got != strings.Join(want, " ") {
				t.Fatalf("step %d: %s, want %s", step, got, want)
			}
		}
	}
	wantSound(t, db)
}

func TestVaryingParams(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	varying := func(newest int) string {
		t.Helper()
		keys, err := storetest.VaryingParams(context.Background(), db, domain.System, e, newest)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(keys, " ")
	}
	if got := varying(9); got != "" {
		t.Errorf("without iterations: %s", got)
	}
	runWith(t, db, e, "a", map[string]string{"old": "1", "lr": "1", "same": "x", "one": "1"}, nil)
	if got := varying(9); got != "lr old one same" {
		t.Errorf("of one iteration: %s", got)
	}
	runWith(t, db, e, "b", map[string]string{"old": "2", "lr": "2", "same": "x", "few": "1"}, nil)
	runWith(t, db, e, "c", map[string]string{"old": "2", "lr": "3", "same": "x", "few": "2"}, nil)
	if got := varying(9); got != "lr old few" {
		t.Errorf("of all: %s", got)
	}
	if got := varying(2); got != "few lr" {
		t.Errorf("of the newest two: %s", got)
	}
	if _, err := storetest.VaryingParams(context.Background(), db, domain.Actor{UserID: "nobody"}, e, 9); err == nil {
		t.Error("a stranger may read them")
	}
}
