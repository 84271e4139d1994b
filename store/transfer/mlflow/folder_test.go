package mlflow

import (
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
)

func TestArtifactFolder(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	base := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), id, "artifacts")
	for _, dir := range []string{filepath.Join(base, "mlruns", "1", id, "artifacts"), elsewhere, filepath.Join(base, "artifacts"), filepath.Join(base, "secret")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	beside := filepath.Join(base, "mlruns", "1", id, "artifacts")
	for _, test := range []struct {
		id, uri, want string
		problem       bool
	}{
		{id, "/gone/mlruns/1/" + id + "/artifacts", beside, false},
		{id, "file:///gone/mlruns/1/" + id + "/artifacts", beside, false},
		{id, "./mlruns/1/" + id + "/artifacts", beside, false},
		{id, elsewhere, elsewhere, false},
		{id, "/gone/" + id + "/artifacts", "", false},
		{id, "", "", false},
		{id, "s3://bucket/" + id + "/artifacts", "", true},
		{id, "/etc", "", true},
		{id, filepath.Join(base, "artifacts"), "", true},
		{"secret", filepath.Join(base, "secret"), "", true},
		{id, "../../" + id, "", false},
	} {
		got, problem := (&places{folders: []string{base}}).folder(test.uri, test.id, test.id)
		if got != test.want || (problem != "") != test.problem {
			t.Errorf("%q of %s: %q, %q", test.uri, test.id, got, problem)
		}
	}
}

func TestParentsFirst(t *testing.T) {
	child := func(id, parent string) *run {
		return &run{id: id, parent: parent}
	}
	// c is below b, which is below a; x and y are each other's parent.
	ordered := parentsFirst([]*run{child("c", "b"), child("b", "a"), child("x", "y"), child("y", "x"), child("a", ""), child("d", "gone")})
	at := map[string]int{}
	for i, r := range ordered {
		at[r.id] = i
	}
	if len(ordered) != 6 || len(at) != 6 || at["a"] > at["b"] || at["b"] > at["c"] {
		t.Errorf("%v", at)
	}
}

// FuzzFolder imports arbitrary files. The import must terminate. An unreadable file is a loss, not
// an error.
func FuzzFolder(f *testing.F) {
	meta := "experiment_id: '1'\nname: e\nrun_id: 0123456789abcdef0123456789abcdef\nrun_name: r\nstatus: 3\nstart_time: 1700000000000\n"
	f.Add(meta, "1700000000000 0.5 1\n1700000000001 nan 2 data abc\n", "x")
	f.Add(meta, "1700000000000 inf\nx y z\n\n1 2", "\xff")
	f.Add("a: &a [*a]", "", "")
	f.Fuzz(func(t *testing.T, meta, metric, tag string) {
		folder := filepath.Join(t.TempDir(), "1")
		for name, text := range map[string]string{"meta.yaml": "experiment_id: '1'\nname: e\n", "r/meta.yaml": meta, "r/metrics/a/loss": metric,
			"r/tags/mlflow.parentRunId": tag, "r/tags/t": tag, "r/params/p": tag} {
			path := filepath.Join(folder, filepath.FromSlash(name))
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if err == nil {
				err = os.WriteFile(path, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), source{folder: filepath.Dir(folder)}); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}
