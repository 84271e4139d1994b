package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/storetest"
)

func TestWalkReadsAllInOrder(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	const n = 500 + 7 // more than one batch of a walk
	for i := range n {
		runWith(t, db, e, fmt.Sprint(i), map[string]string{"k": fmt.Sprint((i * 37) % n)}, nil)
	}
	for _, q := range []runs.IterationQuery{{}, {Sort: "-param.k", Columns: "param.k"}, {Filter: "param.k < 300", Sort: "param.k"}, {Filter: "param.none = 1"}} {
		var want, got []string
		for offset := 0; offset < n; offset += 50 {
			page := q
			page.Page = domain.Page{Limit: 50, Offset: offset}
			want = append(want, strings.Fields(namesOf(t, db, e, page))...)
		}
		err := db.Runs.WalkIterations(context.Background(), domain.System, e, q, func(part []runs.Iteration) error {
			for _, i := range part {
				got = append(got, i.Name)
				if q.Columns != "" && i.Params["k"] != fmt.Sprint(n-len(got)) {
					t.Fatalf("the %d. has the parameters %v", len(got), i.Params)
				}
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, %v, want %v", q, err, got, want)
		}
		ids, err := storetest.IterationIDs(context.Background(), db, domain.System, e, q)
		if err != nil || len(ids) != len(want) {
			t.Errorf("%+v: %d ids, %v, want %d", q, len(ids), err, len(want))
		}
	}
	stop := errors.New("enough")
	if err := db.Runs.WalkIterations(context.Background(), domain.System, e, runs.IterationQuery{}, func([]runs.Iteration) error { return stop }); err != stop {
		t.Error(err)
	}
}

func TestWalkLeavesOutWhatWasDeletedMeanwhile(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	var ids []string
	for i := range 500 + 3 {
		ids = append(ids, runWith(t, db, e, fmt.Sprint(i), map[string]string{"k": fmt.Sprint(i)}, nil))
	}
	var got []string
	err := db.Runs.WalkIterations(context.Background(), domain.System, e, runs.IterationQuery{Columns: "param.k"}, func(part []runs.Iteration) error {
		for _, i := range part {
			if i.Params["k"] != i.Name {
				t.Errorf("%s has the parameters %v", i.Name, i.Params)
			}
			got = append(got, i.ID)
		}
		return db.Runs.DeleteIteration(context.Background(), domain.System, ids[500+1])
	})
	if want := slices.Delete(slices.Clone(ids), 500+1, 500+2); len(got) != len(want) || !slices.Equal(got, want) {
		t.Errorf("%d iterations, %v", len(got), err)
	}
}

func TestUnknownNames(t *testing.T) {
	db := openForTest(t)
	e := newExperiment(t, db)
	runWith(t, db, e, "a", map[string]string{"lr": "1", "optimizer": "adam", "batch size": "2"},
		map[string][]float64{"train/loss": {1}, "val/loss": {1}, "val/accuracy": {1}, "LR": {1}})
	for _, c := range []struct{ filter, want string }{
		{"", ""},
		{"param.lr < 1 and metric.val/loss > 1", ""},
		{"metric.nope > 1", "metric nope:"},
		{"metric.loss > 1", "metric loss: metric train/loss, metric val/loss"},
		{"metric.val/accurcy > 1", "metric val/accurcy: metric val/accuracy"},
		{"metric.optimizer > 1 or param.lr = 1", "metric optimizer: param optimizer"},
		{"param.LR = 1", "param LR: param lr, metric LR"},
		{"param.batch_size = 1 or metric.zzz = 1", "metric zzz: param batch_size: param batch size"},
	} {
		all, err := storetest.UnknownNames(context.Background(), db, domain.System, e, c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, u := range all {
			var near []string
			for _, k := range u.Near {
				near = append(near, fmt.Sprint(k.Kind, " ", k.Key))
			}
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s: %s", u.Kind, u.Key, strings.Join(near, ", "))))
		}
		if got := strings.Join(parts, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.filter, got, c.want)
		}
	}
	if _, err := storetest.UnknownNames(context.Background(), db, domain.System, e, "lr = "); domain.AsError(err).Field != "filter" {
		t.Error(err)
	}
}
