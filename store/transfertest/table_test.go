package transfertest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"tracker/store/domain"
	"tracker/store/transfer"
	"tracker/store/transfer/table"
	"tracker/store/transfertest"
)

// old sets the modification time of a file far enough in the past that the file counts as complete.
func old(t testing.TB, path string) {
	t.Helper()
	at := time.UnixMilli(int64(t0))
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestTables(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		o          transfer.Options
		want       string // points, each with key, step, value and time
		lost       int
	}{
		"Lightning": {"metrics.csv", "epoch,step,train_loss,val_loss\n0,9,0.5,\n0,9,,0.25\n1,19,inf,NaN\n", transfer.Options{},
			"epoch 9 0 t0, epoch 9 0 t0, epoch 19 1 t0, train_loss 9 0.5 t0, train_loss 19 +Inf t0, val_loss 9 0.25 t0, val_loss 19 NaN t0", 0},
		"Keras": {"training.csv", "epoch,accuracy,lr\n0,0.5,NA\n1,0.75,0.1", transfer.Options{},
			"accuracy 0 0.5 t0, accuracy 1 0.75 t0, lr 1 0.1 t0", 0},
		"TensorBoard": {"run.csv", "Wall time,Step,Value\n1700000001.5,0,1\n1700000002.5,10,2\n", transfer.Options{},
			"Value 0 1 1700000001500, Value 10 2 1700000002500", 0},
		"chosen columns": {"x.csv", "when,n,loss,time\n2023-11-14T22:13:21Z,5,0.5,12.5\n", transfer.Options{Step: "n", Time: "when"},
			"loss 5 0.5 1700000001000, time 5 12.5 t0+1s", 0},
		"without steps": {"x.tsv", "\uFEFFloss\tnote\n0.5\thello\n0.25\tworld\n", transfer.Options{}, "loss 0 0.5 t0, loss 1 0.25 t0", 1},
		"ragged":        {"x.csv", "step,a,b\n1,2\n2,3,4,5\n3,,6\nx,1,1\n1.5,1,1\n", transfer.Options{}, "a 1 2 t0, b 3 6 t0", 3},
		"lines": {"log.jsonl", "{\"step\": 1, \"loss\": NaN, \"val\": {\"acc\": 1}}\n\nnot json\n{\"step\": 2, \"loss\": -Infinity, \"_timestamp\": 1700000003}\n", transfer.Options{},
			"loss 1 NaN t0, loss 2 -Inf 1700000003000, val/acc 1 1 t0", 1},
		"Hugging Face": {"trainer_state.json", `{"best_metric": NaN, "global_step": 20, "max_steps": 20, "num_train_epochs": 2,
			"log_history": [{"epoch": 1.0, "loss": 0.5, "step": 10}, {"epoch": 2.0, "eval_loss": 0.25, "step": 20}]}`, transfer.Options{},
			"epoch 10 1 t0, epoch 20 2 t0, eval_loss 20 0.25 t0, loss 10 0.5 t0", 0},
		"a quoted header with a mark": {"x.csv", "\uFEFF\"step\",\"loss\"\n1,0.5\n", transfer.Options{}, "loss 1 0.5 t0", 0},
		"semicolons":                  {"x.csv", "step;loss;a,b\n1;0,5;1e-3\n2;-,25;3\n", transfer.Options{}, "a,b 1 0.001 t0, a,b 2 3 t0, loss 1 0.5 t0, loss 2 -0.25 t0", 0},
		"tabs":                        {"x.csv", "\"step\"\t\"a;b\"\n1\t0.5\n", transfer.Options{}, "a;b 1 0.5 t0", 0},
		"UTF-16":                      {"x.csv", utf16Of("step,größe\n1,0.5\n2,NaN\n", true), transfer.Options{}, "größe 1 0.5 t0, größe 2 NaN t0", 0},
		"UTF-16, big endian":          {"x.jsonl", utf16Of("{\"step\": 1, \"a\": 2}\n", false), transfer.Options{}, "a 1 2 t0", 0},
		"UTF-16 without a mark":       {"x.csv", utf16Of("step,a\n1,2\n", true)[2:], transfer.Options{}, "", 1},
		"empty steps":                 {"x.csv", "epoch,step,a\n0,,1\n0,5,2\n0,,\n\n", transfer.Options{}, "a 5 2 t0, epoch 5 0 t0", 2},
		"empty steps of lines":        {"x.jsonl", "{\"step\": 1, \"a\": 2}\n{\"a\": 3}\n", transfer.Options{}, "a 1 2 t0", 1},
		"Keras' log":                  {"training.log", "epoch,accuracy,loss\n0,0.5,1\n1,NA,0.5\n", transfer.Options{}, "accuracy 0 0.5 t0, loss 0 1 t0, loss 1 0.5 t0", 0},
		"times of pandas":             {"x.csv", "time,step,a\n2023-11-14 22:13:21Z,0,1\n2023-11-14 22:13:22.5+00:00,1,2\n", transfer.Options{}, "a 0 1 1700000001000, a 1 2 1700000002500", 0},
		"W&B's images":                {"x.csv", "step,img.path,img._type,img.width,imgs,a_type\n0,x.png,image-file,5,1,2\n", transfer.Options{}, "a_type 0 2 t0, imgs 0 1 t0", 1},
		"W&B's images in lines": {"x.jsonl", `{"_step": 0, "a": {"img": {"_type": "image-file", "width": 5}, "b": 1}, "t": {"_type": "table-file", "nrows": 2}}` + "\n", transfer.Options{},
			"a/b 0 1 t0", 2},
		"large steps": {"x.csv", "step,a\n9007199254740993,1\n", transfer.Options{}, "a 9007199254740993 1 t0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			write(t, path, []byte(test.text))
			old(t, path)
			db, file := transfertest.Open(t)
			r := transfertest.Import(t, db, table.Kind(), path, test.o)
			var got []string
			for line := range strings.Lines(transfertest.Dump(t, file, "point")) {
				f := strings.Split(strings.TrimSpace(line), "|")
				got = append(got, strings.Join(f[2:], " "))
			}
			want := strings.NewReplacer("t0+1s", fmt.Sprint(int64(t0)+1000), "t0", fmt.Sprint(int64(t0))).Replace(test.want)
			if strings.Join(got, ", ") != want || r.Lost != test.lost {
				t.Errorf("got  %s\nwant %s\n%+v", strings.Join(got, ", "), want, r.Losses)
			}
			before := transfertest.Dump(t, file)
			if again := transfertest.Import(t, db, table.Kind(), path, test.o); again.Points != 0 || transfertest.Dump(t, file) != before {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// utf16Of returns text in UTF-16 with a byte-order mark.
func utf16Of(text string, little bool) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
		if little {
			out = binary.LittleEndian.AppendUint16(out, unit)
		} else {
			out = binary.BigEndian.AppendUint16(out, unit)
		}
	}
	return string(out)
}

// TestNoSuchColumn checks that if a table does not have a chosen column, the import returns an
// error that lists the columns of the table, and imports nothing.
func TestNoSuchColumn(t *testing.T) {
	for name, text := range map[string]string{"metrics.csv": "step,loss\n1,2\n", "metrics.jsonl": "{\"step\": 1}\n{\"loss\": 2}\n"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a", "metrics.csv"), []byte("iter,loss\n1,2\n"))
		write(t, filepath.Join(dir, "b", name), []byte(text))
		db, file := transfertest.Open(t)
		for _, o := range []transfer.Options{{Step: "iter"}, {Time: "iter"}} {
			_, err := transfertest.Run(t, db.Imports.Sink(domain.System), table.Kind(), dir, o)
			if err == nil || !strings.Contains(err.Error(), `no column "iter"`) || !strings.Contains(err.Error(), "columns are step, loss") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := transfertest.Dump(t, file); got != "" {
			t.Errorf("%s was imported", got)
		}
		if r := transfertest.Import(t, db, table.Kind(), dir, transfer.Options{Step: "iter", Only: []string{"a"}}); r.Points != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// TestHparams checks that the parameters of a table's run are read from Lightning's hparams.yaml in
// the same folder, even if that file is created later.
func TestHparams(t *testing.T) {
	dir := t.TempDir()
	db, file := transfertest.Open(t)
	for _, version := range []string{"version_0", "version_1"} {
		write(t, filepath.Join(dir, version, "metrics.csv"), []byte("step,loss\n1,2\n"))
		old(t, filepath.Join(dir, version, "metrics.csv"))
	}
	hparams := filepath.Join(dir, "version_1", "hparams.yaml")
	write(t, filepath.Join(dir, "version_0", "hparams.yaml"), []byte("lr: 0.1\nbetas: !!python/tuple\n- 0.9\nnet:\n  depth: 3\n"))
	r := transfertest.Import(t, db, table.Kind(), dir, transfer.Options{})
	if r.Created != 2 || r.Parameters != 3 || r.Lost != 0 {
		t.Errorf("%+v", r)
	}
	write(t, hparams, []byte("lr: 0.2\n"))
	r = transfertest.Import(t, db, table.Kind(), dir, transfer.Options{})
	if r.Found != 2 || r.Grown != 1 || r.Unchanged != 1 || r.Parameters != 1 || r.Points != 0 {
		t.Errorf("%+v", r)
	}
	want := "param|version_0|betas|[0.9]\nparam|version_0|lr|0.1\nparam|version_0|net/depth|3\nparam|version_1|lr|0.2\n"
	got := strings.Split(strings.TrimSpace(transfertest.Dump(t, file, "param")), "\n")
	slices.Sort(got)
	if strings.Join(got, "\n")+"\n" != want {
		t.Errorf("got %q", got)
	}
	if r = transfertest.Import(t, db, table.Kind(), dir, transfer.Options{}); r.Unchanged != 2 || r.Parameters != 0 {
		t.Errorf("%+v", r)
	}
	write(t, hparams, []byte("lr: [\n"))
	if r = transfertest.Import(t, db, table.Kind(), dir, transfer.Options{}); r.Lost != 1 || r.Losses[0].Path != hparams {
		t.Errorf("%+v", r)
	}
	checked(t, db)
}

// TestHalfRowUTF16 checks that an incomplete row in UTF-16 is left for the next import.
func TestHalfRowUTF16(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.csv")
	db, file := transfertest.Open(t)
	all := utf16Of("step,loss\n1,2\n\u0a01,3\n2,25\n", true)
	for _, size := range []int{len(all) - 4, len(all) - 2, len(all) - 1, len(all)} {
		write(t, path, []byte(all[:size]))
		transfertest.Import(t, db, table.Kind(), path, transfer.Options{})
	}
	if got := transfertest.Dump(t, file, "point"); !strings.HasSuffix(got, "|loss|2|25|"+got[strings.LastIndexByte(got, '|')+1:]) || strings.Count(got, "\n") != 2 {
		t.Errorf("got\n%s", got)
	}
}

// TestTableGrows checks that the points of new rows are added, and that the points of a rewritten
// table replace the earlier points.
func TestTableGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "version_0", "metrics.csv")
	db, file := transfertest.Open(t)
	for _, test := range []struct{ text, want string }{
		{"step,loss\n0,1\n1,0.5\n2,0.2", "2 0.5 1"}, // the last row might be incomplete
		{"step,loss\n0,1\n1,0.5\n2,0.25\n", "3 0.25 2"},
		{"acc,loss,step\n,1,0\n,0.5,1\n,0.25,2\n0.9,0.125,3\n", "4 0.125 3"}, // Lightning writes a new header
		{"step,loss\n0,8\n", "1 8 0"},
	} {
		write(t, path, []byte(test.text))
		transfertest.Import(t, db, table.Kind(), filepath.Dir(filepath.Dir(path)), transfer.Options{})
		got := ""
		for line := range strings.Lines(transfertest.Dump(t, file, "series")) {
			if f := strings.Split(line, "|"); f[1] == "version_0" && f[2] == "loss" {
				got = strings.Join(f[3:6], " ")
			}
		}
		if got != test.want {
			t.Errorf("after %q loss is %s, want %s", test.text, got, test.want)
		}
	}
	checked(t, db)
}

// TestCheckpoints checks that a training is imported as one run, from the state of its last
// checkpoint.
func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	text := func(steps int) []byte {
		var rows []string
		for s := 1; s <= steps; s++ {
			rows = append(rows, fmt.Sprintf(`{"loss": %d, "step": %d}`, s, s))
		}
		return []byte(`{"log_history": [` + strings.Join(rows, ",") + `]}`)
	}
	write(t, filepath.Join(dir, "out", "checkpoint-500", "trainer_state.json"), text(5))
	db, file := transfertest.Open(t)
	transfertest.Import(t, db, table.Kind(), dir, transfer.Options{})
	write(t, filepath.Join(dir, "out", "checkpoint-1000", "trainer_state.json"), text(10))
	r := transfertest.Import(t, db, table.Kind(), dir, transfer.Options{})
	if got := strings.TrimSpace(transfertest.Dump(t, file, "series")); got != "series|out|loss|10|10|10|1|10" || r.Found != 1 {
		t.Errorf("%s, %+v", got, r)
	}
}

func TestTableStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.csv")
	text := "step,a,b,c\n"
	for i := range 25_000 {
		text += fmt.Sprintf("%d,%d,0.5,\n", i, i)
	}
	write(t, path, []byte(text))
	old(t, path)
	db, file := transfertest.Open(t)
	transfertest.Import(t, db, table.Kind(), path, transfer.Options{})
	stopAnywhere(t, table.Kind(), path, transfertest.Dump(t, file), 2)
}

func TestAmbiguous(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "metrics.csv"), []byte("step,a\n1,2\n"))
	first := transfer.Kind{Name: "other", Find: table.Kind().Find}
	_, _, err := transfer.Detect([]transfer.Kind{first, table.Kind()}, "", dir)
	if err == nil || !strings.HasSuffix(err.Error(), "can be read as other and as table; name the kind") {
		t.Errorf("%v", err)
	}
	if k, _, err := transfer.Detect([]transfer.Kind{first, table.Kind()}, "table", dir); err != nil || k.Name != "table" {
		t.Errorf("%v, %v", k, err)
	}
	if _, _, err := transfer.Detect([]transfer.Kind{table.Kind()}, "", filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestChart checks that each run in a chart exported by W&B is imported as a run, and that the
// points of a newer export of the chart replace the earlier points.
func TestChart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wandb_export.csv")
	const head = `"Step","a - b - val/loss","a - b - val/loss__MIN","a - b - val/loss__MAX","ы - val/loss","ы - val/loss__MIN","ы - val/loss__MAX","ы - _step","ы - _step__MIN","ы - _step__MAX"` + "\n"
	write(t, path, []byte(head+`"0","0.5","0.5","0.5","1","1","1","0","0","0"`+"\n"+`"10","NaN","NaN","NaN","","","","10","10","10"`+"\n0.5,1,1,1,1,1,1,1,1,1\n"))
	old(t, path)
	db, file := transfertest.Open(t)
	r := transfertest.Import(t, db, table.Kind(), path, transfer.Options{})
	points := func() string {
		var got []string
		for line := range strings.Lines(transfertest.Dump(t, file, "point")) {
			got = append(got, strings.Join(strings.Split(strings.TrimSpace(line), "|")[1:5], " "))
		}
		slices.Sort(got)
		return strings.Join(got, ", ")
	}
	if got := points(); got != "a - b val/loss 0 0.5, a - b val/loss 10 NaN, ы val/loss 0 1" || r.Found != 2 || r.Lost != 1 {
		t.Errorf("%s, %+v", got, r)
	}
	if again := transfertest.Import(t, db, table.Kind(), path, transfer.Options{}); again.Unchanged != 2 {
		t.Errorf("again: %+v", again)
	}
	write(t, path, []byte(head+"0,2,2,2,3,3,3,0,0,0\n"))
	transfertest.Import(t, db, table.Kind(), path, transfer.Options{})
	if got := points(); got != "a - b val/loss 0 2, ы val/loss 0 3" {
		t.Errorf("after the second export: %s", got)
	}
	checked(t, db)
}

// TestTableOfRuns checks that each row of W&B's table of runs is imported as a run, and that a
// newer export in a file with a different name updates the runs whose rows changed.
func TestTableOfRuns(t *testing.T) {
	dir := t.TempDir()
	const header = `"Name","State","Notes","User","Tags","Created","Runtime","Sweep","batch_size","config.lr","optimizer","accuracy","loss"` + "\n"
	const first = `"fast ü","finished","a note","ann","one, two","2023-11-14T22:13:20.000Z","60","abc","32","0.1","adam","0.9","NaN"` + "\n"
	path := filepath.Join(dir, "wandb_export_1.csv")
	write(t, path, []byte(header+first+
		`"slow","crashed","-","ann","","2023-11-14T22:13:21.000Z","5","","64","0.2","","",""`+"\n"+
		`"odd","sleeping","","bob","","yesterday","","","","","","1",""`+"\n"))
	db, file := transfertest.Open(t)
	r := transfertest.Import(t, db, table.Kind(), path, transfer.Options{})
	got := transfertest.Dump(t, file, "run", "param", "tag", "property", "point")
	for _, part := range []string{
		"|Tables|wandb_export_1|fast ü|", "|SUCCEEDED||a note|1700000000000|1700000060000|-\n", "|FAILED||-|1700000001000|1700000006000|-\n",
		"param|fast ü|lr|0.1\n", "param|fast ü|optimizer|adam\n", "tag|fast ü|one\n", "tag|fast ü|two\n", "tag|fast ü|sweep=abc\n",
		"property|fast ü|user|ann\n", "point|fast ü|batch_size|0|32|1700000060000\n", "point|fast ü|loss|0|NaN|1700000060000\n",
		"point|slow|batch_size|0|64|1700000006000\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("there is no %q in\n%s", part, got)
		}
	}
	if r.Found != 3 || r.Created != 3 || r.Lost != 2 {
		t.Errorf("%+v", r)
	}
	write(t, filepath.Join(dir, "wandb_export_2.csv"), []byte(header+strings.Replace(first, "0.9", "0.95", 1)))
	r = transfertest.Import(t, db, table.Kind(), filepath.Join(dir, "wandb_export_2.csv"), transfer.Options{})
	got = transfertest.Dump(t, file, "point")
	if r.Grown != 1 || !strings.Contains(got, "point|fast ü|accuracy|0|0.95|") || strings.Contains(got, "|0.9|") {
		t.Errorf("%+v\n%s", r, got)
	}
	if r = transfertest.Import(t, db, table.Kind(), path, transfer.Options{}); r.Unchanged != 2 {
		t.Errorf("again: %+v", r)
	}
	checked(t, db)
}
