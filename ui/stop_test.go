package ui_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/runs"
)

func TestStopForm(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	w := s.sweep(3, 1)
	alice := with(s.signIn("alice"))
	page := "/iteration/" + w.runs[0]
	s.get(page, alice).wants(t, 200, `data-testid="stop"`, `data-testid="end"`, `<option value="KILLED" selected>`, "It does not stop the script.")
	s.post(page+"/stop", nil, alice).redirects(t, page)
	a := s.get(page, alice)
	a.wants(t, 200, `data-testid="stop-asked">Stop requested <time`, `</time> by <bdi>alice</bdi>; waiting for the script.`, `data-testid="end"`)
	a.lacks(t, `data-testid="stop"`)
	s.post(page+"/status", url.Values{"status": {"KILLED"}}, alice).redirects(t, page)
	a = s.get(page, alice)
	a.wants(t, 200, `data-testid="status">killed<`)
	a.lacks(t, `data-testid="stop"`, `data-testid="stop-asked"`)
	s.post(page+"/stop", nil, alice).wants(t, 422, `data-testid="wrong-edit">Already ended`)

	// Neither runs of MLflow's clients nor lost runs can be asked to stop.
	logged := "/iteration/" + w.runs[1]
	properties := []domain.Property{{Key: "mlflow.user", Value: "ada"}}
	if err := s.db.Runs.SetProperties(t.Context(), s.actor("alice"), runs.IterationProperty, w.runs[1], properties); err != nil {
		t.Fatal(err)
	}
	a = s.get(logged, alice)
	a.wants(t, 200, `data-testid="end"`, "clients can&#39;t be stopped from here.")
	a.lacks(t, `data-testid="stop"`)
	s.post(logged+"/stop", nil, alice).wants(t, 409, "clients can&#39;t be stopped from here.")
	s.clock.move(6 * time.Minute)
	again := with(s.signIn("alice"))
	a = s.get("/iteration/"+w.runs[2], again)
	a.wants(t, 200, `data-testid="status">lost<`, `data-testid="end"`, "A lost run can&#39;t be stopped")
	a.lacks(t, `data-testid="stop"`)
}

// TestStopIsSeenLive checks that an open page shows the request of another user, and the end.
func TestStopIsSeenLive(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 3)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+"/iteration/"+w.runs[0]))
	b.is(`document.documentElement.dataset.live`, "yes")
	b.press(`[data-testid="stop"]`)
	b.press(`.edit[open] button`)
	b.is(`document.querySelector('[data-testid="stop-asked"]').textContent.replaceAll(/\s+/g, ' ').includes('waiting for the script')`, "true")
	b.is(`document.querySelector('[data-testid="status"]').textContent + document.querySelectorAll('[data-testid="stop"]').length`, "running0")
	set := func(p runs.IterationPatch) {
		t.Helper()
		if err := s.db.Runs.UpdateIteration(t.Context(), s.actor("alice"), w.runs[0], p); err != nil {
			t.Fatal(err)
		}
	}
	set(runs.IterationPatch{Status: new(domain.Running)})
	b.is(`document.querySelectorAll('[data-testid="stop-asked"]').length`, "0")
	if err := s.db.Runs.RequestStop(t.Context(), s.actor("alice"), w.runs[0]); err != nil {
		t.Fatal(err)
	}
	b.is(`document.querySelector('[data-testid="stop-asked"] bdi').textContent`, "alice")
	set(runs.IterationPatch{Status: new(domain.Killed), ErrorMessage: new("Stopped on request of alice.")})
	b.is(`document.querySelector('[data-testid="status"]').textContent + document.querySelectorAll('[data-testid="stop-asked"]').length`, "killed0")
	b.is(`document.querySelector('[data-testid="error-text"]').textContent`, "Stopped on request of alice.")
	b.quiet()
}
