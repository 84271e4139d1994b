package server_test

import (
	"fmt"
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
)

func TestDifference(t *testing.T) {
	a := start(t)
	_, ids := a.sweep()
	path := func(x, y string) string { return "/iteration/" + x + "/difference/" + y }
	a.get(path(ids[0], ids[1])).has(`{"sentence":"lr × 0.01, with optimizer adam: val/loss −0.25, better; one run each, so seeds alone might explain it; 3 seeds of each would tell.",
		"objective":"minimize val/loss","difference":-0.25,"p":null,"method":null,"spread":null,"a":{"iterations":["` + ids[0] + `"],"mean":0.5,"sd":null},
		"params":[{"name":"lr","a":"0.10","b":"1e-3"},{"name":"optimizer","a":"","b":"adam"}],"packages":[],"files":[],"code_note":"The runs have not recorded their code."}`)
	a.get(path(ids[0], ids[2])).has(`{"sentence":"without lr: no val/loss to compare.","difference":null,"b":{"iterations":[],"mean":null,"sd":null}}`)
	a.get(path(ids[0], "none")).fails(404, "NOT_FOUND", "")
	a.get(path("none", ids[0])).fails(404, "NOT_FOUND", "")
}

// TestDifferenceOfSeeds compares two iterations of groups with four seeds each.
func TestDifferenceOfSeeds(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	var ids []string
	for i := range 8 {
		c, err := a.db.Runs.CreateIteration(t.Context(), domain.System, e, runs.NewIteration{})
		a.must(err)
		a.parameter(c.ID, "depth", fmt.Sprint(1+i/4))
		a.parameter(c.ID, "seed", fmt.Sprint(i%4))
		_, err = a.db.Runs.CreateSnapshot(t.Context(), domain.System, c.ID, runs.NewSnapshot{GitSHA: "abc", Dependencies: fmt.Sprintf("torch==2.%d", 9+i/4)})
		a.must(err)
		a.metric(c.ID, "accuracy", float64(i))
		a.end(c.ID)
		ids = append(ids, c.ID)
	}
	a.get("/iteration/" + ids[0] + "/difference/" + ids[4]).has(`{"sentence":"depth × 2, 1 package newer: accuracy +4 on average, better by more than seeds explain (p = 0.029, n = 4 and 4).",
		"objective":"maximize accuracy","difference":4,"method":"permutation","a":{"mean":1.5},"b":{"mean":5.5},"packages":[{"name":"torch","a":"2.9","b":"2.10","kind":"newer"}],
		"commit_a":"abc","commit_b":"abc","code_note":""}`)
}
