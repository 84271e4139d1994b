package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// foreign matches constructions that make a comment hard to read. CONTRIBUTING.md has the
// rule: short, literal sentences with the subject first.
var foreign = regexp.MustCompile(`\b(those|that) of\b|\bfails unless\b|\bthe ones that\b|\bof (which|whom)\b|, those\b|` +
	`\b[Mm]eanwhile\b|\bas far as\b|\b[Uu]ntil then\b`)

// TestPlainComments looks for such constructions in all Go comments.
func TestPlainComments(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_templ.go") {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			read++
			text := strings.ReplaceAll(group.Text(), "\n", " ")
			if found := foreign.FindString(text); found != "" {
				t.Errorf("%s: say it without %q: %.100s", positions.Position(group.Pos()), found, text)
			}
		}
		return nil
	})
	if err != nil || read < 5000 {
		t.Errorf("read %d comments (%v)", read, err)
	}
}
