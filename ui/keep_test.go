package ui_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/users"
)

// TestTypingStays types in one form of a page and sends another form. The typed text must stay.
func TestTypingStays(t *testing.T) {
	t.Parallel()
	for name, drive := range map[string]func(*browser, *site, shelf){
		"run": keepOnRun, "model": keepOnModel, "artifacts": keepInList, "members": keepMembers, "account": keepAccount,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{base: "/lab/one"})
			h := s.shelf()
			b := s.openBrowser(t)
			b.do(chromedp.EmulateViewport(1280, 800))
			drive(b, s, h)
			b.quiet()
		})
	}
}

func (b *browser) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url + path))
	b.is(`document.readyState === 'complete' && typeof htmx`, "object")
	b.is(`window.same = 'same'`, "same")
}

func (b *browser) write(selector, text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

func keepOnRun(b *browser, s *site, h shelf) {
	b.visit(s.base + "/iteration/" + h.run)
	b.click(`[data-testid="edit"]`)
	b.write(`#notes`, "long thoughts")
	b.click(`[data-testid="end"]`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#end-status').value = 'FAILED'`))
	b.click(`[data-testid="tags"]`)
	b.write(`#tag`, "best\r")
	b.is(`document.querySelector('.head .tag').textContent`, "best")
	b.is(`document.querySelector('#notes').value + document.querySelector('#notes').closest('details').open`, "long thoughtstrue")
	b.is(`document.querySelector('#end-status').value`, "FAILED")
	b.is(`document.querySelector('#tag').value + document.querySelectorAll('#tag, #notes, #end-status').length`, "3")

	// A user who continues to type while the response arrives is not interrupted.
	b.click(`[data-testid="tags"]`)
	b.do(chromedp.Evaluate[chromedp.Void](`(() => {
		document.querySelector('#tag').value = 'paper';
		document.querySelector('#tag').form.requestSubmit();
		const notes = document.querySelector('#notes');
		notes.focus();
		notes.setSelectionRange(4, 4);
	})()`))
	b.is(`document.querySelectorAll('.head .tag').length`, "2")
	b.is(`document.activeElement.id`, "notes")
	b.do(chromedp.KeyEvent("er"))
	b.is(`document.querySelector('#notes').value`, "longer thoughts")

	// The preserved form can be sent; the typed text is compared with the original values.
	if err := s.db.Runs.UpdateIteration(b.t.Context(), s.actor("alice"), h.run, runs.IterationPatch{Name: new("named by the training")}); err != nil {
		b.t.Fatal(err)
	}
	b.click(`.edit:has(#notes) button.primary`)
	b.is(`document.querySelector('[data-testid="notes"]').textContent.trim()`, "longer thoughts")
	b.is(`document.querySelector('h1').textContent + document.querySelector('#end-status').value`, "named by the trainingFAILED")

	// Rejected input is also preserved.
	b.expect("status of 422")
	b.click(`[data-testid="edit"]`)
	b.is(`document.querySelector('#name').value = ''`, "")
	b.write(`#notes`, "second ")
	b.click(`.edit:has(#notes) button.primary`)
	b.is(`document.querySelector('[data-testid="wrong-name"]').textContent`, "name must not be empty.")
	b.click(`[data-testid="tags"]`)
	b.click(`.tags button`)
	b.is(`document.querySelectorAll('.head .tag').length`, "1")
	b.is(`document.querySelector('#notes').value + document.querySelector('#notes').closest('details').open`, "second longer thoughtstrue")
	b.is(`window.same`, "same")
}

func keepOnModel(b *browser, s *site, h shelf) {
	version := `[data-version="1"] `
	about := `document.querySelector('` + version + `textarea')`
	b.visit(s.base + "/model/" + h.model)
	b.click(version + `summary`)
	b.write(version+`textarea`, "what is special")
	b.click(`[data-version="3"] button[value="PRODUCTION"]`)
	b.is(`document.querySelector('[data-testid="done"]').textContent`, "Version 3 is in production now, in place of version 2, which is archived.")
	b.is(about+`.value + `+about+`.closest('details').open`, "what is specialtrue")
	b.click(`[data-testid="edit"]`)
	b.do(chromedp.SetValue(chromedp.CSS(`#model-name`), "judge"))
	b.click(`.edit:has(#model-name) button.primary`)
	b.is(`document.querySelector('h1').textContent`, "judge")
	b.is(about+`.value + `+about+`.closest('details').open`, "what is specialtrue")
	b.click(version + `button.primary`)
	b.is(`document.querySelector('`+version+`.prose').textContent.trim() + `+about+`.closest('details').open`, "what is specialfalse")
	b.is(`window.same`, "same")
}

// keepInList deletes an artifact of a list while the user fills in the form that registers another
// artifact.
func keepInList(b *browser, s *site, h shelf) {
	b.visit(s.base + "/experiment/" + h.experiment + "/artifacts")
	model := b.show(s, h, "model.pt")
	b.click(model + ` [data-testid="register"]`)
	b.write(model+` form textarea`, "what is special")
	other := b.show(s, h, "film.webm")
	b.click(other + ` [data-testid="delete-artifact"]`)
	b.click(other + ` [data-testid="confirm-delete"]`)
	b.is(`document.querySelectorAll('details.artifact').length`, "12")
	b.is(`document.querySelector('`+model+` form textarea').value`, "what is special")
	b.click(model + ` form button.primary`)
	b.is(`document.querySelectorAll('`+model+` .facts li').length`, "4")
	b.is(`window.same`, "same")
}

func keepMembers(b *browser, s *site, h shelf) {
	if _, err := s.db.Users.CreateUserPermission(b.t.Context(), domain.System, s.actor("bob").UserID, h.project, users.PermissionPatch{}); err != nil {
		b.t.Fatal(err)
	}
	row := func(name string) string { return `.member:has([aria-label="Save ` + name + `"]) ` }
	b.visit(s.base + "/project/" + h.project + "/members")
	b.write(`main #username`, "default")
	b.click(row("alice") + `[name="delete"]`)
	b.click(row("bob") + `[name="update"]`)
	b.click(row("bob") + `[value="save"]`)
	b.is(`document.querySelector('`+row("bob")+`[name="update"]').defaultChecked`, "true")
	b.is(`document.querySelector('main #username').value + document.querySelector('`+row("alice")+`[name="delete"]').checked`, "defaultfalse")
	b.is(`window.same`, "same")
}

func keepAccount(b *browser, s *site, _ shelf) {
	b.visit(s.base + "/user/" + s.actor("bob").UserID)
	b.write(`#first_name`, "Robert")
	b.write(`#password`, "a new password")
	b.click(`button[value="password"]`)
	b.is(`document.querySelector('[data-testid="saved"]').textContent`, "The password was changed.")
	b.is(`document.querySelector('#first_name').value + document.querySelector('#password').value`, "Robert")
	b.click(`button[value="names"]`)
	b.is(`document.querySelector('[data-testid="saved"]').textContent`, "The account was saved.")
	b.is(`document.querySelector('#first_name').defaultValue + window.same`, "Robertsame")
}
