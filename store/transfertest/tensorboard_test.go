package transfertest_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfertest"
)

const t0 = transfer.Time(1_700_000_000_000)

// events returns an event file with a point of the metric loss for each step from first to end-1.
// The value of a point is its step times factor.
func events(t testing.TB, at transfer.Time, first, end int, factor float64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := tensorboard.NewWriter(&b, at)
	for step := first; step < end && err == nil; step++ {
		err = w.Scalar("loss", transfer.Step(step), float64(step)*factor, at+transfer.Time(step))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// points returns the series records of a database, which contain the number of points and the last
// point.
func points(t testing.TB, path string) string {
	t.Helper()
	return strings.TrimSpace(transfertest.Dump(t, path, "series"))
}

func TestTensorBoard(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	write(t, filepath.Join(logs, "a", "events.out.tfevents.1"), events(t, t0, 0, 3, 0.5))
	write(t, filepath.Join(logs, "b", "c", "events.out.tfevents.1"), events(t, t0+1, 0, 1, 1))
	write(t, filepath.Join(logs, "notes.txt"), []byte("not one"))
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
	if r.Found != 2 || r.Created != 2 || r.Points != 4 || r.Lost != 0 {
		t.Errorf("%+v", r)
	}
	got := transfertest.Dump(t, path, "point")
	want := "point|a|loss|0|0|1700000000000\npoint|a|loss|1|0.5|1700000000001\npoint|a|loss|2|1|1700000000002\npoint|b/c|loss|0|0|1700000000001\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(strings.TrimSpace(transfertest.Dump(t, path, "run")), "\n") {
		if !strings.HasPrefix(line, "run|TensorBoard|logs|") || !strings.Contains(line, "|RUNNING|||170000000000") {
			t.Errorf("the run is %s", line)
		}
	}
	before := transfertest.Dump(t, path)
	r = transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
	if r.Unchanged != 2 || r.Points != 0 || transfertest.Dump(t, path) != before {
		t.Errorf("a second import: %+v", r)
	}
}

// TestTensorBoardGrowing checks that a file that has grown is read from its former end, even if
// that end was in the middle of a record or the folder was moved.
func TestTensorBoardGrowing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "one", "events.out.tfevents.1")
	all := events(t, t0, 0, 100, 1)
	db, path := transfertest.Open(t)
	for size := 60; size < len(all); size += 333 {
		write(t, name, all[:size])
		transfertest.Import(t, db, tensorboard.Kind(), filepath.Dir(name), transfer.Options{})
	}
	if err := os.Rename(filepath.Join(dir, "one"), filepath.Join(dir, "two")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "two", "events.out.tfevents.1"), all)
	r := transfertest.Import(t, db, tensorboard.Kind(), filepath.Join(dir, "two"), transfer.Options{})
	if r.Grown != 1 || r.Lost != 0 {
		t.Errorf("%+v", r)
	}
	if got := points(t, path); got != "series|one|loss|100|99|99|0|99" {
		t.Errorf("the series is %s", got)
	}
}

// TestTensorBoardRewind checks that if a restarted program repeats steps in a new file, the new
// points replace the former points. An earlier step within the same file replaces nothing.
func TestTensorBoardRewind(t *testing.T) {
	logs := t.TempDir()
	write(t, filepath.Join(logs, "events.out.tfevents.1"), append(events(t, t0, 0, 30, 1), events(t, t0+50, 3, 5, 1)...))
	write(t, filepath.Join(logs, "events.out.tfevents.2"), events(t, t0+100, 20, 40, -1))
	for _, test := range []struct {
		all  bool
		want string
	}{{false, "loss|42|-39|39|-39|19"}, {true, "loss|52|-39|39|-39|29"}} {
		db, path := transfertest.Open(t)
		r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{KeepAll: test.all, Name: "run"})
		if got := points(t, path); got != "series|run|"+test.want {
			t.Errorf("all %v: the series is %s, want %s", test.all, got, test.want)
		}
		if (r.Dropped == 10) == test.all {
			t.Errorf("all %v: %+v", test.all, r)
		}
		checked(t, db)
	}
	// Import the files one after the other, so that the former points are in the database.
	db, path := transfertest.Open(t)
	second := filepath.Join(logs, "events.out.tfevents.2")
	data, err := os.ReadFile(second)
	if err == nil {
		err = os.Remove(second)
	}
	if err != nil {
		t.Fatal(err)
	}
	transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{Name: "run"})
	write(t, second, data)
	transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
	if got := points(t, path); got != "series|run|loss|42|-39|39|-39|19" {
		t.Errorf("the series is %s", got)
	}
	checked(t, db)
}

// checked fails the test if the database has a problem.
func checked(t testing.TB, db *store.DB) {
	t.Helper()
	found, err := db.Check(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		t.Errorf("%+v", p)
	}
}

func TestTensorBoardTruncated(t *testing.T) {
	logs := t.TempDir()
	name := filepath.Join(logs, "events.out.tfevents.1")
	all := events(t, t0, 0, 100, 1)
	write(t, name, all)
	db, path := transfertest.Open(t)
	transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{Name: "run"})
	write(t, name, all[:len(all)/2])
	r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
	if r.Lost != 1 || !strings.Contains(r.Losses[0].Reason, "truncated") {
		t.Errorf("%+v", r)
	}
	if got := points(t, path); got != "series|run|loss|49|48|48|0|48" {
		t.Errorf("the series is %s", got)
	}
}

func TestTensorBoardDamaged(t *testing.T) {
	good := events(t, t0, 0, 10, 1)
	second := 16 + int(good[0]) // offset of the second record
	for name, test := range map[string]struct {
		data   []byte
		points int
		reason string
	}{
		"data":   {flip(good, len(good)-5), 9, "does not match its checksum"},
		"length": {flip(good, second), 0, "length of a record"},
		"half":   {good[:len(good)-3], 9, ""},
		"not a valid protocol buffers message": {tensorboard.AppendRecord(bytes.Clone(good), []byte{0xff}), 10,
			"not a valid protocol buffers message"},
		"a time that is none": {tensorboard.AppendRecord(bytes.Clone(good), protowire.AppendBytes(
			append(protowire.AppendFixed64([]byte{9}, math.Float64bits(math.NaN())), 0x2a), []byte{0x0a, 0})), 10, "is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			logs := t.TempDir()
			write(t, filepath.Join(logs, "events.out.tfevents.1"), test.data)
			db, _ := transfertest.Open(t)
			r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
			if r.Points != test.points {
				t.Errorf("%d points, want %d", r.Points, test.points)
			}
			if test.reason == "" && r.Lost != 0 || test.reason != "" && (r.Lost != 1 || !strings.Contains(r.Losses[0].Reason, test.reason)) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 0x10
	return data
}

// TestTensorBoardStopped interrupts an import before or after each of its writes. After a second
// import, the result must be the same as without an interruption.
func TestTensorBoardStopped(t *testing.T) {
	logs := t.TempDir()
	var b bytes.Buffer
	w, err := tensorboard.NewWriter(&b, t0)
	for step := range 12_000 {
		for _, tag := range []string{"loss", "accuracy", "learning/rate"} {
			err = errors.Join(err, w.Scalar(tag, transfer.Step(step), float64(step), t0+transfer.Time(step)))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(logs, "a", "events.out.tfevents.1"), b.Bytes())
	write(t, filepath.Join(logs, "a", "events.out.tfevents.2"), events(t, t0+1, 100, 25_000, 2))
	write(t, filepath.Join(logs, "b", "events.out.tfevents.1"), events(t, t0+2, 0, 10, 2))
	db, path := transfertest.Open(t)
	transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
	want := transfertest.Dump(t, path)
	stopAnywhere(t, tensorboard.Kind(), logs, want, 2)
}

// TestDeletedHere checks that a run that was deleted in tracker is not imported again, whether it
// is in the trash or purged. New data of other runs is imported. After the project is deleted, a
// new run is imported into a new project.
func TestDeletedHere(t *testing.T) {
	for _, age := range []time.Duration{0, time.Hour} {
		t.Run(age.String(), func(t *testing.T) {
			logs := t.TempDir()
			for i := range 2 {
				write(t, filepath.Join(logs, fmt.Sprint(i), "events.out.tfevents.1"), events(t, t0+transfer.Time(i), 0, 3, 1))
			}
			db, path := transfertest.OpenWith(t, store.Options{TrashAge: age})
			transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
			ids := map[string]string{}
			for line := range strings.Lines(transfertest.Dump(t, path, "run")) {
				f := strings.Split(line, "|")
				ids[f[3]] = f[4]
			}
			if err := db.Runs.DeleteIteration(t.Context(), domain.System, ids["0"]); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(logs, "0", "events.out.tfevents.1"), events(t, t0, 0, 9, 1))
			r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
			if r.LeftOut != 1 || r.Unchanged != 1 || r.Lost != 1 || r.Points != 0 {
				t.Errorf("%+v", r)
			}
			if err := db.Projects.DeleteProject(t.Context(), domain.System, transfer.ID("project", "TensorBoard").String()); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(logs, "2", "events.out.tfevents.1"), events(t, t0+2, 0, 3, 1))
			r = transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
			if r.LeftOut != 2 || r.Created != 1 || r.Points != 3 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestOnlyAndDryRun(t *testing.T) {
	logs := t.TempDir()
	for i, name := range []string{"resnet18", "resnet50", "vit"} {
		write(t, filepath.Join(logs, name, "events.out.tfevents.1"), events(t, t0+transfer.Time(i), 0, 3, 1))
	}
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{DryRun: true, Only: []string{"resnet*"}})
	if r.Created != 2 || r.Points != 6 || transfertest.Dump(t, path) != "" {
		t.Errorf("%+v", r)
	}
	r = transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{Only: []string{"resnet*"}, Project: "vision", Experiment: "cnn"})
	if got := transfertest.Dump(t, path, "run"); r.Created != 2 || strings.Count(got, "run|vision|cnn|resnet") != 2 {
		t.Errorf("%+v\n%s", r, got)
	}
}

// TestLink checks that a link out of the folder is not followed.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "elsewhere", "events.out.tfevents.1"), events(t, t0, 0, 3, 1))
	write(t, filepath.Join(dir, "logs", "a", "events.out.tfevents.1"), events(t, t0+1, 0, 3, 1))
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "logs", "b")); err != nil {
		t.Fatal(err)
	}
	db, _ := transfertest.Open(t)
	r := transfertest.Import(t, db, tensorboard.Kind(), filepath.Join(dir, "logs"), transfer.Options{})
	if r.Found != 1 || r.Lost != 1 || !strings.Contains(r.Losses[0].Reason, "link") {
		t.Errorf("%+v", r)
	}
}
