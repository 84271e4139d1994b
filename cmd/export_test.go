package cmd

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store/transfer/parquet"
	"tracker/store/transfertest"
)

// TestExport writes each format and reads it back.
func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	env := []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}
	table := "step,val/loss,odd key?\n0,0.1,1\n1,NaN,2\n3,-inf,0.3333333333333333\n"
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("logs/run <b>1/metrics.csv", table)
	write("logs/run 2/metrics.csv", table)
	runMain(t, env, "", "import", "logs", "--project", "p", "--experiment", "exp").must(t)

	// Points as the importers of the two formats read them back.
	points := func(db string, kinds ...string) []string {
		t.Helper()
		var lines []string
		for line := range strings.Lines(transfertest.Dump(t, db, kinds...)) {
			f := strings.Split(strings.TrimSpace(line), "|")
			lines = append(lines, strings.Join(f[2:5], "|"))
		}
		slices.Sort(lines)
		return lines
	}
	want := points("tracker.db", "point")
	if len(want) != 12 {
		t.Fatalf("%q", want)
	}

	r := runMain(t, env, "", "export", "ml", "--format", "mlflow")
	if r.code != 3 || !strings.Contains(r.stdout, `The metric "odd key?" is named "odd key_"`) {
		t.Errorf("mlflow: %+v", r)
	}
	for _, part := range []string{"metrics", "params", "tags", "artifacts"} { // MLflow finds a run only if all of these folders exist
		if found, err := filepath.Glob("ml/mlruns/*/*/" + part); err != nil || len(found) != 2 {
			t.Errorf("mlflow: %v, %d folders %s", err, len(found), part)
		}
	}
	runMain(t, env, "", "import", "mlflow", "ml", "--db-file", "ml.db").must(t)
	renamed := make([]string, len(want))
	for i, line := range want {
		renamed[i] = strings.Replace(line, "odd key?", "odd key_", 1)
	}
	slices.Sort(renamed)
	if got := points("ml.db", "point"); !slices.Equal(got, renamed) {
		t.Errorf("mlflow: there is %q, and should be %q", got, renamed)
	}
	if runs := transfertest.Dump(t, "ml.db", "run"); !strings.Contains(runs, "|MLflow|p/exp|run <b>1|") {
		t.Errorf("mlflow: %s", runs)
	}

	r = runMain(t, env, "", "export", "tb", "--format", "tensorboard")
	if r.code != 3 || !strings.Contains(r.stdout, "rounded to 32 bits") {
		t.Errorf("tensorboard: %+v", r)
	}
	runMain(t, env, "", "import", "tb", "--db-file", "tb.db").must(t)
	series := func(db string) string {
		t.Helper()
		var lines []string
		for line := range strings.Lines(transfertest.Dump(t, db, "series")) {
			lines = append(lines, strings.Join(strings.Split(line, "|")[2:4], "|"))
		}
		slices.Sort(lines)
		return strings.Join(lines, " ")
	}
	if got, want := series("tb.db"), series("tracker.db"); got != want {
		t.Errorf("tensorboard: there is %s, and should be %s", got, want)
	}

	runMain(t, env, "", "export", "tables", "--format", "csv").must(t)
	f, err := os.Open("tables/points.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 13 || !slices.Equal(rows[0], []string{"run_id", "metric", "step", "value", "time"}) {
		t.Errorf("csv: %v, %q", err, rows)
	}
	values := map[string]bool{}
	for _, row := range rows[1:] {
		values[row[3]] = true
	}
	for _, v := range []string{"0.1", "NaN", "-inf", "0.3333333333333333"} {
		if !values[v] {
			t.Errorf("csv: there is no value %s in %v", v, values)
		}
	}

	runMain(t, env, "", "export", "lake", "--format", "parquet").must(t)
	if found, err := filepath.Glob("lake/*.parquet"); err != nil || len(found) != 5 {
		t.Errorf("parquet: %v, %q", err, found)
	}
	if got := parquetPoints(t, "lake/points.parquet"); !slices.Equal(got, csvPoints(rows[1:])) {
		t.Errorf("parquet: there is %q, and should be %q", got, csvPoints(rows[1:]))
	}

	runMain(t, env, "", "export", "page.html").must(t)
	page, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"run &lt;b&gt;1", "val/loss", "<svg ", "default-src 'none'", "odd key?"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("html: %q is not in it", part)
		}
	}
	for _, part := range []string{"http:", "https:", "<script", "<b>1", "ZgotmplZ"} {
		if strings.Contains(string(page), part) {
			t.Errorf("html: %q is in it", part)
		}
	}

	runMain(t, env, "", "export", "page.html").refused(t, 1, "page.html already exists")
	runMain(t, env, "", "export", "out").refused(t, 2, "choose a --format")
	runMain(t, env, "", "export", "out", "--format", "word").refused(t, 2, `unknown format "word"`)
	runMain(t, env, "", "export", "a.zip", "--project", "nobody").refused(t, 1, "no such project")
	runMain(t, env, "", "export", "a.zip", "--experiment", "nobody").refused(t, 1, `no experiment "nobody"`)
	runMain(t, env, "", "export", "a.zip", "--filter", "metric.x < 1").refused(t, 2, "--filter needs --experiment")
	runMain(t, env, "", "export", "a.zip", "--run", "x").refused(t, 1, "no such run")
	if left, err := filepath.Glob("*.partial"); err != nil || len(left) > 0 {
		t.Errorf("%v: left behind: %q", err, left)
	}

	// An archive is imported unchanged.
	runMain(t, env, "", "export", "a.zip", "--experiment", "exp", "--filter", `name = "run 2"`).must(t)
	out := runMain(t, env, "", "import", "a.zip", "--db-file", "a.db").must(t)
	if !strings.Contains(out, "a.zip: archives of tracker export\nFound 1 run: 1 new,") {
		t.Errorf("archive: %s", out)
	}
	runMain(t, env, "", "import", "a.zip", "--project", "x", "--db-file", "a.db").refused(t, 2, "an archive is imported unchanged")
	write("bad.zip", "PK\x03\x04"+strings.Repeat("x", 26)+"manifest.json")
	runMain(t, env, "", "import", "bad.zip", "--db-file", "a.db").refused(t, 1, "The archive can't be imported")
}

// csvPoints returns the rows of points.csv as parquetPoints does.
func csvPoints(rows [][]string) (lines []string) {
	for _, row := range rows {
		lines = append(lines, strings.ReplaceAll(strings.Join(row, "|"), "|-inf|", "|-Inf|"))
	}
	return lines
}

// parquetPoints returns the rows of points.parquet.
func parquetPoints(t *testing.T, path string) (lines []string) {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.Open(in, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	rows := f.Rows(0, 1, 2, 3, 4)
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		var cells []string
		for _, v := range row {
			cells = append(cells, v.String())
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
}
