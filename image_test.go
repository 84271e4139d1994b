package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The image can be built from the files that .dockerignore does not exclude.
func TestImageBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole program")
	}
	const build = `go build -trimpath -ldflags "-s -w" -o /out/tracker .`
	recipe := readText(t, "Dockerfile")
	if !strings.Contains(recipe, "CGO_ENABLED=0") || !strings.Contains(recipe, build) {
		t.Fatalf("the Dockerfile does not build with CGO_ENABLED=0 and %s; change this test with it", build)
	}
	if !strings.Contains(recipe, "mkdir -m 0770 /out/data") || !strings.Contains(recipe, "--chown=65532:0 /out/data") {
		t.Error("not every user of the group 0 can write to /data")
	}
	sent := t.TempDir()
	for _, path := range imageFiles(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(sent, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^COPY (.+)$`).FindAllStringSubmatch(recipe, -1) {
		words := strings.Fields(line[1])
		if strings.HasPrefix(words[0], "--from=") {
			continue // copied from an earlier stage of the build
		}
		for _, source := range words[:len(words)-1] {
			if _, err := os.Stat(filepath.Join(sent, source)); err != nil {
				t.Errorf("COPY %s: %s is not there", line[1], source)
			}
		}
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(t.TempDir(), "tracker"), ".")
	cmd.Dir = sent
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=") // the race detector needs cgo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Neither images nor commits contain data, secrets or wheels.
func TestIgnoredFiles(t *testing.T) {
	for _, name := range []string{".dockerignore", ".gitignore"} {
		ignored := ignoredBy(t, name)
		for _, path := range []string{
			".env", "deploy/tracker.env", "tracker.db", "tracker.db-wal", "tracker.db-shm", "tracker.db-journal", "tracker.db.lock", "tracker.db.reserve",
			"tracker.db.before-v18-20260101T000000Z", "tracker.db.before-restore-20260101T000000Z", "artifacts/ab/cd", "tracker",
			"dist/runtracker-1.0-py3-none-any.whl", "data/tracker.db", "data/tracker.db.before-v18-20260101T000000Z",
		} {
			if !ignored(path) {
				t.Errorf("%s does not cover %s", name, path)
			}
		}
		for _, path := range []string{"main.go", "cmd/serve.go", "client/wheel.go", "store/artifact/upload.go", "ui/dist/app.js"} {
			if ignored(path) {
				t.Errorf("%s covers %s", name, path)
			}
		}
	}
}

// imageFiles returns the paths of the files that are sent to the builder of the image.
func imageFiles(t *testing.T) (all []string) {
	t.Helper()
	ignored := ignoredBy(t, ".dockerignore")
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case ignored(filepath.ToSlash(path)) && entry.IsDir():
			return filepath.SkipDir
		case !ignored(filepath.ToSlash(path)) && entry.Type().IsRegular():
			all = append(all, path)
		}
		return nil
	})
	if err != nil || len(all) < 300 {
		t.Fatalf("%d files are left (%v)", len(all), err)
	}
	return all
}

// ignoredBy returns a function that reports whether a pattern in the named file matches a path or a
// folder above the path. Exceptions, which begin with "!", are not supported. In .gitignore, a
// pattern without a slash, or with a slash only at its end, matches in every folder.
func ignoredBy(t *testing.T, name string) func(path string) bool {
	t.Helper()
	var patterns []*regexp.Regexp
	for line := range strings.Lines(readText(t, name)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "!") {
			t.Fatalf("%s: %s is an exception, which this test does not read", name, line)
		}
		pattern := strings.TrimSuffix(line, "/")
		if name == ".gitignore" && !strings.Contains(pattern, "/") {
			pattern = "**/" + pattern
		}
		pattern = regexp.QuoteMeta(strings.TrimPrefix(pattern, "/"))
		pattern = strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\*`, `[^/]*`, `\?`, `[^/]`).Replace(pattern)
		patterns = append(patterns, regexp.MustCompile(`^`+pattern+`(?:/.*)?$`))
	}
	return func(path string) bool {
		return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(path) })
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
