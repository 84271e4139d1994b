package ui_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// avoided maps words that pages do not use to the words that they use instead.
var avoided = map[string]string{
	`iterations?`:                 "run",
	`put on|take off`:             "Add tag, Remove tag",
	`last heard of`:               "Last seen",
	`wall clock`:                  "Wall time",
	`across`:                      "X",
	`before|after`:                "Previous, Next",
	`keyboard shortcuts|keys`:     "Shortcuts",
	`(fold|nest) children`:        "Show sub-runs",
	`delete for good|delete them`: "Delete permanently, Delete",
	`keep it|keep them|drop it`:   "Cancel, Discard",
	`folder of the server`:        "filesystem",
	`piece|crowd|ledger|settled`:  "the standard word",
	`may not be read`:             "you may no longer read",
	`load this page again`:        "reload",
}

// whole holds the words that are avoided only if they are a whole label: within a sentence they are
// ordinary words.
var whole = map[string]bool{`across`: true, `before|after`: true, `keyboard shortcuts|keys`: true}

// TestWordsOfPages checks that pages use the usual words for experiments and runs.
func TestWordsOfPages(t *testing.T) {
	c := newShowcase(t, setup{auth: true})
	cookies := map[string]edit{}
	seen := 0
	for _, p := range c.pages() {
		var edits []edit
		if p.user != "" {
			if cookies[p.user] == nil {
				cookies[p.user] = with(c.signIn(p.user))
			}
			edits = append(edits, cookies[p.user])
		}
		for _, text := range wordsOf(c.get(p.path, edits...).body) {
			seen++
			for words, better := range avoided {
				pattern := `(?i)\b(` + words + `)\b`
				if whole[words] {
					pattern = `(?i)^(` + words + `)$`
				}
				if found := regexp.MustCompile(pattern).FindString(text); found != "" {
					t.Errorf("%s says %q in %q; the word is %s", p.name, found, text, better)
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d texts were read", seen)
	}
}

var (
	// Logged text, data for scripts, and example commands are not the wording of pages.
	others = regexp.MustCompile(`(?s)<(script|style|pre|bdi|code|textarea|svg)[ >].*?</(script|style|pre|bdi|code|textarea|svg)>`)
	labels = regexp.MustCompile(` (?:title|placeholder|aria-label|aria-description)="([^"]*)"`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// wordsOf returns the texts of a page and its labels.
func wordsOf(body string) []string {
	body = others.ReplaceAllString(body, "\n")
	var all []string
	for _, m := range labels.FindAllStringSubmatch(body, -1) {
		all = append(all, m[1])
	}
	for line := range strings.SplitSeq(tags.ReplaceAllString(body, "\n"), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// The same rule holds for scripts. Their texts are the strings that begin with a capital letter or
// contain a space.
func TestWordsOfScripts(t *testing.T) {
	texts := regexp.MustCompile("'((?:[A-Z]|[a-z]+ )[^'\n]*)'|`([A-Z][^`\n]*)`")
	files, err := fs.Glob(os.DirFS("static"), "*.js")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		if name == "htmx.js" || name == "uplot.js" {
			continue
		}
		body, err := os.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range texts.FindAllStringSubmatch(string(body), -1) {
			seen++
			for words, better := range avoided {
				pattern := `(?i)\b(` + words + `)\b`
				if whole[words] {
					pattern = `(?i)^(` + words + `)$`
				}
				if found := regexp.MustCompile(pattern).FindString(m[1] + m[2]); found != "" {
					t.Errorf("%s says %q in %q; the word is %s", name, found, m[0], better)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d texts were read", seen)
	}
}

// Errors on pages say run and artifact, and not iteration and resource as in the REST API.
func TestWordsOfMessages(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	s.get("/iteration/none").wants(t, 404, "There is no such run.")
	s.get("/artifact/none").wants(t, 404, "There is no such artifact.")
	s.get("/data/iteration/none/summary").wants(t, 404, "There is no such run.")
	s.get("/data/experiment/"+w.experiment+"/iterations?filter=iteration+%3D+1").wants(t, 200, "iteration") // the input stays
}
