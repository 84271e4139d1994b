package ui_test

import (
	"sync/atomic"
	"testing"

	"tracker/store/registry"
	"tracker/store/runs"
)

// TestEachPageTakesOneSnapshot counts the snapshots that the store takes for a request, including
// the one for the sign-in.
func TestEachPageTakesOneSnapshot(t *testing.T) {
	reads := new(atomic.Int64)
	s := start(t, setup{auth: true, reads: reads})
	w := s.sweep(3, 4)
	ctx, actor := t.Context(), s.actor("alice")
	must(s.db.Models.CreateModel(ctx, actor, w.project, registry.NewModel{Name: "fraud"}))(t)
	must(s.db.Runs.CreateSnapshot(ctx, actor, w.runs[0], runs.NewSnapshot{Hostname: "gpu-01"}))(t)
	child := s.run(w.experiment, runs.NewIteration{ParentIterationID: &w.runs[0]})
	h := s.shelf()
	model, _ := s.register(h.project, h.run, h.artifacts["model.pt"])
	runs := "i=" + w.runs[0] + "&i=" + w.runs[1] + "&i=" + w.runs[2]
	experiment, project := "/experiment/"+w.experiment, "/project/"+w.project
	alice := with(s.signIn("alice"))
	for _, c := range []struct {
		path string
		want int64
	}{
		{"/", 2},
		{"/?q=dig", 2},
		{project, 2},
		{project + "/settings", 2},
		{project + "/members", 2},
		{project + "/models", 2},
		{"/project/" + h.project + "/models", 2},
		{"/model/" + model, 2},
		{experiment, 2},
		{experiment + "?filter=metric.train/loss+%3C+100&sort=-metric.train/loss.min", 2},
		{experiment + "?filter=metric.train/los+%3C+1", 2},
		{experiment + "?filter=metric.", 2},
		{experiment + "?group=param.lr", 2},
		{experiment + "/settings", 2},
		{experiment + "/artifacts", 2},
		{"/experiment/" + h.experiment + "/artifacts", 2},
		{experiment + "/change?filter=metric.train/loss+%3C+100", 2},
		{"/iteration/" + w.runs[0], 2},
		{"/iteration/" + child, 2},
		{"/iteration/" + h.run, 2},
		{"/compare?" + runs, 2},
		{"/change?" + runs, 2},
		{"/delete?" + runs, 2},
		{"/account", 2},
		{"/users", 2},
		{"/user/" + s.actor("bob").UserID, 2},
		{"/server", 2},
		{"/data" + experiment + "/iterations?filter=metric.train/los+%3C+1", 2},
		{"/data" + experiment + "/groups?group=param.lr&filter=metric.train/los+%3C+1", 2},
		{"/data/compare?" + runs, 2},
		// The bytes of an artifact are read after the snapshot.
		{"/artifact/" + h.artifacts["sample_0050.png"], 3},
	} {
		reads.Store(0)
		s.get(c.path, alice).wants(t, 200)
		if n := reads.Load(); n != c.want {
			t.Errorf("%s takes %d snapshots, want %d", c.path, n, c.want)
		}
	}
}
