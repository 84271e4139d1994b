//go:build unix

package cmd

import (
	"encoding/json"
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

// The command audit lists what the requests and the commands have done, while the server runs.
func TestAuditCommand(t *testing.T) {
	t.Parallel()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p, dir, ids := served(t, env, map[string]string{"a": "bytes of a"})
	dial(t, p).must(t, http.StatusNoContent, "DELETE", "/resource/"+ids["a"], "")
	run := func(args ...string) result { return runBinary(t, dir, env, "", args...) }
	run("trash", "empty").must(t)
	for _, args := range [][]string{{"audit", "--since", "7d"}, {"audit", "--record", ids["a"]}} {
		out := run(args...).must(t)
		for _, part := range []string{"delete resource a", "purge resource a", "127.0.0.1", "command line"} {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), part) {
				t.Errorf("%q is not in\n%s", part, out)
			}
		}
	}
	var entries []map[string]any
	if err := json.Unmarshal([]byte(run("audit", "--since", "7d", "--json", "--action", "purge").must(t)), &entries); err != nil || len(entries) != 1 || entries[0]["record_id"] != ids["a"] {
		t.Errorf("the entries are %v: %v", entries, err)
	}
	run("audit", "--limit", "0").refused(t, 2, "--limit")
	run("audit", "--since", "-1h").refused(t, 2, "--since")
	run("audit", "--action", "look").refused(t, 1, "action must be one of")
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
