package client_test

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"tracker/client"
)

// TestWheelIsTheSource compares the wheel with the sources, and its record
// with its files.
func TestWheelIsTheSource(t *testing.T) {
	wheel, err := client.PythonWheel(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.PythonWheel(nil)
	if err != nil || !bytes.Equal(wheel.Body, again.Body) {
		t.Errorf("made twice, the wheel differs (%v)", err)
	}
	if want := "runtracker-" + client.Version() + "-py3-none-any.whl"; wheel.Name != want {
		t.Errorf("the wheel is called %s, not %s", wheel.Name, want)
	}
	got := contents(t, wheel.Body)
	paths, err := filepath.Glob("python/tracker/*.py")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no sources", err)
	}
	for _, path := range append(paths, "python/tracker/py.typed") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimPrefix(path, "python/"); got[name] != string(data) {
			t.Errorf("%s differs from %s", name, path)
		}
	}
	info := "runtracker-" + client.Version() + ".dist-info/"
	record := got[info+"RECORD"]
	for path := range got {
		if !strings.Contains(record, path+",") {
			t.Errorf("the record does not name %s", path)
		}
	}
	if want := len(paths) + 1 + 5; len(got) != want {
		t.Errorf("the wheel has %d files, not %d", len(got), want)
	}
	license, err := os.ReadFile("../LICENSE")
	if err != nil || got[info+"licenses/LICENSE"] != string(license) {
		t.Errorf("the wheel does not have the licence of the module; copy LICENSE to client/LICENSE (%v)", err)
	}
	if !strings.Contains(got[info+"METADATA"], "\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\n") {
		t.Errorf("the licence is not in %s", got[info+"METADATA"])
	}
	if !strings.Contains(got[info+"METADATA"], "\nVersion: "+client.Version()+"\n") {
		t.Errorf("the version is not in %s", got[info+"METADATA"])
	}
}

// TestWheelWithProgram builds wheels with a small program and checks that their tags match the
// system for which the program was built.
func TestWheelWithProgram(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module tracker\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := func(system, processor, cgo string) []byte {
		t.Helper()
		c := exec.CommandContext(t.Context(), "go", "build", "-o", "program", ".")
		c.Dir = dir
		c.Env = append(os.Environ(), "GOFLAGS=", "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED="+cgo)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		data, err := os.ReadFile(filepath.Join(dir, "program"))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, want := range []struct {
		system, processor, tags, script string
	}{
		{"linux", "amd64", "manylinux2014_x86_64.musllinux_1_1_x86_64", "tracker"},
		{"windows", "amd64", "win_amd64", "tracker.exe"},
	} {
		program := build(want.system, want.processor, "0")
		wheel, err := client.PythonWheel(&client.Program{Content: program, Build: built(t, program),
			Licenses: map[string][]byte{"example.com/a@v1/LICENSE": []byte("MIT")}})
		if err != nil {
			t.Fatal(err)
		}
		stem := "runtracker-" + client.Version()
		if name := stem + "-py3-none-" + want.tags + ".whl"; wheel.Name != name {
			t.Errorf("the wheel is called %s, not %s", wheel.Name, name)
		}
		got := contents(t, wheel.Body)
		if got[stem+".data/scripts/"+want.script] != string(program) {
			t.Errorf("%s does not hold the program", wheel.Name)
		}
		for tag := range strings.SplitSeq(want.tags, ".") {
			if !strings.Contains(got[stem+".dist-info/WHEEL"], "\nTag: py3-none-"+tag+"\n") {
				t.Errorf("%s has no tag %s", wheel.Name, tag)
			}
		}
		if got[stem+".dist-info/licenses/example.com/a@v1/LICENSE"] != "MIT" ||
			!strings.Contains(got[stem+".dist-info/METADATA"], "\nLicense-File: example.com/a@v1/LICENSE\n") {
			t.Errorf("%s does not have the licence of what is in the program", wheel.Name)
		}
		if !strings.Contains(got[stem+".dist-info/entry_points.txt"], "[jupyter_serverproxy_servers]") {
			t.Errorf("%s has no entry for JupyterLab", wheel.Name)
		}
	}
	for name, program := range map[string][]byte{
		"there is no wheel with the program for linux/386": build("linux", "386", "0"),
		"CGO_ENABLED=0": build("linux", "amd64", "1"),
	} {
		if _, err := client.PythonWheel(&client.Program{Content: program, Build: built(t, program)}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v, not %q", err, name)
		}
	}
}

func built(t *testing.T, program []byte) *debug.BuildInfo {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	return info
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

// TestPipInstalls installs the client with pip, under either name, from an index below a prefix and
// without any other index, and imports it.
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
	for _, name := range []string{"runtracker", "tracker-client"} {
		folder := t.TempDir()
		// PIP_FIND_LINKS and similar variables would add other indexes.
		pip := exec.CommandContext(t.Context(), "python3", "-m", "pip", "--isolated", "install", "--quiet", "--no-cache-dir",
			"--disable-pip-version-check", "--index-url", server.URL+base+"/", "--target", folder, name)
		pip.Env = append(os.Environ(), "PIP_CONFIG_FILE="+os.DevNull)
		if out, err := pip.CombinedOutput(); err != nil {
			t.Fatalf("pip install %s: %v\n%s", name, err, out)
		}
		try := exec.CommandContext(t.Context(), "python3", "-c", "import tracker; print(tracker.__version__, tracker.__file__)")
		try.Dir, try.Env = folder, append(os.Environ(), "PYTHONPATH="+folder)
		out, err := try.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), client.Version()+" "+folder) {
			t.Errorf("the client installed as %s: %v\n%s", name, err, out)
		}
	}
}
