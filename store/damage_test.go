package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// closedDatabase creates a database of some dozen pages and returns its path and an iteration in
// it.
func closedDatabase(t testing.TB) (path, iteration string) {
	t.Helper()
	b := newBed(t)
	var batch []points.Sample
	for i := range 400 {
		batch = append(batch, point(fmt.Sprint("key ", i%7), int64(i), float64(i)))
	}
	must(b.Runs.CreateMetricBatch(ctx, domain.System, b.iteration, batch))(t)
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "long", scalar.Text(strings.Repeat("text ", 1000))))(t)
	must(b.Runs.CreateTag(ctx, domain.System, runs.ProjectTag, b.project, "tag"))(t)
	wantOK(t, b.Close())
	return b.Path(), b.iteration
}

// openDamaged returns the error message of opening a damaged file, or "" if there is no error.
func openDamaged(t testing.TB, path, iteration string) string {
	t.Helper()
	db, err := store.Open(ctx, store.Options{Path: path, BcryptCost: 4})
	if err != nil {
		return err.Error()
	}
	defer db.Close() // may fail: the file is damaged
	// These calls may return errors, but must not panic or hang.
	_, _ = db.Runs.Metrics(ctx, domain.System, iteration, runs.MetricQuery{Page: domain.Page{Limit: 1000}})
	_, _ = db.Runs.Parameters(ctx, domain.System, iteration, domain.FirstPage)
	_, _ = db.Projects.Projects(ctx, domain.System, projects.ProjectQuery{Page: domain.FirstPage})
	problems, err := db.Check(ctx, false)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.Text + "\n")
	}
	_, _ = db.Runs.CreateMetric(ctx, domain.System, iteration, points.Sample{Key: "key 1"})
	if b.Len() > 0 {
		_, _ = db.Check(ctx, true)
	}
	return b.String()
}

func TestDamagedFiles(t *testing.T) {
	sound, iteration := closedDatabase(t)
	data := must(os.ReadFile(sound))(t)
	flip := func(at ...int) func([]byte) []byte {
		return func(d []byte) []byte {
			for _, i := range at {
				d[i] ^= 0xff
			}
			return d
		}
	}
	const page = sqlite.PageSize
	root := func(table string) int {
		return ask[int](t, raw(t, sound), `SELECT rootpage FROM sqlite_schema WHERE name = ?`, table)
	}
	metric, tag := root("metric"), root("tag")
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
		says   string // accepted messages, separated by |
	}{
		{"text", func([]byte) []byte { return []byte(strings.Repeat("no database, ", 500)) }, "damaged"},
		{"zeros", func(d []byte) []byte { return make([]byte, len(d)) }, "damaged"},
		{"noise", func(d []byte) []byte {
			r := rand.New(rand.NewPCG(1, 1))
			for i := range d {
				d[i] = byte(r.Uint32())
			}
			return d
		}, "damaged"},
		{"two bytes", func(d []byte) []byte { return d[:2] }, "damaged"},
		{"half of the header", func(d []byte) []byte { return d[:50] }, "damaged"},
		{"the header alone", func(d []byte) []byte { return d[:100] }, "damaged"},
		{"the first page alone", func(d []byte) []byte { return d[:page] }, "damaged|malformed"},
		{"half of the pages", func(d []byte) []byte { return d[:len(d)/2/page*page] }, "damaged|malformed"},
		{"all but the last page", func(d []byte) []byte { return d[:len(d)-page] }, "damaged|malformed|SQLite:"},
		{"magic", flip(0), "damaged"},
		{"page size", flip(16, 17), "damaged"},
		{"payload fractions", flip(21), "damaged"},
		{"schema format", flip(47), "damaged|unsupported"},
		{"text encoding", flip(59), "damaged|encoding"},
		{"schema number", flip(62), "newer|damaged"},
		{"sign of the schema number", flip(60), "damaged"},
		{"application", flip(68), "another program"},
		{"page of the schema", flip(100), "damaged|malformed"},
		{"number of cells in the schema", flip(103, 104), "damaged|malformed"},
		{"a page filled with zeros", func(d []byte) []byte {
			clear(d[5*page : 6*page])
			return d
		}, "damaged|SQLite:"},
		{"a table in the place of another", func(d []byte) []byte {
			copy(d[(metric-1)*page:metric*page], d[(tag-1)*page:tag*page])
			return d
		}, "damaged|SQLite:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "damaged.db")
			damaged := c.damage(bytes.Clone(data))
			wantOK(t, os.WriteFile(path, damaged, 0o600))
			if err := store.Verify(ctx, path); err == nil {
				t.Error("it passes as sound")
			}
			said := openDamaged(t, path, iteration)
			ok := false
			for word := range strings.SplitSeq(c.says, "|") {
				ok = ok || strings.Contains(said, word)
			}
			if !ok {
				t.Errorf("%q, which does not say %s", said, c.says)
			}
		})
	}
}

// A wrong byte results in an error or changes nothing.
func TestFlippedBytes(t *testing.T) {
	sound, iteration := closedDatabase(t)
	data := must(os.ReadFile(sound))(t)
	path := filepath.Join(t.TempDir(), "damaged.db")
	random := rand.New(rand.NewPCG(7, 7))
	var places []int
	for i := 0; i < 108; i += 4 { // the headers of the file and of its first page
		places = append(places, i+random.IntN(4))
	}
	for p := sqlite.PageSize; p < len(data); p += 4 * sqlite.PageSize { // the header of a page, or a cell in it
		places = append(places, p+random.IntN([]int{8, 60, sqlite.PageSize}[random.IntN(3)]))
	}
	found := 0
	for _, at := range places {
		damaged := bytes.Clone(data)
		damaged[at] ^= byte(1 + random.IntN(255))
		wantOK(t, os.WriteFile(path, damaged, 0o600))
		if openDamaged(t, path, iteration) != "" {
			found++
		}
		for _, companion := range []string{"-wal", "-shm"} {
			os.Remove(path + companion)
		}
	}
	t.Logf("%d of %d flipped bytes were found", found, len(places))
	if found < len(places)/4 {
		t.Errorf("only %d of %d flipped bytes were found", found, len(places))
	}
}

// A truncated or damaged log is used up to the position of the damage.
func TestDamagedLog(t *testing.T) {
	b := newBed(t)
	for i := range 30 {
		b.log(t, "loss", int64(i), 1)
	}
	_, wal, err := b.Size()
	wantOK(t, err)
	for _, damage := range []func([]byte) []byte{
		func(d []byte) []byte { return d[:len(d)-1] },
		func(d []byte) []byte { return d[:len(d)/2] },
		func(d []byte) []byte { return d[:10] },
		func(d []byte) []byte { d[len(d)/2] ^= 1; return d },
		func(d []byte) []byte { d[3] ^= 1; return d },
		func(d []byte) []byte { return append(d, "the beginning of more"...) },
	} {
		path := filepath.Join(t.TempDir(), "killed.db")
		copyFiles(t, b.Path(), path)
		data := must(os.ReadFile(path + "-wal"))(t)
		if int64(len(data)) != wal {
			t.Fatalf("a log of %d bytes, want %d", len(data), wal)
		}
		wantOK(t, os.WriteFile(path+"-wal", damage(data), 0o600))
		db, err := store.Open(ctx, store.Options{Path: path, BcryptCost: 4})
		if err != nil {
			t.Fatal(err)
		}
		wantClean(t, db)
		wantOK(t, db.Close())
	}
}
