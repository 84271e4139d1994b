package store_test

import (
	"bytes"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/sqlite"
)

var (
	flips    = flag.Int("flips", 0, "number of random bits that TestFlipsByTable changes, one at a time")
	flipFile = flag.String("flip-file", "", "closed database for TestFlipsByTable")
)

// rowsByTable returns for each table a string that identifies its rows.
func rowsByTable(t testing.TB, path string) map[string]string {
	t.Helper()
	db := must(sql.Open("sqlite", sqlite.DSN(path)))(t)
	defer db.Close()
	all := map[string]string{}
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		return map[string]string{"sqlite_schema": err.Error()}
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		wantOK(t, rows.Scan(&name))
		all[name] = ""
	}
	for name := range all {
		all[name] = tableRows(db, name)
	}
	return all
}

func tableRows(db *sql.DB, name string) string {
	rows, err := db.Query(`SELECT * FROM "` + name + `" NOT INDEXED`)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var b strings.Builder
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err.Error()
		}
		fmt.Fprintln(&b, values...)
	}
	if rows.Err() != nil {
		return rows.Err().Error()
	}
	return b.String()
}

// altered returns the tables whose rows differ, in alphabetical order.
func altered(before, after map[string]string) []string {
	var names []string
	for name, rows := range before {
		if after[name] != rows {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkFlipped writes damaged to path and returns the findings of a check of the
// file and its artifacts, or its error.
func checkFlipped(t testing.TB, path string, damaged []byte) []string {
	t.Helper()
	for _, companion := range []string{"-wal", "-shm"} {
		os.Remove(path + companion)
	}
	wantOK(t, os.WriteFile(path, damaged, 0o600))
	db, err := store.Open(ctx, store.Options{Path: path, BcryptCost: 4})
	if err != nil {
		return []string{err.Error()}
	}
	defer db.Close() // may fail: the file is damaged
	found, err := db.Check(ctx, false)
	if err != nil {
		return []string{err.Error()}
	}
	artifacts, err := db.CheckArtifacts(ctx, true, nil)
	if err != nil {
		return []string{err.Error()}
	}
	found = append(found, artifacts...)
	var texts []string
	for _, p := range found {
		texts = append(texts, p.Text)
	}
	return texts
}

// A check finds every flipped bit of a point and names the run and the metric.
func TestFlippedPoints(t *testing.T) {
	b := newPlainBed(t)
	for _, key := range []string{"loss", "acc", "lr"} {
		var all []points.Sample
		for step := range int64(1000) {
			all = append(all, point(key, step, math.Sin(float64(step))))
		}
		must(b.Runs.CreateMetricBatch(ctx, domain.System, b.iteration, all))(t)
	}
	wantOK(t, b.Close())
	sound := must(os.ReadFile(b.Path()))(t)
	before := rowsByTable(t, b.Path())
	var pages []int
	rows := must(raw(t, b.Path()).Query(`SELECT pageno FROM dbstat WHERE name = 'metric'`))(t)
	for rows.Next() {
		var page int
		wantOK(t, rows.Scan(&page))
		pages = append(pages, page)
	}
	wantOK(t, rows.Err())
	path := filepath.Join(t.TempDir(), "flipped.db")
	random := rand.New(rand.NewPCG(17, 17))
	changed := 0
	for range 80 {
		page := pages[random.IntN(len(pages))]
		at := 8*(page-1)*sqlite.PageSize + random.IntN(8*sqlite.PageSize)
		damaged := bytes.Clone(sound)
		damaged[at/8] ^= 1 << (at % 8)
		wantOK(t, os.WriteFile(path, damaged, 0o600))
		if !slices.Contains(altered(before, rowsByTable(t, path)), "metric") {
			continue
		}
		changed++
		found := strings.Join(checkFlipped(t, path, damaged), "\n")
		// If the bit is in series_id, the point seems to belong to another series, and SQLite
		// reports only the order of the rows.
		if strings.Contains(found, "row not in PRIMARY KEY order for metric") {
			continue
		}
		if !strings.Contains(found, "metric \"") || !strings.Contains(found, b.iteration) {
			t.Errorf("bit %d of byte %d: found %q", at%8, at/8, found)
		}
	}
	if changed < 40 {
		t.Errorf("only %d changes of points", changed)
	}
}

// TestFlipsByTable logs how many randomly flipped bits a check finds in each table. Run it with
// go test ./store -run TestFlipsByTable -v -flips 400 -flip-file tracker.db.
func TestFlipsByTable(t *testing.T) {
	path := *flipFile
	if path == "" {
		path, _ = closedDatabase(t)
	}
	sound := must(os.ReadFile(path))(t)
	copied := filepath.Join(t.TempDir(), "flipped.db")
	wantOK(t, os.WriteFile(copied, sound, 0o600))
	before := rowsByTable(t, copied)
	type count struct{ flips, found int }
	counts := map[string]*count{}
	random := rand.New(rand.NewPCG(17, 17))
	for range max(*flips, 40) {
		at := random.IntN(8 * len(sound))
		damaged := bytes.Clone(sound)
		damaged[at/8] ^= 1 << (at % 8)
		wantOK(t, os.WriteFile(copied, damaged, 0o600))
		name := strings.Join(altered(before, rowsByTable(t, copied)), ", ")
		if name == "" {
			name = "none (an index, or free space)"
		}
		if counts[name] == nil {
			counts[name] = &count{}
		}
		counts[name].flips++
		found := checkFlipped(t, copied, damaged)
		if len(found) > 0 {
			counts[name].found++
		} else if *flips > 0 {
			t.Logf("bit %d of byte %d was not found, in %s", at%8, at/8, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-40s %4d of %4d found", name, counts[name].found, counts[name].flips)
	}
}
