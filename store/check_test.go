package store_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/sqlite"
	"tracker/store/storetest"
)

// newSeries returns a bed with a series of a few points. One of them was moved.
func newSeries(t testing.TB) *bed {
	t.Helper()
	b := newPlainBed(t)
	for i, v := range []float64{3, 1, math.NaN(), 2, math.Inf(1), 1, 2.5} {
		b.log(t, "loss", int64(i), v)
	}
	moved := b.log(t, "acc", 0, 1)
	wantOK(t, b.Runs.UpdateMetric(ctx, domain.System, moved, points.Patch{Step: new(scalar.Step(5))}))
	model := storetest.NewModel(t, b.Bed, b.project, "fraud")
	for range 2 {
		must(b.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: b.iteration}))(t)
	}
	storetest.FillLoggedModel(t, b.Bed, b.experiment, b.iteration)
	wantClean(t, b.DB)
	return b
}

// Check finds every kind of damage that SQL can cause, and repairs it if possible.
func TestCheckFindsAndRepairs(t *testing.T) {
	const wrong = `The statistics of metric "loss"`
	const otherProject = `INSERT INTO project (id, name, created_date) VALUES ('p', 'p', 1);
		INSERT INTO experiment (id, project_id, name, status, created_date) VALUES ('other', 'p', 'e', 'STOPPED', 1); `
	sound := newSeries(t)
	wantOK(t, sound.Close())
	for _, c := range []struct {
		damage string
		finds  string
		mends  bool
	}{
		{`INSERT INTO blob_inline (hash, size_bytes, modified_date) VALUES ('x', 1, 0)`, `The pieces of the inline blob x have 0 bytes instead of 1.`, false},
		{`UPDATE series SET count = count + 1 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET finite = finite - 1 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET last = 2.25 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET last = NULL WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET last_step = 7 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET last_step = NULL WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET last_at = last_at + 1 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET min = 0.5 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET min = NULL, min_step = NULL WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET min_step = 5 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET max = 4 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET max_step = 1 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET sum = sum + 0.0001 WHERE key = 'loss'`, wrong, true},
		{`UPDATE series SET sum = 9e999 WHERE key = 'loss'`, wrong, true},
		{`DELETE FROM metric WHERE step = 1`, wrong, true},
		{`UPDATE metric SET value = 1.5 WHERE step = 1`, wrong, true},
		{`UPDATE metric SET value = NULL WHERE step = 6`, wrong, true},
		{`UPDATE metric SET recorded_at = recorded_at + 1 WHERE step = 3`, `The points of metric "loss" do not match`, true},
		{`UPDATE metric SET step = 2 WHERE step = 3`, `The points of metric "loss" do not match`, true},
		{`UPDATE series SET checksum = 7 WHERE key = 'loss'`, `The points of metric "loss" do not match`, true},
		{`INSERT INTO metric VALUES ((SELECT id FROM series WHERE key = 'loss'), 9, 7, 1, 1)`, wrong, true},
		{`DELETE FROM metric WHERE series_id = (SELECT id FROM series WHERE key = 'loss')`, wrong, true},
		{`INSERT INTO series (iteration_num, key) SELECT num, 'empty' FROM iteration`, `"empty"`, true},
		{`INSERT INTO metric VALUES (99, 1, 5, 1, 1), (98, 1, 4, 1, 1)`, "2 points belong to no series", true},
		{`INSERT INTO metric VALUES (99, 1, 5, 1, 1)`, "1 point belongs to no series", true},
		{`PRAGMA recursive_triggers = 0; DROP TRIGGER series_deleted; DELETE FROM series WHERE key = 'loss'`, "7 points belong to no series", true},
		{`INSERT INTO metric_moved VALUES (3, 1, 1, 1, 99)`, "1 moved point", true},
		{`UPDATE metric_moved SET series_id = 77`, "1 moved point", true},
		{`DELETE FROM metric WHERE seq = 8; DELETE FROM series WHERE key = 'acc';
			INSERT INTO metric_moved VALUES (8, 1, 1, 1, 99)`, "1 moved point", true},
		{`UPDATE counter SET value = 3`, "The point counter is 3, but point 8 exists", true},
		{`UPDATE counter SET value = -1`, "The point counter is -1, but point 8 exists", true},
		{`UPDATE model SET last_version = 1`, `model "fraud" is 1, but version 2 exists`, true},
		{`UPDATE logged_model SET params = '{'`, "are not a JSON object", false},
		{`UPDATE logged_model SET params = '[]'`, "are not a JSON object", false},
		{otherProject + `UPDATE logged_model SET experiment_id = 'other'`, "belongs to a run of another project", false},
		{otherProject + `UPDATE logged_model SET experiment_id = 'other', iteration_num = NULL`, "belongs to a run of another project", false},
		{`INSERT INTO parameter VALUES (99, 'k', 'id', 'v')`, "A row of table parameter refers to a missing row of iteration", false},
		{`UPDATE experiment SET project_id = 'gone'`, "A row of table experiment refers to a missing row of project", false},
		{`DELETE FROM iteration`, "A row of table series refers to a missing row of iteration", false},
		{`UPDATE iteration SET parent_num = 77`, "A row of table iteration refers to a missing row of iteration", false},
		{`PRAGMA ignore_check_constraints = 1; UPDATE experiment SET status = 'ODD'`, "SQLite: CHECK constraint failed in experiment", false},
	} {
		t.Run(c.damage, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "damaged.db")
			copyFiles(t, sound.Path(), path)
			db := open(t, store.Options{Path: path})
			execSQL(t, raw(t, path), c.damage)
			found := must(db.Check(ctx, false))(t)
			if !hasProblem(found, c.finds, c.mends, false) {
				t.Errorf("found %+v, want %q", found, c.finds)
			}
			mended := must(db.Check(ctx, true))(t)
			if !hasProblem(mended, c.finds, c.mends, c.mends) || len(mended) != len(found) {
				t.Errorf("mended %+v, want %q", mended, c.finds)
			}
			left := must(db.Check(ctx, false))(t)
			if c.mends && len(left) > 0 {
				t.Errorf("still %+v", left)
			}
			if !c.mends && !hasProblem(left, c.finds, false, false) {
				t.Errorf("left %+v, want %q", left, c.finds)
			}
		})
	}
}

// A repair restores the state before the damage.
func TestRepairedStatistics(t *testing.T) {
	b := newSeries(t)
	file := raw(t, b.Path())
	before := storedStatistics(t, file, b.iteration)
	execSQL(t, file, `UPDATE series SET count = 0, finite = 0, last = 1, last_step = NULL, last_at = NULL,
		min = NULL, min_step = NULL, max = 17, max_step = 3, sum = -5`)
	if n := len(must(b.Check(ctx, true))(t)); n != 2 {
		t.Errorf("%d problems, want one for each series", n)
	}
	after := storedStatistics(t, file, b.iteration)
	for key, want := range before {
		if after[key] != want {
			t.Errorf("%+v, before %+v", after[key], want)
		}
	}
	// The writer continues from the repaired statistics.
	next := must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss", Value: -1}))(t).ID
	if m := must(b.Runs.Metric(ctx, domain.System, next))(t); m.Step != 7 {
		t.Errorf("the next step is %d, want 7", m.Step)
	}
	wantClean(t, b.DB)
}

// After a repair of a counter that was too low, no seq is assigned twice.
func TestRepairedCounter(t *testing.T) {
	b := newSeries(t)
	execSQL(t, raw(t, b.Path()), `UPDATE counter SET value = 2`)
	if problems := must(b.Check(ctx, true))(t); len(problems) != 1 {
		t.Errorf("%+v", problems)
	}
	for range 5 {
		must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"}))(t)
	}
	wantNoSeqTwice(t, b.DB)
	wantClean(t, b.DB)
}

// Check reports a damaged page and does not repair anything in such a database.
func TestCheckOfADamagedPage(t *testing.T) {
	for _, table := range []string{"metric", "series", "metric_moved", "iteration_by_name", "user"} {
		t.Run(table, func(t *testing.T) {
			path, _ := closedDatabase(t)
			root := ask[int64](t, raw(t, path), `SELECT rootpage FROM sqlite_schema WHERE name = ?`, table)
			f := must(os.OpenFile(path, os.O_RDWR, 0))(t)
			must(f.WriteAt([]byte(strings.Repeat("\xa5", 200)), (root-1)*sqlite.PageSize))(t)
			wantOK(t, f.Close())
			db := open(t, store.Options{Path: path})
			for _, repair := range []bool{false, true} {
				problems := must(db.Check(ctx, repair))(t)
				if !hasProblem(problems, "SQLite: ", false, false) && !hasProblem(problems, "The file is damaged: ", false, false) {
					t.Errorf("%+v", problems)
				}
			}
		})
	}
}

// Check reports and repairs nothing during concurrent writes.
func TestCheckWhileOthersWrite(t *testing.T) {
	b := newBed(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := churn(b, w, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 8 {
		for _, p := range must(b.Check(ctx, i%2 == 0))(t) {
			t.Errorf("check: %s", p.Text)
		}
	}
	close(stop)
	wg.Wait()
	wantClean(t, b.DB)
}

// churn executes one of several kinds of writes.
func churn(b *bed, w, i int) error {
	iteration := b.iteration
	if i%5 == 4 {
		c, err := b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{})
		if err != nil {
			return err
		}
		iteration = c.ID
	}
	ids, err := writeSome(b, iteration, w)
	if err != nil {
		return err
	}
	patch := points.Patch{Key: new(fmt.Sprint("moved ", i%3)), Value: new(scalar.Value(i))}
	if err := b.Runs.UpdateMetric(ctx, domain.System, ids[0], patch); err != nil {
		return err
	}
	if i%3 == 0 {
		if err := b.Runs.DeleteMetric(ctx, domain.System, ids[len(ids)-1]); err != nil {
			return err
		}
	}
	if iteration != b.iteration {
		return b.Runs.DeleteIteration(ctx, domain.System, iteration)
	}
	return nil
}

// Check reads the points of many series in several transactions.
func TestCheckOfManySeries(t *testing.T) {
	b := newBed(t)
	var all []points.Sample
	for i := range 1100 {
		all = append(all, point(fmt.Sprint("key ", i), 0, 1))
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.iteration, all))
	wantClean(t, b.DB)
	execSQL(t, raw(t, b.Path()), `UPDATE series SET sum = 2 WHERE key IN ('key 0', 'key 999', 'key 1000', 'key 1099')`)
	if n := len(must(b.Check(ctx, true))(t)); n != 4 {
		t.Errorf("%d problems, want 4", n)
	}
	wantClean(t, b.DB)
}

// Check lets the write-ahead log be reset between its transactions.
func TestCheckResetsTheLog(t *testing.T) {
	b := newBed(t)
	write := func() (size int64) {
		all := make([]points.Sample, 0, 5000)
		for i := range cap(all) {
			all = append(all, point("loss", int64(i), 1))
		}
		wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.iteration, all))
		info := must(os.Stat(b.Path() + "-wal"))(t)
		return info.Size()
	}
	write()
	before := write()
	wantClean(t, b.DB)
	if after := write(); after > before {
		t.Errorf("the log has %d bytes, %d before the check", after, before)
	}
}
