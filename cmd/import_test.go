package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
)

// eventFile writes an event file with points of the metric loss into a folder. The first event
// depends on the length of the folder's name, so that files in different folders differ.
func eventFile(t *testing.T, dir string, points int) {
	t.Helper()
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "events.out.tfevents.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := tensorboard.NewWriter(f, 1_700_000_000_000+transfer.Time(len(dir)))
	for step := 0; step < points && err == nil; step++ {
		err = w.Scalar("loss", 1, 0.5, 1_700_000_000_000)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	eventFile(t, "runs/a", 3)
	env := []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}

	out := runMain(t, env, "", "import", "runs", "--dry-run").must(t)
	if !strings.Contains(out, "runs: TensorBoard event files\nFound 1 run: 1 new,") || !strings.Contains(out, "Would import 3 points") {
		t.Errorf("dry run: %s", out)
	}
	if _, err := os.Stat("tracker.db"); err == nil {
		t.Error("a dry run has made the database")
	}
	out = runMain(t, env, "", "import", "tensorboard", "runs").must(t)
	if !strings.Contains(out, "Imported 3 points") {
		t.Errorf("import: %s", out)
	}
	out = runMain(t, env, "", "import", "runs", "--json").must(t)
	var result map[string]any
	if err := json.Unmarshal([]byte(out), &result); err != nil || result["unchanged"] != 1.0 || result["kind"] != "tensorboard" {
		t.Errorf("again: %v, %s", err, out)
	}

	// Losses are listed, and the exit code is not 0.
	name := filepath.Join("runs", "a", "events.out.tfevents.1")
	data, err := os.ReadFile(name)
	if err == nil {
		data[len(data)-5] ^= 1
		err = os.WriteFile(name, append(data, data...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := runMain(t, env, "", "import", "runs", "--db-file", "other.db")
	if r.code != 3 || !strings.Contains(r.stdout, "does not match its checksum") {
		t.Errorf("%+v", r)
	}

	runMain(t, env, "", "import").refused(t, 2, "requires at least 1 arg")
	runMain(t, env, "", "import", "runs", "--steps", "some").refused(t, 2, "--steps must be rewind or all")
	runMain(t, env, "", "import", "tensorboard").refused(t, 2, "name the file or folder")
	runMain(t, env, "", "import", "missing").refused(t, 1, "missing")
	runMain(t, env, "", "import", "tracker.db").refused(t, 1, "nothing that can be imported is at tracker.db")
}
