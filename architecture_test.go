package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const architecture = "docs/architecture.md"

// Every method that the document names in its description of the path of a metric value exists in
// the file that the document gives.
func TestStopsOfTheArchitecture(t *testing.T) {
	stops := regexp.MustCompile("(?m)^\\| \\d+ \\| `(\\w+)\\.(\\w+)` in `([\\w/.]+)`").FindAllStringSubmatch(text(t), -1)
	if len(stops) != 12 {
		t.Errorf("there are %d stops", len(stops))
	}
	for _, stop := range stops {
		if !slices.Contains(methods(t, stop[3]), stop[1]+"."+stop[2]) {
			t.Errorf("%s has no method %s of %s", stop[3], stop[2], stop[1])
		}
	}
}

// Every Go file and script that the document names exists: in the folder that it gives, or anywhere
// if it gives none.
func TestFilesOfTheArchitecture(t *testing.T) {
	var all []string
	for _, folder := range []string{"blob", "client", "cmd", "server", "store", "ui"} {
		err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			all = append(all, filepath.ToSlash(path))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile("`([\\w/]+\\.(?:go|js))`").FindAllStringSubmatch(text(t), -1)
	if len(named) < 20 {
		t.Errorf("the document names %d files", len(named))
	}
	for _, n := range named {
		if !slices.ContainsFunc(all, func(path string) bool { return path == n[1] || strings.HasSuffix(path, "/"+n[1]) }) {
			t.Errorf("the file %s does not exist", n[1])
		}
	}
}

// No package imports a package that is above it in the list of the document.
func TestImportsPointDown(t *testing.T) {
	places := map[string]int{".": 0}
	above := ""
	list := regexp.MustCompile("(?s)```\n(.*?)```").FindStringSubmatch(text(t))[1]
	for place, line := range strings.Split(list, "\n") {
		entry := regexp.MustCompile(`^(  )?((?:\w+/ ?)+)`).FindStringSubmatch(line)
		if entry == nil {
			continue
		}
		for _, name := range strings.Fields(entry[2]) {
			if entry[1] == "" {
				above = name
			} else {
				name = above + name
			}
			places[strings.TrimSuffix(name, "/")] = place
		}
	}
	placeOf := func(path string) (int, bool) {
		for {
			if place, ok := places[path]; ok || path == "." {
				return place, ok
			}
			path = filepath.ToSlash(filepath.Dir(path))
		}
	}
	imports := 0
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		folder := filepath.ToSlash(filepath.Dir(path))
		// Skip packages of test helpers, because they import the packages that they test.
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(folder, "test") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from, _ := placeOf(folder)
		for _, i := range file.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "tracker/")
			if strings.HasSuffix(imported, "/template") {
				t.Errorf("%s imports %s, for which the linker keeps every exported method: the program grows by 7 MB", path, imported)
			}
			if !ours {
				continue
			}
			imports++
			if to, _ := placeOf(imported); to < from {
				t.Errorf("%s imports %s, which is above it", path, imported)
			}
			if strings.HasSuffix(imported, "test") {
				t.Errorf("%s imports %s, which is for tests", path, imported)
			}
			if strings.HasPrefix(path, "ui/") && strings.HasPrefix(imported, "server") && !strings.HasPrefix(imported, "server/web") {
				t.Errorf("%s imports %s: the dashboard does not know the API", path, imported)
			}
			if strings.HasPrefix(folder, "ui/") && strings.HasPrefix(imported, "server") {
				t.Errorf("%s imports %s: only the pages know requests", path, imported)
			}
		}
		return nil
	})
	if err != nil || imports < 300 {
		t.Errorf("read %d imports (%v)", imports, err)
	}
}

func text(t *testing.T) string {
	b, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// methods returns the methods in a file as Type.Method.
func methods(t *testing.T, path string) (all []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			receiver := f.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if name, ok := receiver.(*ast.Ident); ok {
				all = append(all, name.Name+"."+f.Name.Name)
			}
		}
	}
	return all
}
