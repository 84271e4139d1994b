package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

// Check finds a flipped bit in an index or in an indexed column, and shows the rows of both. The
// repair rebuilds the index from the table.
func TestCheckRepairsIndexes(t *testing.T) {
	b := newBed(t)
	for _, name := range []string{"alpha", "needle", "omega"} {
		must(b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{Name: &name}))(t)
	}
	wantOK(t, b.Close())
	data := must(os.ReadFile(b.Path()))(t)
	places := 0
	for at := range data {
		if !bytes.HasPrefix(data[at:], []byte("needle")) {
			continue
		}
		places++
		flipped := bytes.Clone(data)
		flipped[at+1] ^= 4 // naedle
		path := filepath.Join(t.TempDir(), "flipped.db")
		wantOK(t, os.WriteFile(path, flipped, 0o600))
		db := open(t, store.Options{Path: path})
		found := must(db.Check(ctx, false))(t)
		if !hasProblem(found, "Index iteration_by_name does not match table iteration", true, false) ||
			!strings.Contains(found[0].Text, "'needle'") || !strings.Contains(found[0].Text, "'naedle'") {
			t.Errorf("at %d: %+v", at, found)
		}
		if mended := must(db.Check(ctx, true))(t); !hasProblem(mended, "Index iteration_by_name", true, true) {
			t.Errorf("at %d: %+v", at, mended)
		}
		wantClean(t, db)
	}
	if places < 2 {
		t.Errorf("the name is at %d places, want the table and the index", places)
	}
}
