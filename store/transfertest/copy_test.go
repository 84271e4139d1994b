package transfertest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfertest"
)

const eventName = "events.out.tfevents.1"

// seriesOf returns the name, the number of points and the last value of each run.
func seriesOf(t testing.TB, path string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(transfertest.Dump(t, path, "series")) {
		f := strings.Split(line, "|")
		all = append(all, f[1]+" "+f[3]+" "+f[4])
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestTensorBoardCopies checks that only the longest copy of a run is imported, regardless of the
// order. If the files in a folder are not the beginnings of the files in another folder, the folder
// is a separate run with all its files.
func TestTensorBoardCopies(t *testing.T) {
	all := events(t, t0, 0, 100, 1)
	part := events(t, t0, 0, 40, 1)
	fork := slices.Concat(part, events(t, t0+9, 40, 60, -1)[16+int(all[0]):])
	second := events(t, t0+500, 100, 130, 1)
	for name, test := range map[string]struct {
		files  map[string][]byte
		want   string
		copies []string
	}{
		"a stale copy that comes first": {
			map[string][]byte{"backup/r/1": part, "r/1": all}, "r 100 99", []string{"backup/r"}},
		"a stale copy that comes last": {
			map[string][]byte{"r/1": all, "z/1": part}, "r 100 99", []string{"z"}},
		"equal files": {
			map[string][]byte{"r/1": all, "s/1": all, "t/1": all}, "r 100 99", []string{"s", "t"}},
		"trained on in another file": {
			map[string][]byte{"a/1": all, "b/1": all, "b/2": second}, "a 100 99, b 130 129", nil},
		"trained on in the same file, each in its own way": {
			map[string][]byte{"a/1": fork, "b/1": all}, "a 60 -59, b 100 99", nil},
		"a fork and its beginning": {
			map[string][]byte{"a/1": part, "b/1": all, "c/1": fork}, "b 100 99, c 60 -59", []string{"a"}},
		"copies of a run with two files": {
			map[string][]byte{"a/1": all, "a/2": second[:len(second)-5], "b/1": all, "b/2": second}, "b 130 129", []string{"a"}},
		"a longer first file and a longer second one": {
			map[string][]byte{"a/1": all, "a/2": events(t, t0+500, 100, 117, 1), "b/1": part, "b/2": second}, "a 117 116, b 70 129", nil},
	} {
		t.Run(name, func(t *testing.T) {
			logs := t.TempDir()
			for file, data := range test.files {
				write(t, filepath.Join(logs, filepath.Dir(file), "events.out.tfevents."+filepath.Base(file)), data)
			}
			db, path := transfertest.Open(t)
			r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
			if got := seriesOf(t, path); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			var copies []string
			for _, l := range r.Losses {
				rel, err := filepath.Rel(logs, filepath.Dir(l.Path))
				if err != nil || !strings.Contains(l.Reason, "copy") {
					t.Errorf("%+v, %v", l, err)
				}
				if !slices.Contains(copies, rel) {
					copies = append(copies, rel)
				}
			}
			if !slices.Equal(copies, test.copies) {
				t.Errorf("the copies are %q, want %q", copies, test.copies)
			}
			before := transfertest.Dump(t, path)
			r = transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{})
			if r.Points != 0 || r.Created != 0 || transfertest.Dump(t, path) != before {
				t.Errorf("a second import: %+v", r)
			}

			// Import each folder separately after all folders were moved.
			moved := t.TempDir()
			if err := os.Rename(logs, filepath.Join(moved, "x")); err != nil {
				t.Fatal(err)
			}
			r = transfertest.Import(t, db, tensorboard.Kind(), filepath.Join(moved, "x"), transfer.Options{})
			if r.Points != 0 || r.Created != 0 || transfertest.Dump(t, path) != before {
				t.Errorf("after a move: %+v", r)
			}
			for file := range test.files {
				r = transfertest.Import(t, db, tensorboard.Kind(), filepath.Join(moved, "x", filepath.Dir(file)), transfer.Options{})
				if r.Points != 0 || r.Created != 0 {
					t.Errorf("%s: %+v", file, r)
				}
			}
			if got := seriesOf(t, path); got != test.want {
				t.Errorf("in the end %s, want %s", got, test.want)
			}
			checked(t, db)
		})
	}
}

// TestTensorBoardCopyLater imports a copy later and separately. As long as the copy only continues
// the original run, it belongs to that run. When both have different data, the copy is a separate
// run.
func TestTensorBoardCopyLater(t *testing.T) {
	dir := t.TempDir()
	all := events(t, t0, 0, 100, 1)
	db, path := transfertest.Open(t)
	imported := func(folder, want string) {
		t.Helper()
		r := transfertest.Import(t, db, tensorboard.Kind(), filepath.Join(dir, folder), transfer.Options{})
		if got := seriesOf(t, path); got != want {
			t.Errorf("%s: %s, want %s; %+v", folder, got, want, r)
		}
	}
	write(t, filepath.Join(dir, "a", eventName), all[:len(all)/2])
	imported("a", "a 49 48")
	write(t, filepath.Join(dir, "b", eventName), all) // a copy that has grown
	imported("b", "a 100 99")
	imported("a", "a 100 99") // the original is shorter than its copy now
	write(t, filepath.Join(dir, "c", eventName), all)
	write(t, filepath.Join(dir, "c", "events.out.tfevents.2"), events(t, t0+500, 100, 130, 1))
	imported("c", "a 100 99, c 130 129")
	imported("c", "a 100 99, c 130 129")
	write(t, filepath.Join(dir, "b", eventName), slices.Concat(all, events(t, t0+1, 100, 120, -1)))
	imported("b", "a 120 -119, c 130 129")
	write(t, filepath.Join(dir, "a", eventName), slices.Concat(all, events(t, t0+1, 100, 110, 2)))
	imported(".", "a 110 218, a 120 -119, c 130 129")
	imported(".", "a 110 218, a 120 -119, c 130 129")
	checked(t, db)
}

// TestTensorBoardCopyOfEarlierVersion checks that a copy that an earlier version of tracker
// imported as a run remains a run, and that its missing points are imported.
func TestTensorBoardCopyOfEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	all := events(t, t0, 0, 100, 1)
	db, path := transfertest.Open(t)
	stale := filepath.Join(dir, "backup", "r", eventName)
	write(t, stale, all[:len(all)/2])
	if _, err := transfertest.Run(t, earlier{db.Imports.Sink(domain.System)}, tensorboard.Kind(), dir, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	id := strings.Split(transfertest.Dump(t, path, "run"), "|")[4]
	write(t, filepath.Join(dir, "r", eventName), all)
	r := transfertest.Import(t, db, tensorboard.Kind(), dir, transfer.Options{})
	if got := seriesOf(t, path); got != "backup/r 100 99" || r.Grown != 1 || r.Created != 0 || strings.Split(transfertest.Dump(t, path, "run"), "|")[4] != id {
		t.Errorf("%s; %+v", got, r)
	}
}

// earlier is a sink that records the states of files as earlier versions of tracker did.
type earlier struct{ transfer.Sink }

func (e earlier) Write(ctx context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	for _, b := range batches {
		for i := range b.Files {
			b.Files[i].Fingerprint = b.Files[i].ID.String()
		}
	}
	return e.Sink.Write(ctx, batches)
}

// TestTensorBoardEarlierFileLater checks that importing a new file that sorts before imported files
// does not remove their points.
func TestTensorBoardEarlierFileLater(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "events.out.tfevents.2"), events(t, t0+500, 50, 80, -1))
	db, path := transfertest.Open(t)
	transfertest.Import(t, db, tensorboard.Kind(), dir, transfer.Options{Name: "r"})
	write(t, filepath.Join(dir, eventName), events(t, t0, 0, 60, 1))
	for range 2 {
		r := transfertest.Import(t, db, tensorboard.Kind(), dir, transfer.Options{})
		if got := seriesOf(t, path); got != "r 80 -79" {
			t.Errorf("%s; %+v", got, r)
		}
	}
	checked(t, db)
}

// TestFollowCopies follows a run and its copy. After they differ, both are separate runs.
func TestFollowCopies(t *testing.T) {
	logs := t.TempDir()
	db, path := transfertest.Open(t)
	f := follower(t, db.Imports.Sink(domain.System), logs)
	all := events(t, t0, 0, 100, 1)
	a, b, c := filepath.Join(logs, "a", eventName), filepath.Join(logs, "b", eventName), filepath.Join(logs, "c", eventName)
	step := func(want string, wantPoll bool) {
		t.Helper()
		poll(t, f, wantPoll)
		if got := seriesOf(t, path); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	write(t, b, all[:len(all)/2])
	step("b 49 48", true)
	write(t, a, all[:len(all)/3])
	step("b 49 48", true)
	write(t, b, all)
	step("b 100 99", true)
	write(t, c, all)
	step("b 100 99", true)
	step("b 100 99", false)
	write(t, a, slices.Concat(all, events(t, t0+1, 100, 120, -1))) // now the longest
	step("b 120 -119", true)
	write(t, b, slices.Concat(all, events(t, t0+1, 100, 110, 2)))
	step("b 110 218, b 120 -119", true)
	write(t, filepath.Join(logs, "c", "events.out.tfevents.2"), events(t, t0+900, 100, 101, 3))
	step("b 110 218, b 120 -119, c 101 300", true)
	step("b 110 218, b 120 -119, c 101 300", false)
	// A new follower, like the one after a restart, imports nothing twice.
	f = follower(t, db.Imports.Sink(domain.System), logs)
	step("b 110 218, b 120 -119, c 101 300", true)
	checked(t, db)
}

// TestTensorBoardCopiesOnly checks that runs selected with Options.Only are compared only with each
// other, and that a later import of the other runs duplicates nothing.
func TestTensorBoardCopiesOnly(t *testing.T) {
	logs := t.TempDir()
	all := events(t, t0, 0, 100, 1)
	for i, folder := range []string{"a", "b", "c"} { // each is the beginning of the next
		write(t, filepath.Join(logs, folder, eventName), slices.Concat(all, events(t, t0+1, 100, 110+i, -1)))
	}
	write(t, filepath.Join(logs, "a", "events.out.tfevents.2"), events(t, t0+2, 111, 112, 1))
	write(t, filepath.Join(logs, "b", "events.out.tfevents.3"), events(t, t0+2, 111, 112, 1))
	db, path := transfertest.Open(t)
	for _, test := range []struct {
		only []string
		want string
	}{{[]string{"b"}, "b 112 111"}, {[]string{"b"}, "b 112 111"}, {[]string{"a", "c"}, "a 111 111, b 112 111, c 112 -111"}, {nil, "a 111 111, b 112 111, c 112 -111"}} {
		r := transfertest.Import(t, db, tensorboard.Kind(), logs, transfer.Options{Only: test.only})
		if got := seriesOf(t, path); got != test.want || r.Lost != 0 {
			t.Errorf("%q: %s, want %s; %+v", test.only, got, test.want, r)
		}
	}
	checked(t, db)
}

// TestTensorBoardMirror checks that importing a mirror of an imported folder creates no runs, even
// if a new file was added to both.
func TestTensorBoardMirror(t *testing.T) {
	dir := t.TempDir()
	db, path := transfertest.Open(t)
	put := func(folder string, n int) {
		write(t, filepath.Join(dir, folder, "r", eventName), events(t, t0, 0, 100, 1))
		if n > 1 {
			write(t, filepath.Join(dir, folder, "r", "events.out.tfevents.2"), events(t, t0+500, 100, 130, 1))
		}
		transfertest.Import(t, db, tensorboard.Kind(), filepath.Join(dir, folder), transfer.Options{})
	}
	put("a", 1)
	write(t, filepath.Join(dir, "a", "r", "events.out.tfevents.2"), events(t, t0+500, 100, 130, 1))
	put("b", 2)
	put("a", 2)
	if got := seriesOf(t, path); got != "r 130 129" {
		t.Error(got)
	}
}
