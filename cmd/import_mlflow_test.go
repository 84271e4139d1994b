package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mlruns writes an MLflow file store with a run, a deleted run and a model version.
func mlruns(t *testing.T, dir string) {
	t.Helper()
	const run, gone = "0123456789abcdef0123456789abcdef", "1123456789abcdef0123456789abcdef"
	for name, text := range map[string]string{
		"1/meta.yaml":                           "experiment_id: '1'\nname: e\n",
		"1/" + run + "/meta.yaml":               "run_id: " + run + "\nrun_name: r\nstatus: 3\nstart_time: 5\nartifact_uri: mlflow-artifacts:/1/" + run + "/artifacts\n",
		"1/" + gone + "/meta.yaml":              "run_id: " + gone + "\nrun_name: gone\nstatus: 3\nstart_time: 5\nlifecycle_stage: deleted\n",
		"models/net/meta.yaml":                  "name: net\ncreation_timestamp: 5\n",
		"models/net/version-1/meta.yaml":        "version: 1\nsource: s\ncreation_timestamp: 5\n",
		"../kept/1/" + run + "/artifacts/a.txt": "a",
	} {
		path := filepath.Join(dir, "mlruns", filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Records that an import of an MLflow store omits are listed with the flags that would include
// them, and the exit code is 3.
func TestImportMLflow(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	mlruns(t, dir)
	env := []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}
	r := runMain(t, env, "", "import", "mlruns")
	if r.code != 3 || !strings.Contains(r.stdout, "MLflow has deleted 1 run, which is left out; --deleted imports") || !strings.Contains(r.stdout, "with --mlflow-artifacts") {
		t.Errorf("%+v", r)
	}
	out := runMain(t, env, "", "import", "mlruns", "--deleted", "--mlflow-artifacts", "kept").must(t)
	if !strings.Contains(out, "Found 2 runs: 1 new, 1 with something new, 0 unchanged") || !strings.Contains(out, "1 artifact (1 B)") {
		t.Errorf("%s", out)
	}
	if out := runMain(t, env, "", "trash").must(t); !strings.Contains(out, "gone") {
		t.Errorf("the trash has %s", out)
	}
	r = runMain(t, env, "", "import", "mlruns", "--deleted", "--mlflow-artifacts", "kept", "--project", "other")
	if r.code != 3 || !strings.Contains(r.stdout, `1 run was imported before, into the project "MLflow"`) || strings.Contains(r.stdout, "Imported 1 logged model") ||
		!strings.Contains(r.stdout, `The registered model "net" was imported before, into the project "MLflow"`) {
		t.Errorf("into another project: %+v", r)
	}
	runMain(t, env, "", "export", "all.zip").must(t) // the only project is the default
	runMain(t, env, "", "import", "mlruns", "--mlflow-artifacts", "missing").refused(t, 1, "--mlflow-artifacts must name the folder")
	runMain(t, env, "", "import", "mlruns", "--deleted", "--url", "http://127.0.0.1:1").refused(t, 2, "--deleted is for a local database")
}
