package json_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// The implementation can be replaced in this package as long as no other package imports it.
func TestNothingElseImportsTheImplementation(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || filepath.Dir(path) == filepath.Join("..", "..", "store", "json") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		checked++
		for _, imported := range file.Imports {
			if strings.Contains(imported.Path.Value, "go-json-experiment") {
				t.Errorf("%s imports %s; import tracker/store/json instead", path, imported.Path.Value)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("only %d files were checked", checked)
	}
}
