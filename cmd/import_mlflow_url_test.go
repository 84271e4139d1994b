//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
)

// Versions of models that have the same name in two stores can be imported into a remote server.
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
	bring("b", 3) // one version gets another number, which counts as a change
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

// TestImportTreesIntoServer imports more runs with parents than fit into one archive, in random
// trees. The ids of the runs are in random order, so many parents are in a later archive than their
// children.
func TestImportTreesIntoServer(t *testing.T) {
	p := startServer(t, t.TempDir(), nil)
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	random := rand.New(rand.NewPCG(7, 11))
	parents := map[string]string{} // parents by name of the child
	var ids []string
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join("mlruns", filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("1/meta.yaml", "experiment_id: '1'\nname: trees\n")
	for i := range 110 {
		id := fmt.Sprintf("%016x%016x", random.Uint64(), i)
		name := fmt.Sprintf("run %d", i)
		write("1/"+id+"/meta.yaml", fmt.Sprintf("run_id: '%s'\nrun_name: %s\nstatus: 3\nstart_time: %d\n", id, name, random.IntN(1000)))
		parents[name] = ""
		if i > 0 && random.IntN(4) > 0 {
			parent := random.IntN(i)
			write("1/"+id+"/tags/mlflow.parentRunId", ids[parent])
			parents[name] = fmt.Sprintf("run %d", parent)
		}
		ids = append(ids, id)
	}
	env := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	bring := func() (result transfer.Result) {
		t.Helper()
		r := runMain(t, env, "", "import", "mlruns", "--project", "forest", "--json", "--url", p.API)
		if err := json.Unmarshal([]byte(r.stdout), &result); err != nil || r.code != 0 {
			t.Fatalf("%v: %+v", err, r)
		}
		return result
	}
	if r := bring(); r.Created != len(ids) {
		t.Errorf("imported: %+v", r)
	}
	check := func() {
		t.Helper()
		_, projects := p.call("GET", "/project?name=forest", "", "")
		project := projects["data"].([]any)[0].(map[string]any)["id"].(string)
		_, experiments := p.call("GET", "/experiment/project/"+project, "", "")
		experiment := experiments["data"].([]any)[0].(map[string]any)["id"].(string)
		_, answer := p.call("GET", "/iteration/experiment/"+experiment+"?limit=1000", "", "")
		names, got := map[any]string{}, map[string]string{}
		for _, r := range answer["data"].([]any) {
			names[r.(map[string]any)["id"]] = r.(map[string]any)["name"].(string)
		}
		for _, r := range answer["data"].([]any) {
			got[r.(map[string]any)["name"].(string)] = names[r.(map[string]any)["parent_iteration_id"]]
		}
		if !maps.Equal(got, parents) {
			t.Errorf("the parents are %v, want %v", got, parents)
		}
	}
	check()
	if r := bring(); r.Unchanged != len(ids) || r.Created+r.Grown != 0 {
		t.Errorf("imported again: %+v", r)
	}
	check()
}
