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

// TestFresh checks that the committed files are built from the present sources.
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

// TestVendoredUnchanged compares the third-party code with the files that browsers get.
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
	for name, c := range map[string]struct {
		added map[string]string // text at the end of files
		want  string
	}{
		"an import circle": {map[string]string{"dom.js": "import './request.js';", "request.js": "import './dom.js';"}, "an import circle: dom.js → "},
		"a wrong name":     {map[string]string{"dom.js": "import { nothing } from './base.js';\nnothing();"}, "No matching export"},
		"bad syntax":       {map[string]string{"page.css": "@import './none.css';"}, "Could not resolve"},
	} {
		t.Run(name, func(t *testing.T) {
			static := t.TempDir()
			if err := os.CopyFS(static, os.DirFS("../static")); err != nil {
				t.Fatal(err)
			}
			for file, text := range c.added {
				before, err := os.ReadFile(filepath.Join(static, file))
				if err == nil {
					err = os.WriteFile(filepath.Join(static, file), []byte(string(before)+"\n"+text+"\n"), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := build(static); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
