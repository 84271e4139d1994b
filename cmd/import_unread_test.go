package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/transfer"
)

// Files of unknown types are counted. Files of known types that were not read are listed with exit code 3.
func TestImportUnread(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	env := []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}
	files := map[string]string{"runs/a/metrics.csv": "step,loss\n1,2\n", "runs/a/hparams.yaml": "lr: 0.1\n", "runs/a/notes.txt": "",
		"runs/a/last.ckpt": "", "runs/a/best.ckpt": "", "runs/.git/config": "", "runs/LICENSE": "", "runs/training.log": "epoch 1 has begun\n"}
	put := func() {
		t.Helper()
		for name, text := range files {
			err := os.MkdirAll(filepath.Dir(name), 0o755)
			if err == nil {
				err = os.WriteFile(name, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	put()
	out := runMain(t, env, "", "import", "runs").must(t)
	if !strings.Contains(out, "Not read: 5 files of other kinds (2 .ckpt, 1 .log, 1 .txt, 1 other).\n") || strings.Contains(out, "Left out") {
		t.Error(out)
	}
	var r transfer.Result
	if err := json.Unmarshal([]byte(runMain(t, env, "", "import", "runs", "--json").must(t)), &r); err != nil || r.Unread == nil || r.Unread.Files != 5 {
		t.Errorf("%v: %+v", err, r)
	}

	files["runs/a/other.jsonl"] = "{}"
	put()
	got := runMain(t, env, "", "import", "runs")
	if got.code != 3 || !strings.Contains(got.stdout, filepath.Join(dir, "runs/a/other.jsonl")+": ") || !strings.Contains(got.stdout, "Not read: 5 files") {
		t.Errorf("%+v", got)
	}
	for i := range maxPrinted + 50 {
		files[fmt.Sprintf("runs/b/%d.csv", i)] = "a\n"
	}
	put()
	got = runMain(t, env, "", "import", "runs")
	if got.code != 3 || !strings.Contains(got.stdout, "  and 51 more\n") || strings.Count(got.stdout, "import this file separately") != maxPrinted {
		t.Errorf("%+v", got)
	}

	runMain(t, env, "", "import", "runs", "--step", "stepp", "--db-file", "new.db").refused(t, 1, `no column "stepp"`, "columns are step, loss")
	eventFile(t, "logs/a", 3)
	runMain(t, env, "", "import", "logs", "--step", "stepp").refused(t, 2, "--step and --time are for tables")
}
