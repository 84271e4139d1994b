//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
)

// Versions of models of the same name in two stores arrive at a server elsewhere, too.
func TestImportTwoMLflowStoresIntoServer(t *testing.T) {
	l := startLab(t)
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	for n, store := range []string{"a", "b"} {
		run := fmt.Sprintf("%032x", n+1)
		for name, text := range map[string]string{
			"1/meta.yaml":                    "experiment_id: '1'\nname: e\n",
			"1/" + run + "/meta.yaml":        "run_id: '" + run + "'\nrun_name: r\nstatus: 3\nstart_time: 5\n",
			"models/net/meta.yaml":           fmt.Sprintf("name: net\ncreation_timestamp: %d\n", n+5),
			"models/net/version-1/meta.yaml": fmt.Sprintf("version: 1\nsource: s\nrun_id: '%s'\ncreation_timestamp: %d\n", run, n+5),
		} {
			path := filepath.Join(store, "mlruns", filepath.FromSlash(name))
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if err == nil {
				err = os.WriteFile(path, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	bring := func(store string, code int) {
		t.Helper()
		r := runMain(t, l.env, "", "import", store, "--project", "iris", "--json", "--url", l.API)
		var result transfer.Result
		if err := json.Unmarshal([]byte(r.stdout), &result); err != nil || r.code != code {
			t.Errorf("%s: %v: %+v", store, err, r)
		}
	}
	bring("a", 0)
	bring("b", 3) // one version has another number
	bring("b", 0)
	bring("a", 0)
	_, projects := l.call("GET", "/project", "", "")
	project := projects["data"].([]any)[0].(map[string]any)["id"].(string)
	_, models := l.call("GET", "/model/project/"+project, "", "")
	var numbers []any
	for _, m := range models["data"].([]any) {
		if m := m.(map[string]any); m["name"] == "net" {
			_, versions := l.call("GET", "/modelversion/model/"+m["id"].(string), "", "")
			for _, v := range versions["data"].([]any) {
				numbers = append(numbers, v.(map[string]any)["version"])
			}
		}
	}
	if fmt.Sprint(numbers) != "[2 1]" && fmt.Sprint(numbers) != "[1 2]" {
		t.Errorf("the versions are %v", numbers)
	}
}
