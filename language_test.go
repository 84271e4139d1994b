package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// foreign matches constructions that make a comment hard to read. CONTRIBUTING.md has the
// rule: short, literal sentences with the subject first.
var foreign = regexp.MustCompile(`\b(those|that) of\b|\bfails unless\b|\bthe ones that\b|\bof (which|whom)\b|, those\b|` +
	`\b[Mm]eanwhile\b|\bas far as\b|\b[Uu]ntil then\b|\ba \w+ of (its|their) own\b|\bgo(es)? on\b|\bwent on\b|\bleft alone\b|` +
	`\bfor ever\b|\bwhat (was|were) (written|logged|copied|deleted|kept|sent)\b|\b(that|which) (is|are) (not )?there\b|` +
	`\bin sight\b|\bthe others of\b|\b(lies|lie) (in|beside|under)\b|\bin (one|all) go\b|\bhand(s|ed)? on\b|` +
	`\b(is|are) told (of|that|where)\b|\btells? of\b|\b(come|comes|came) back\b|\b(made|written|opened|drawn|built) anew\b`)

// foreignText matches constructions that make a message or a help text hard to read.
var foreignText = regexp.MustCompile(foreign.String() + `|\b(is|are) tried again\b|\b[Ss]omebody else\b|\bno room\b|` +
	`\bfree some[,;.]|\bgiven up\b|\bwith commas between\b|\bis there (already|twice)\b|\ban? \w+ has (all|them|it)[.;]|` +
	`\borphans will[,;.]|\bas (it is|they are)[.;,]`)

// portNoun matches nouns that only the REST API uses. Messages of the store must not contain them.
var portNoun = regexp.MustCompile(`\b([Aa]n?|[Tt]he|[Tt]his|[Ss]uch|[Nn]o|%d) (iteration|resource)s?\b`)

// TestPlainComments looks for such constructions in all Go comments.
func TestPlainComments(t *testing.T) {
	read := 0
	for _, file := range goFiles(t) {
		for _, group := range file.Comments {
			read++
			text := strings.ReplaceAll(group.Text(), "\n", " ")
			if found := foreign.FindString(text); found != "" {
				t.Errorf("%s: say it without %q: %.100s", positions.Position(group.Pos()), found, text)
			}
		}
	}
	if read < 5000 {
		t.Errorf("read %d comments", read)
	}
}

// TestPlainMessages looks for such constructions in all string literals of the program. In the
// store, whose messages every port shows, it also looks for nouns of the REST API.
func TestPlainMessages(t *testing.T) {
	read := 0
	for path, file := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || !strings.Contains(text, " ") {
				return true
			}
			read++
			found := foreignText.FindString(text)
			if found == "" && strings.HasPrefix(path, "store"+string(filepath.Separator)) {
				found = portNoun.FindString(text)
			}
			if found != "" {
				t.Errorf("%s: say it without %q: %.100s", positions.Position(n.Pos()), found, text)
			}
			return true
		})
	}
	if read < 3000 {
		t.Errorf("read %d texts", read)
	}
}

// positions holds the positions in the files that goFiles returns.
var positions = token.NewFileSet()

// goFiles returns the syntax trees, by path, of all Go files that are not generated from templates.
func goFiles(t *testing.T) map[string]*ast.File {
	all := map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_templ.go") {
			return err
		}
		all[path], err = parser.ParseFile(positions, path, nil, parser.ParseComments)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// vendored holds the names of third-party sources, which are not edited.
var vendored = map[string]bool{"htmx.js": true, "uplot.js": true, "uplot.css": true, "vega.js": true, "vegalite.js": true, "vegainterpreter.js": true}

// TestPlainDocuments looks for such constructions, even if they span two lines, in documents,
// templates, scripts and Python programs.
func TestPlainDocuments(t *testing.T) {
	spread := regexp.MustCompile(strings.ReplaceAll(foreignText.String(), " ", `[\s/*#]+`))
	read := map[string]int{}
	for path, source := range documents(t) {
		read[filepath.Ext(path)]++
		for _, at := range spread.FindAllStringIndex(source, -1) {
			line := strings.Count(source[:at[0]], "\n") + 1
			t.Errorf("%s:%d: say it without %q", path, line, source[at[0]:at[1]])
		}
	}
	for ext, least := range map[string]int{".md": 15, ".yaml": 1, ".templ": 25, ".js": 60, ".py": 100} {
		if read[ext] < least {
			t.Errorf("read %d files with suffix %s", read[ext], ext)
		}
	}
}

// documents returns the contents of documents, templates, scripts and Python programs by path. It
// omits vendored and generated files and test data.
func documents(t *testing.T) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && (entry.Name() == "dist" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		switch ext := filepath.Ext(path); {
		case err != nil, vendored[filepath.Base(path)]:
			return err
		case ext == ".md", ext == ".yaml", ext == ".templ", ext == ".js", ext == ".py":
			source, err := os.ReadFile(path)
			all[path] = string(source)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// longSentence is the maximum number of words in a sentence on a page.
const longSentence = 30

// foreignPage matches words that make the text of a page personal, vague or hard to translate.
var foreignPage = regexp.MustCompile(foreignText.String() + `|\b([Pp]lease|[Ss]orry|[Oo]ops|[Ww]e|[Oo]ur|[Oo]urs)\b|!|` +
	`\b([Ss]ome|[Aa]ny|[Nn]o)body\b|\bmay not\b|\b(has|have) to be\b|\b[Tt]here (is|are) nothing\b|\bwhat (it|they) (is|are|was|were)\b`)

// TestPlainPages looks for such constructions, and for long sentences, in the texts of templates.
func TestPlainPages(t *testing.T) {
	read := 0
	for path, source := range documents(t) {
		if filepath.Ext(path) != ".templ" {
			continue
		}
		for _, text := range pageTexts(source) {
			read++
			if found := foreignPage.FindString(text); found != "" {
				t.Errorf("%s: say it without %q: %s", path, found, text)
			}
			for sentence := range strings.SplitSeq(text, ". ") {
				if n := len(strings.Fields(sentence)); n > longSentence {
					t.Errorf("%s: a sentence with %d words: %s", path, n, sentence)
				}
			}
		}
	}
	if read < 300 {
		t.Errorf("read %d texts", read)
	}
}

var (
	templates  = regexp.MustCompile(`(?ms)^templ .*?^}`)
	expression = regexp.MustCompile(`\{[^{}]*\}`)
	attribute  = regexp.MustCompile(`(?:title|aria-label|placeholder|alt|data-confirm)="([^"]*)"`)
	inlineTag  = regexp.MustCompile(`</?(?:a|b|bdi|code|em|i|kbd|small|span|strong|time)(?:\s[^>]*)?>`)
	anyTag     = regexp.MustCompile(`<[^>]*>`)
	statement  = regexp.MustCompile(`(?m)^\s*(?:templ |if |for |switch |case |default:|}|@|//|{{).*$`)
)

// pageTexts returns the text that the templates in source show: text between tags, and attributes
// that users read. Each expression is replaced with an X.
func pageTexts(source string) []string {
	var texts []string
	add := func(text string) {
		if text = strings.Join(strings.Fields(text), " "); strings.Contains(text, " ") {
			texts = append(texts, text)
		}
	}
	for _, body := range templates.FindAllString(source, -1) {
		body = statement.ReplaceAllString(body, "\n<hr>\n")
		for n := 0; n < 3; n++ { // also replaces nested braces
			body = expression.ReplaceAllString(body, "X")
		}
		for _, found := range attribute.FindAllStringSubmatch(body, -1) {
			add(found[1])
		}
		for _, text := range anyTag.Split(inlineTag.ReplaceAllString(body, ""), -1) {
			add(text)
		}
	}
	return texts
}

// TestPageTexts checks the text that pageTexts finds in a small template.
func TestPageTexts(t *testing.T) {
	source := "templ page(n int) {\n\t<p title=\"A title\">Select <b>two</b>\n\t\t{ plural(n, \"run\") } first.</p>\n" +
		"\tif n > 0 {\n\t\t<p>They are ready.</p>\n\t}\n}\n\nfunc other() { return \"not a text\" }\n"
	if got, want := strings.Join(pageTexts(source), "|"), "A title|Select two X first.|They are ready."; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

// TestLineLength checks that lines have at most 120 characters in scripts, styles and templates,
// which gofmt does not format.
func TestLineLength(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && (entry.Name() == "dist" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		switch ext := filepath.Ext(path); {
		case err != nil, vendored[filepath.Base(path)], ext != ".js" && ext != ".css" && ext != ".templ":
			return err
		}
		source, err := os.ReadFile(path)
		read++
		for i, line := range strings.Split(string(source), "\n") {
			if n := utf8.RuneCountInString(line); n > 120 {
				t.Errorf("%s:%d has %d characters", path, i+1, n)
			}
		}
		return err
	})
	if err != nil || read < 80 {
		t.Errorf("read %d files (%v)", read, err)
	}
}
