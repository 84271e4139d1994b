package transfertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Python runs a program in store/transfertest/testdata and returns its output. The environment
// variable TRACKER_IMPORT_PYTHON names the Python interpreter. The packages in requirements.txt
// must be installed for this interpreter.
func Python(t testing.TB, program string, args ...string) []byte {
	t.Helper()
	python := os.Getenv("TRACKER_IMPORT_PYTHON")
	if python == "" {
		t.Fatal("set TRACKER_IMPORT_PYTHON to a Python interpreter with the packages in store/transfertest/testdata/requirements.txt")
	}
	_, here, _, _ := runtime.Caller(0)
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), python, append([]string{filepath.Join(filepath.Dir(here), "testdata", program)}, args...)...)
	c.Stdout, c.Stderr = &out, &errs
	c.Dir = t.TempDir()
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &errs)
	}
	return out.Bytes()
}
