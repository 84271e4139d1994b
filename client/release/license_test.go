package main

import (
	"debug/buildinfo"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAddLicenses(t *testing.T) {
	root := fstest.MapFS{
		"LICENSE":       {Data: []byte("MIT")},
		"NOTICE.md":     {Data: []byte("by somebody")},
		"license.go":    {Data: []byte("package license")},
		"copying/x.txt": {Data: []byte("a folder")},
	}
	found := map[string][]byte{}
	if err := addLicenses(found, "example.com/a@v1", root); err != nil {
		t.Fatal(err)
	}
	want := []string{"example.com/a@v1/LICENSE", "example.com/a@v1/NOTICE.md"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("found %v, not %v", got, want)
	}
	delete(root, "LICENSE")
	delete(root, "NOTICE.md")
	if err := addLicenses(found, "example.com/b@v1", root); err == nil || !strings.Contains(err.Error(), "example.com/b@v1") {
		t.Errorf("the error is %v", err)
	}
}

// TestLicenses checks the licences that are found for a small program.
func TestLicenses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	c := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", path, "tracker/store/filter")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go: %v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := licenses(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go/LICENSE", "ui/htmx.license.txt", "ui/uplot.license.txt"} {
		if len(found[name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
}
