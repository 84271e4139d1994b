package ui_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
)

func TestIterationPage(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 3)
	ctx, actor, id := t.Context(), s.actor("alice"), w.runs[0]
	child := s.run(w.experiment, runs.NewIteration{Name: new("fold 1"), ParentIterationID: &id})
	_, err := s.db.Runs.CreateSnapshot(ctx, actor, id, runs.NewSnapshot{GitSHA: "abc123", GitDirty: new(true), GitDiff: "-old\n+new",
		Command: "python train.py"})
	if err != nil {
		t.Fatal(err)
	}
	page := "/iteration/" + id
	s.get(page).lacks(t, `data-testid="properties"`)
	if err := s.db.Runs.SetProperties(ctx, actor, runs.IterationProperty, id, []domain.Property{{Key: "team", Value: "red"}}); err != nil {
		t.Fatal(err)
	}
	s.get(page).wants(t, 200, `data-testid="properties"`, "<bdi>team</bdi>", "<bdi>red</bdi>")

	// A file that a client could not send is listed as missing until the client reports that it was sent.
	missing := "1 file was not sent: model.bin (3.0 MB)."
	for _, value := range []string{missing, ""} {
		if err := s.db.Runs.SetProperties(ctx, actor, runs.IterationProperty, id, []domain.Property{
			{Key: runs.NotSentProperty + "-12-abcdef", Value: value}}); err != nil {
			t.Fatal(err)
		}
		if a := s.get(page); value != "" {
			a.wants(t, 200, `data-testid="not-sent"><bdi>`+missing+"</bdi>")
		} else {
			a.lacks(t, "not-sent", "not_sent")
		}
	}
	s.get(page).wants(t, 200, "<bdi>run 1</bdi>", `href="/iteration/`+child+`"`, "abc123", "uncommitted changes",
		"-old\n+new", "python train.py", `data-metric="train/loss"`, `title="step 2">2<`, "<bdi>0.1</bdi>")
	s.get("/iteration/"+child).wants(t, 200, `href="`+page+`"`)

	s.post(page, url.Values{"name": {"best one"}, "notes": {"# Why\r\n\r\n- **less** noise\r\n"}}).redirects(t, page)
	s.get(page).wants(t, 200, "<bdi>best one</bdi>", "<strong>less</strong>", "\n# Why\n\n- **less** noise\n")

	// No input is lost.
	a := s.post(page, url.Values{"name": {strings.Repeat("x", 251)}, "notes": {"long thoughts"}})
	a.wants(t, 422, `data-testid="wrong-name"`, "long thoughts", strings.Repeat("x", 251), `aria-describedby="wrong-name"`)
	a = s.post(page+"/status", url.Values{"status": {"ASLEEP"}, "error_message": {"so tired"}})
	a.wants(t, 422, `data-testid="wrong-status"`, "so tired")

	s.clock.move(90 * time.Second)
	s.post(page+"/status", url.Values{"status": {"FAILED"}, "error_message": {"out of memory"}}).redirects(t, page)
	a = s.get(page)
	a.wants(t, 200, `data-testid="status">failed<`, "out of memory", `data-testid="reopen"`, "1m 31s")
	a.lacks(t, `data-testid="end"`)
	s.post(page+"/status", url.Values{"status": {"KILLED"}}).wants(t, 422, `data-testid="wrong-edit">Already ended`)
	s.post(page+"/status", url.Values{"status": {"RUNNING"}}).redirects(t, page)
	s.get(page).wants(t, 200, `data-testid="status">running<`)
	s.get("/iteration/none").wants(t, 404)
	s.post("/iteration/none", url.Values{"name": {"x"}}).wants(t, 404)
}

func TestChangeRuns(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(3, 2)
	experiment := "/experiment/" + w.experiment
	two := w.runs[:2]
	s.get("/change?i="+two[0]+"&i="+two[1]).wants(t, 200, "Change 2 runs", "<bdi>run 1</bdi>", "<bdi>run 2</bdi>")
	s.post("/change", url.Values{"i": two, "do": {"add"}, "tag": {"paper"}}).redirects(t, experiment)
	s.get(experiment+"?filter=tag+%3D+'paper'").wants(t, 200, `data-testid="total">2<`)
	s.post("/change", url.Values{"i": w.runs, "do": {"remove"}, "tag": {"paper"}}).redirects(t, experiment)
	s.get(experiment+"?filter=tag+%3D+'paper'").wants(t, 200, `data-testid="total">0<`)
	s.post("/change", url.Values{"i": {two[0]}, "do": {"status"}, "status": {"KILLED"}}).redirects(t, "/iteration/"+two[0])
	s.post("/change", url.Values{"i": {two[0]}, "do": {"status"}, "status": {"FAILED"}}).
		wants(t, 422, "run 1 has already ended", `data-testid="wrong-status"`)
	s.post("/change", url.Values{"i": two, "do": {"add"}, "tag": {""}}).wants(t, 422, `data-testid="wrong-tag"`)
	s.get("/change").wants(t, 422, "Select 1 to 200 runs")
	s.get("/change?i=none").wants(t, 404)
}

func TestDeleteRuns(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(3, 2)
	s.run(w.experiment, runs.NewIteration{ParentIterationID: &w.runs[0]})
	ask := "/delete?i=" + w.runs[0] + "&i=" + w.runs[1]
	s.get(ask).wants(t, 200, "Delete 2 runs?", "(4 points)", "One child run is kept", "<bdi>run 2</bdi>")
	s.post("/delete", url.Values{"i": w.runs[:2]}).deletes(t, "/experiment/"+w.experiment, w.runs[:2]...)
	s.get(ask).wants(t, 404)
	s.get("/experiment/"+w.experiment).wants(t, 200, `data-testid="total">2<`)

	ctx, actor := t.Context(), s.actor("alice")
	m, err := s.db.Models.CreateModel(ctx, actor, w.project, registry.NewModel{Name: "fraud"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Models.CreateModelVersion(ctx, actor, m.ID, registry.NewModelVersion{IterationID: w.runs[2]}); err != nil {
		t.Fatal(err)
	}
	s.post("/delete", url.Values{"i": w.runs[2:]}).wants(t, 409, "fraud", `role="alert"`, "<bdi>run 3</bdi>")
	s.post("/delete", url.Values{"i": w.runs[2:]}, header("Sec-Fetch-Site", "cross-site")).wants(t, 403)
}

// TestWorkingTree checks that a run without a recorded commit shows no working tree.
func TestWorkingTree(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(2, 2)
	ctx, actor := t.Context(), s.actor("alice")
	must(s.db.Runs.CreateSnapshot(ctx, actor, w.runs[0], runs.NewSnapshot{Hostname: "gpu-01", GitDirty: new(false)}))(t)
	page := s.get("/iteration/" + w.runs[0])
	page.wants(t, 200, "gpu-01")
	page.lacks(t, "Working tree")
	both := s.get("/compare?i=" + w.runs[0] + "&i=" + w.runs[1])
	both.wants(t, 200, "gpu-01")
	both.lacks(t, "Working tree")
	must(s.db.Runs.CreateSnapshot(ctx, actor, w.runs[0], runs.NewSnapshot{GitSHA: "abc123", GitDirty: new(false)}))(t)
	s.get("/iteration/"+w.runs[0]).wants(t, 200, "Working tree", "as committed")
}

func TestCompare(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(3, 2)
	ctx, actor := t.Context(), s.actor("alice")
	for _, id := range w.runs {
		if _, err := s.db.Runs.CreateParameter(ctx, actor, id, "rounds", "300"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.Runs.CreateSnapshot(ctx, actor, w.runs[0], runs.NewSnapshot{Hostname: "gpu-01"}); err != nil {
		t.Fatal(err)
	}
	query := "?i=" + w.runs[0] + "&i=" + w.runs[2]
	a := s.get("/compare" + query)
	a.wants(t, 200, "Compare 2 runs", "<bdi>run 3</bdi>", "<bdi>0.1</bdi></td><td><bdi>0.3</bdi>", "gpu-01",
		`<tr class="same"><th scope="row"><bdi>rounds</bdi>`, `<tr class="differs"><th scope="row"><bdi>lr</bdi>`,
		`<tr class="differs"><th scope="row"><bdi>Host</bdi>`, `data-metric="train/loss"`)
	a.lacks(t, "<bdi>run 2</bdi>", "Runtime")
	var data struct {
		Runs []struct {
			ID     string
			Params map[string]string
		}
	}
	s.get("/data/compare"+query).json(t, 200, &data)
	if len(data.Runs) != 2 || data.Runs[1].ID != w.runs[2] || data.Runs[1].Params["lr"] != "0.3" {
		t.Errorf("the runs are %+v", data)
	}
	s.get("/compare?i="+w.runs[0]).wants(t, 422, "Select 2 to 200 runs")
	s.get("/compare?i=none&i=other").wants(t, 404)

	// A deleted run is omitted.
	gone := query + "&i=none"
	s.get("/compare"+gone).wants(t, 200, "Compare 2 runs", "One of the runs was deleted and is not shown.")
	s.get("/data/compare"+gone).json(t, 200, &data)
	if len(data.Runs) != 2 {
		t.Errorf("%d runs are compared", len(data.Runs))
	}
	s.get("/compare"+gone+"&i=other").wants(t, 200, "2 of the runs were deleted and are not shown.")
	a.lacks(t, "left out")

	// The runs can also be selected by a filter.
	named := "?experiment=" + w.experiment + "&filter=" + url.QueryEscape("name in ('run 1', 'run 2')")
	s.get("/compare"+named).wants(t, 200, "Compare 2 runs", w.runs[0], w.runs[1])
	s.get("/data/compare"+named).json(t, 200, &data)
	if len(data.Runs) != 2 {
		t.Errorf("%d runs are compared", len(data.Runs))
	}
	s.get("/compare?experiment="+w.experiment+"&filter=name+%3D+'nobody'").wants(t, 422, "Select 2 to 200 runs")
	s.get("/compare?experiment="+w.experiment+"&filter=name+%3D").wants(t, 422)
}
