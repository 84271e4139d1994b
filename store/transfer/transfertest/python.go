package transfertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Python runs a program of store/transfer/testdata with the Python that the
// environment variable TRACKER_IMPORT_PYTHON names, which has the packages of
// requirements.txt beside it, and returns what it prints.
func Python(t testing.TB, program string, args ...string) []byte {
	t.Helper()
	python := os.Getenv("TRACKER_IMPORT_PYTHON")
	if python == "" {
		t.Fatal("set TRACKER_IMPORT_PYTHON to a Python with the packages of store/transfer/testdata/requirements.txt")
	}
	_, here, _, _ := runtime.Caller(0)
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), python, append([]string{filepath.Join(filepath.Dir(here), "..", "testdata", program)}, args...)...)
	c.Stdout, c.Stderr = &out, &errs
	c.Dir = t.TempDir()
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &errs)
	}
	return out.Bytes()
}
