//go:build unix

package cmd

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The trash commands work while the server runs.
func TestTrashCommands(t *testing.T) {
	t.Parallel()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p, dir, ids := served(t, env, map[string]string{"a": "bytes of a", "b": "bytes of b"})
	w := dial(t, p)
	run := func(args ...string) result { return runBinary(t, dir, env, "", append([]string{"trash"}, args...)...) }
	wants := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in\n%s", part, text)
			}
		}
	}
	wants(run().must(t), "The trash is empty.")
	wants(run("empty").must(t), "There is nothing to delete.")
	for _, id := range ids {
		w.must(t, http.StatusNoContent, "DELETE", "/resource/"+id, "")
	}
	wants(run().must(t), "PURGED AFTER", ids["a"]+"  artifact  a     p        ", "  default  ", "10 B")
	wants(run("--json").must(t), `"kind": "resource"`, `"size_bytes": 10`)
	wants(runBinary(t, dir, env, "", "artifacts", "gc").must(t), "There is nothing to remove.", "2 artifacts of 20 B in the trash; `tracker trash empty` frees 20 B.")
	wants(run("restore", ids["a"]).must(t), "Restored 1 record.")
	p.wantData(ids["a"], "bytes of a")
	run("restore", ids["b"], ids["a"]).refused(t, 1, "There is no such record in the trash.")
	run("empty", "--older-than", "-1h").refused(t, 2, "--older-than")
	wants(run("empty", "--older-than", "1d").must(t), "There is nothing to delete.")
	wants(run("empty").must(t), `Deleted the artifact "b".`, "1 record is deleted permanently.")
	wants(run().must(t), "The trash is empty.")
	files, err := filepath.Glob(filepath.Join(dir, "artifacts", "??", "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left: %v", len(files), err)
	}
	wants(runBinary(t, dir, env, "", "check").must(t), "")
	p.wantData(ids["a"], "bytes of a")
}

// If the trash is turned off, deleted records are purged at once, and so are records that are
// already in the trash.
func TestNoTrash(t *testing.T) {
	t.Parallel()
	p, dir, ids := served(t, nil, map[string]string{"a": "bytes of a", "b": "bytes of b"})
	dial(t, p).must(t, http.StatusNoContent, "DELETE", "/resource/"+ids["a"], "")
	p.kill()
	p = startServer(t, dir, []string{"SERVICE_TRASH_DAYS=0"})
	dial(t, p).must(t, http.StatusNoContent, "DELETE", "/resource/"+ids["b"], "")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(dir, "artifacts", "??", "*"))
		if err == nil && len(files) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v are left: %v", files, err)
		}
	}
}
