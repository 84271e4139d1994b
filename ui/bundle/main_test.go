package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFresh holds what is committed to what the sources give.
func TestFresh(t *testing.T) {
	files, err := build("../static")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string][]byte{}
	for _, e := range entries {
		if there[e.Name()], err = os.ReadFile(filepath.Join("../dist", e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.EqualFunc(files, there, bytes.Equal) {
		t.Errorf("ui/dist has %v, the sources give %v: run go generate ./ui", slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(files)))
	}
}

// TestSameAnywhere builds a copy of the sources in another folder.
func TestSameAnywhere(t *testing.T) {
	static := filepath.Join(t.TempDir(), "a", "static")
	if err := os.CopyFS(static, os.DirFS("../static")); err != nil {
		t.Fatal(err)
	}
	here, err := build("../static")
	if err != nil {
		t.Fatal(err)
	}
	there, err := build(static)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(here, there, bytes.Equal) {
		t.Errorf("%v here, %v there", slices.Sorted(maps.Keys(here)), slices.Sorted(maps.Keys(there)))
	}
}

// TestVendoredUnchanged compares what others wrote with what browsers get.
func TestVendoredUnchanged(t *testing.T) {
	files, err := build("../static")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"htmx.js", "uplot.js", "uplot.css", "htmx.license.txt", "uplot.license.txt"} {
		body, err := os.ReadFile("../static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(files)), func(f []byte) bool { return bytes.Equal(f, body) }) {
			t.Errorf("%s is not among the files as it is", name)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"an import circle": {"dom.js", "import './ask.js';\nexport const el = 1, isolated = 1, save = 1;", "an import circle: ask.js → "},
		"a wrong name":     {"dom.js", "export const el = 1;", "No matching export"},
		"bad syntax":       {"page.css", "@import './none.css';", "Could not resolve"},
	} {
		t.Run(name, func(t *testing.T) {
			static := t.TempDir()
			if err := os.CopyFS(static, os.DirFS("../static")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(static, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if c.file == "dom.js" && strings.Contains(c.text, "ask.js") {
				ask := "import './dom.js';\nexport const ask = 1, debounce = 1, later = 1, newest = 1, reach = 1, typed = 1, Refused = 1;"
				if err := os.WriteFile(filepath.Join(static, "ask.js"), []byte(ask), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := build(static); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
