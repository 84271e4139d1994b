package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tracker/store/domain"
)

// asks returns the headers that htmx sends from a page.
func (s *site) asks(page, target string) []edit {
	return []edit{header("HX-Request", "true"), header("HX-Target", target), header("HX-Current-URL", s.url+page)}
}

func TestInPlace(t *testing.T) {
	s := start(t, setup{auth: true, base: "/lab"})
	h := s.shelf()
	alice := with(s.signIn("alice"))
	page := "/lab/iteration/" + h.run
	ask := append(s.asks(page, "div#run"), alice)

	// The same address returns a part of the page or the whole page.
	part := s.get(page, ask...)
	part.wants(t, 200, `id="run"`, "<title>run 1", `id="crumbs"`)
	part.lacks(t, "<html", `id="charts"`, `id="artifacts"`)
	if !strings.HasPrefix(part.body, `<div class="sheet" id="run"`) {
		t.Errorf("the part does not come first: %.100s", part.body)
	}
	if got := part.Header.Get("Vary"); got != "HX-Request" {
		t.Errorf("Vary is %q", got)
	}
	s.get(page, alice).wants(t, 200, "<html", part.body[:strings.Index(part.body, "<title>")])

	// The response to a form is a redirect, as without scripts. The browser follows it with the
	// same headers.
	s.post(page, url.Values{"name": {"best"}, "notes": {"x"}}, ask...).redirects(t, page)
	s.post(page, url.Values{"name": {""}, "notes": {"typed"}}, ask...).wants(t, 422, `id="run"`, "typed", `data-testid="wrong-name"`)
	s.post(page+"/tag", url.Values{"tag": {bad}}, ask...).redirects(t, page)
	a := s.get(page, ask...)
	a.wants(t, 200, `<bdi class="tag">&lt;script&gt;`)
	a.lacks(t, "<script>window", "<img src=x")
	s.post(page+"/tag", url.Values{"remove": {bad}}, ask...).redirects(t, page)
	s.get(page, ask...).lacks(t, "&lt;script&gt;")
	s.post(page+"/tag", url.Values{"tag": {strings.Repeat("z", 251)}}, ask...).wants(t, 422, strings.Repeat("z", 251), `data-testid="wrong-tag"`)

	// Opening an artifact in a list does not change the title of the page.
	artifact := "/lab/artifact/" + h.artifacts["report.md"]
	a = s.get(artifact, append(s.asks(page, "div#artifact-"+h.artifacts["report.md"]), alice)...)
	a.wants(t, 200, "Open page", "<strong>done</strong>")
	a.lacks(t, "<title>", `id="crumbs"`)
	s.get(artifact, alice).lacks(t, "Open page")

	// If the page does not have the part, the whole page is loaded.
	a = s.get("/lab/", ask...)
	if a.Header.Get("HX-Redirect") != "/lab/" || a.body != "" {
		t.Errorf("another page answers %q to %q", a.body, a.Header.Get("HX-Redirect"))
	}
}

// After any error, the page stays unchanged, with all input.
func TestInPlaceFailures(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	page := "/iteration/" + h.run
	for name, a := range map[string]answer{
		"not signed in": s.post(page, url.Values{"name": {"x"}}, s.asks(page, "div#run")...),
		"not allowed":   s.post(page, url.Values{"name": {"x"}}, append(s.asks(page, "div#run"), with(s.signIn("bob")))...),
		"gone":          s.post("/iteration/none", url.Values{"name": {"x"}}, append(s.asks(page, "div#run"), with(s.signIn("alice")))...),
		"too large": s.post(page, url.Values{"notes": {strings.Repeat("x", 33*domain.MaxText)}},
			append(s.asks(page, "div#run"), with(s.signIn("alice")))...),
	} {
		if a.StatusCode < 400 || a.Header.Get("HX-Retarget") != "#problem" || a.Header.Get("HX-Reswap") != "innerHTML" ||
			!strings.HasPrefix(a.body, "<p><strong>") {
			t.Errorf("%s: %s %v %s", name, a.Status, a.Header, a.body)
		}
	}
}

// Every text that the store accepts is saved, and any other text is shown again.
func TestLongNotes(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	page := "/iteration/" + w.runs[0]
	// In the form, each line end and each of these letters takes six bytes.
	for _, longest := range []string{strings.Repeat("\r\n", domain.MaxText), strings.Repeat("ж", domain.MaxText/2)} {
		s.post(page, url.Values{"name": {"run"}, "notes": {longest}}).redirects(t, page)
		i, err := s.db.Runs.Iteration(t.Context(), s.actor("alice"), w.runs[0])
		if want := strings.ReplaceAll(longest, "\r\n", "\n"); err != nil || i.Notes != want {
			t.Errorf("%d bytes were stored, not %d (%v)", len(i.Notes), len(want), err)
		}
	}
	for _, over := range []int{domain.MaxText + 1, 12 * domain.MaxText} {
		long := strings.Repeat("x", over)
		a := s.post(page, url.Values{"name": {"run"}, "notes": {long}})
		if a.StatusCode != 422 || !strings.Contains(a.body, fmt.Sprintf("notes must have at most 1048576 bytes, not %d.", over)) ||
			!strings.Contains(a.body, `aria-describedby="wrong-notes"`) || !strings.Contains(a.body, long) {
			t.Errorf("notes of %d bytes: %s", over, a.Status)
		}
	}
	s.post(page, url.Values{"name": {"run"}, "notes": {strings.Repeat("x", 32*domain.MaxText)}}).
		wants(t, 413, "larger than 32 MiB", "shorten your text")
}
