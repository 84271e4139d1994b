//go:build reallibs

package transfertest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/transfer"
	"tracker/store/transfer/mlflow"
	"tracker/store/transfertest"
)

// mlflowRun is a run as returned by MLflow's client.
type mlflowRun struct {
	ID, Name, Experiment, Status string
	Start                        int64
	End                          *int64
	Deleted                      bool
	Params, Tags                 map[string]string
	Points                       [][]any
}

// TestRealMLflow checks that both kinds of MLflow stores are imported with all data that MLflow's
// client returns, even after the stores were moved.
func TestRealMLflow(t *testing.T) {
	dir := t.TempDir()
	var found map[string][]mlflowRun
	if err := json.Unmarshal(transfertest.Python(t, "mlflow_make.py", dir, "db", "folder"), &found); err != nil {
		t.Fatal(err)
	}
	for kind, runs := range found {
		t.Run(kind, func(t *testing.T) {
			moved := filepath.Join(dir, "moved "+kind)
			if err := os.Rename(filepath.Join(dir, kind), moved); err != nil {
				t.Fatal(err)
			}
			db, path := transfertest.OpenWith(t, store.Options{TrashAge: time.Hour})
			r := transfertest.Import(t, db, mlflow.Kind(), moved, transfer.Options{Deleted: true})
			if r.Created != len(runs) || len(runs) != 6 || r.Lost != 0 {
				t.Errorf("%d runs: %+v", len(runs), r)
			}
			restoreAll(t, db, "experiment deleted experiment, iteration gone")
			compareMLflow(t, path, runs)
			const models = "logged|net|größe/实验|parent|agent|READY|{\"depth\":\"3\"}|team=vision|sub/w.bin " +
				"9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c|f1 0.75 3|output 0\n" +
				"registered|größe net|the\nmodel|3|owner=ada\n" +
				"version|1|parent|runs:/x/model|ARCHIVED|version 1|-|n=1\n" +
				"version|3|parent|models:/m-…|PRODUCTION|version 3|champion|n=3\n"
			if got := transfertest.Dump(t, path, "logged", "registered", "version"); got != models || r.Models != 3 {
				t.Errorf("the models are\n%s%+v", got, r)
			}
			if got := transfertest.Dump(t, path, "dataset"); got != "dataset|parent|größe|0123|local|src|train\n" {
				t.Errorf("the datasets are %s", got)
			}
			const experiments = "experiment|deleted experiment||new|-|\nexperiment|größe/实验|What it is about|new|owner=ada|\nexperiment|plans||new|when=soon|\n"
			if got := transfertest.Dump(t, path, "experiment"); got != experiments {
				t.Errorf("the experiments are\n%s", got)
			}
			checked(t, db)
			before := transfertest.Dump(t, path)
			again := transfertest.Import(t, db, mlflow.Kind(), moved, transfer.Options{Deleted: true})
			if again.Unchanged != 6 || transfertest.Dump(t, path) != before {
				t.Errorf("again: %+v", again)
			}

			db, _ = transfertest.Open(t)
			r = transfertest.Import(t, db, mlflow.Kind(), moved, transfer.Options{})
			if r.Created != 4 || r.Lost != 1 || !lists(r, "MLflow has deleted 2 runs, which are left out") {
				t.Errorf("without those that were deleted: %+v", r)
			}
		})
	}
}

func compareMLflow(t *testing.T, path string, runs []mlflowRun) {
	t.Helper()
	status := map[string]string{"FINISHED": "SUCCEEDED"}
	var want []string
	names := map[string]string{}
	for _, r := range runs {
		names[r.ID] = r.Name
	}
	for _, r := range runs {
		id := r.ID[:8] + "-" + r.ID[8:12] + "-" + r.ID[12:16] + "-" + r.ID[16:20] + "-" + r.ID[20:]
		state, end, parent := r.Status, "-", "-"
		if s := status[state]; s != "" {
			state = s
		}
		if r.End != nil {
			end = fmt.Sprint(*r.End)
		}
		if p := names[r.Tags["mlflow.parentRunId"]]; p != "" {
			parent = p
		}
		want = append(want, fmt.Sprintf("run|MLflow|%s|%s|%s|%s||%s|%d|%s|%s", r.Experiment, r.Name, id, state, r.Tags["mlflow.note.content"], r.Start, end, parent))
		for k, v := range r.Params {
			want = append(want, fmt.Sprintf("param|%s|%s|%s", r.Name, k, v))
		}
		for k, v := range r.Tags {
			switch k {
			case "mlflow.note.content", "mlflow.runName", "mlflow.parentRunId", "mlflow.source.name", "mlflow.source.git.commit":
			default:
				want = append(want, fmt.Sprintf("property|%s|%s|%s", r.Name, k, v))
			}
		}
		if r.Deleted {
			want = append(want, fmt.Sprintf("tag|%s|deleted in MLflow", r.Name))
		}
		for _, p := range r.Points {
			value := number(t, strings.NewReplacer("1.7976931348623157e+308", "inf").Replace(p[2].(string))) // MLflow returns infinity from a database in this form
			want = append(want, fmt.Sprintf("point|%s|%s|%.0f|%s|%.0f", r.Name, p[0], p[1], value, p[3]))
		}
	}
	var got []string
	for line := range strings.Lines(strings.ReplaceAll(transfertest.Dump(t, path, "run", "param", "tag", "property", "point"), "# Notes\nsecond", "# Notes second")) {
		line = strings.TrimSpace(line)
		if f := strings.Split(line, "|"); f[0] == "point" {
			line = strings.Join(append(f[:4], number(t, f[4]), f[5]), "|")
		}
		got = append(got, line)
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "# Notes\nsecond", "# Notes second")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if code := transfertest.Dump(t, path, "code"); code != "code|parent|0123abcd|||train.py||||\n" {
		t.Errorf("the code is %q", code)
	}
	artifacts := transfertest.Dump(t, path, "artifact")
	model := sha256.Sum256(bytes.Repeat(everyByte(), 10))
	for _, part := range []string{"|notes.txt|text/plain",
		"|sub/folder/model.bin|application/octet-stream|" + hex.EncodeToString(model[:]) + "|2560|"} {
		if !strings.Contains(artifacts, part) {
			t.Errorf("%s is not in\n%s", part, artifacts)
		}
	}
	if n := strings.Count(artifacts, "\n"); n != 2 {
		t.Errorf("%d artifacts:\n%s", n, artifacts)
	}
}

// everyByte returns the bytes from 0 to 255.
func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}
