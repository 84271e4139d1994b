package client_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracker/client"
)

// TestWheelIsTheSource holds the wheel against the sources and against the one
// that Python builds from them.
func TestWheelIsTheSource(t *testing.T) {
	wheel, err := client.PythonWheel()
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.PythonWheel()
	if err != nil || !bytes.Equal(wheel.Body, again.Body) {
		t.Errorf("made twice, the wheel differs (%v)", err)
	}
	got := contents(t, wheel.Body)
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "python3", "-c",
		"import sys, build_wheel; print(build_wheel.build_wheel(sys.argv[1]))", folder)
	build.Dir = "python"
	build.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	name, err := build.Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(bytes.TrimSpace(name)) != wheel.Name {
		t.Errorf("the wheel is called %s, Python calls it %s", wheel.Name, name)
	}
	body, err := os.ReadFile(filepath.Join(folder, wheel.Name))
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, body)
	for path, data := range want {
		if got[path] != data {
			t.Errorf("%s differs from what Python puts there:\n%s\nnot\n%s", path, got[path], data)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the wheel has %d files, not %d", len(got), len(want))
	}
}

func contents(t *testing.T, wheel []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		file, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(data)
	}
	return files
}

// TestPipInstalls has pip install the client from the index, without any other
// address and behind a prefix, and imports it.
func TestPipInstalls(t *testing.T) {
	const base = "/lab/client/python"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), base)
		if ok {
			ok, _ = client.ServePython(w, r, base, rest)
		}
		if !ok {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	folder := t.TempDir()
	// PIP_FIND_LINKS and the like would offer other places.
	pip := exec.CommandContext(t.Context(), "python3", "-m", "pip", "--isolated", "install", "--quiet", "--no-cache-dir",
		"--disable-pip-version-check", "--index-url", server.URL+base+"/", "--target", folder, "tracker-client")
	pip.Env = append(os.Environ(), "PIP_CONFIG_FILE="+os.DevNull)
	if out, err := pip.CombinedOutput(); err != nil {
		t.Fatalf("pip: %v\n%s", err, out)
	}
	try := exec.CommandContext(t.Context(), "python3", "-c", "import tracker; print(tracker.__file__)")
	try.Dir, try.Env = folder, append(os.Environ(), "PYTHONPATH="+folder)
	out, err := try.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), folder) {
		t.Errorf("the installed client: %v\n%s", err, out)
	}
}
