package ui_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// showcase is a site with an example of everything that pages show.
type showcase struct {
	*site
	w        sweep
	empty    string // a project without experiments
	blank    string // an experiment without runs
	child    string // a run with a parent
	findings string // a report
	search   string // a sweep
	searched string // the path of its experiment
	failed   string // a run with an error, notes and a snapshot
	shelf    shelf

	collection string // a version of an artifact with a lineage
	gone       string // an experiment in the trash that contains a separately deleted run
	bobID      string
}

// newShowcase creates the accounts alice, bob and carol. alice is an admin, bob can read one
// project, and carol can read none.
func newShowcase(t *testing.T, s setup) showcase {
	t.Helper()
	c := showcase{site: start(t, s)}
	ctx, alice := t.Context(), c.actor("alice")
	c.clock.move(time.Since(c.clock.now()) - time.Hour)
	c.w = c.sweep(12, 40)
	c.empty = c.project("alice", "empty "+strings.Repeat("long", 50), strings.Repeat("wide", 100), 0, 0)
	blank := must(c.db.Projects.CreateExperiment(ctx, alice, c.w.project, projects.NewExperiment{Name: "blank"}))(t)
	c.blank = blank.ID
	c.child = c.run(c.w.experiment, runs.NewIteration{Name: new("fold 1"), ParentIterationID: &c.w.runs[1]})
	c.failed = c.w.runs[1]
	c.bobID = c.actor("bob").UserID
	must(c.db.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "carol", Password: password, FirstName: "Carol"}))(t)
	must(c.db.Users.CreateUserPermission(ctx, domain.System, c.bobID, c.w.project, users.PermissionPatch{Update: new(true)}))(t)
	must(c.db.Runs.CreateSnapshot(ctx, alice, c.failed, runs.NewSnapshot{GitSHA: "4f2c1d0", GitDirty: new(true), Runtime: "Python 3.13",
		GitRemote: "https://git.example/" + strings.Repeat("long", 40), GitDiff: "-" + strings.Repeat("old ", 80) + "\n+new", Command: "python train.py",
		Hostname: "gpu-01", Dependencies: "numpy==2.4.0\n" + strings.Repeat("x", 300)}))(t)
	for i, change := range []string{oneChange, otherChange} {
		must(c.db.Runs.CreateSnapshot(ctx, alice, c.w.runs[2+i], runs.NewSnapshot{GitSHA: strings.Repeat("ab", 20), GitDirty: new(true), GitDiff: change,
			Dependencies: fmt.Sprintf("torch==2.%d.0\nnumpy==2.4.0\n", 9+i), Command: strings.Repeat("python ", 40) + fmt.Sprint(i)}))(t)
	}
	c.search = c.site.search("searches", "bayes")
	c.searched = c.experimentOf(c.search)
	c.findings = c.report(c.w.project, "findings "+strings.Repeat("long", 40), "# Why\n\n```chart\nexperiment: "+c.w.experiment+
		"\nmetrics: train/loss, gpu\ncaption: "+strings.Repeat("words ", 60)+"\n```\n\n```table\nexperiment: "+c.w.experiment+"\n```\n\n```image\nartifact: none\n```\n")
	c.collection = c.versions(c.w.experiment, c.w.runs)
	c.print(c.failed, 0, "\x1b[1;31mError\x1b[0m \x1b[32mgreen\x1b[33m yellow\x1b[34m blue\x1b[35m magenta\x1b[36m cyan\x1b[2m dim\x1b[0m \x1b[7minverse",
		strings.Repeat("wide", 100), "10%\r20%")
	for _, tag := range []string{"best", "paper", strings.Repeat("tag", 20)} {
		must(c.db.Runs.CreateTag(ctx, alice, runs.IterationTag, c.failed, tag))(t)
	}
	for key, value := range map[string]scalar.Text{"optimizer": "adamw", "note": scalar.Text(strings.Repeat("words ", 100)), "layers": "[64,64]"} {
		must(c.db.Runs.CreateParameter(ctx, alice, c.failed, key, value))(t)
	}
	notes := "# Why\n\nThe [paper](https://paper.example) says `lr`.\n\n| a | b |\n|---|---|\n| 1 | " + strings.Repeat("2", 90) + " |\n\n" +
		"- [x] done\n- [ ] open\n\n```\n" + strings.Repeat("code ", 60) + "\n```\n\n> said\n\n## Deep"
	samples := []points.Sample{{Key: "valid/accuracy", Value: 0.5}, {Key: "valid/accuracy", Value: scalar.Value(math.NaN())}}
	for i, id := range c.w.runs {
		for range 3 {
			if err := c.db.Runs.CreateMetrics(ctx, alice, id, append(samples, points.Sample{Key: "gpu", Value: scalar.Value(71 + i)})); err != nil {
				t.Fatal(err)
			}
		}
		patch := runs.IterationPatch{Status: new([]domain.IterationStatus{domain.Succeeded, domain.Failed, domain.Killed, domain.Running}[i%4])}
		if id == c.failed {
			patch.ErrorMessage, patch.Notes = new("RuntimeError: CUDA out of memory\n"+strings.Repeat("at line ", 60)), &notes
		}
		if err := c.db.Runs.UpdateIteration(ctx, alice, id, patch); err != nil {
			t.Fatal(err)
		}
	}
	c.shelf = c.site.shelf()
	c.clock.move(time.Hour) // the running runs are now lost
	c.log(c.w.runs[11], "train/loss", 5)
	if err := c.db.Runs.RequestStop(ctx, alice, c.w.runs[11]); err != nil {
		t.Fatal(err)
	}
	c.gone = must(c.db.Projects.CreateExperiment(ctx, alice, c.empty, projects.NewExperiment{Name: "gone " + strings.Repeat("wide", 50)}))(t).ID
	run := c.run(c.gone, runs.NewIteration{})
	c.run(c.gone, runs.NewIteration{})
	c.keep(c.gone, files.NewArtifact{Name: "weights"}, "123")
	if err := errors.Join(c.db.Runs.DeleteIteration(ctx, alice, run), c.db.Projects.DeleteExperiment(ctx, alice, c.gone)); err != nil {
		t.Fatal(err)
	}
	return c
}

// must returns v, or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
