package store_test

import (
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
)

// shell runs a query in SQLite's shell and returns the lines of the output. The shell must be
// installed.
func shell(t testing.TB, path, query string) []string {
	t.Helper()
	cmd := exec.Command("sqlite3", "-readonly", "-nullvalue", "NULL", "-separator", "|", path, query)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", query, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// Other programs can read the file as plain SQL, even while it is in use.
func TestFileIsReadByOtherPrograms(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true})
	b.log(t, "loss", 0, 0.25)
	b.log(t, "loss", 1, math.NaN())
	b.log(t, "loss", 2, math.Inf(1))
	wantOK(t, b.Compact()) // compacts only these points, not the following ones
	b.log(t, "loss", 3, math.Inf(-1))
	b.log(t, "loss", -4, 1e-300)
	b.log(t, "verlust/ŭ 🙂 '\"|", math.MaxInt64, 3)
	moved := b.log(t, "wrong", 7, 7)
	wantOK(t, b.Runs.UpdateMetric(ctx, domain.System, moved, points.Patch{Key: new("right"), Step: new(scalar.Step(8))}))
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "lr", "0.10"))(t)

	at := int64(b.clock.Time())
	rows := func(rows ...string) (all []string) {
		for _, r := range rows {
			all = append(all, fmt.Sprintf("%s|%s|%d", b.iteration, r, at))
		}
		return all
	}
	check := func(t *testing.T) {
		for _, c := range []struct {
			query string
			want  []string
		}{
			{`SELECT iteration_id, key, step, value, recorded_at FROM metric_points ORDER BY key, step`, rows(
				`loss|-4|1.0e-300`, `loss|0|0.25`, `loss|1|NULL`, `loss|2|Inf`, `loss|3|-Inf`,
				`right|8|7.0`, `verlust/ŭ 🙂 '"||9223372036854775807|3.0`)},
			{`SELECT * FROM metric_points WHERE key = 'right'`, rows(`right|8|7.0`)},
			{`SELECT count(*), count(value), sum(value > 1e308), min(step) FROM metric_points WHERE key = 'loss'`, []string{"5|4|1|-4"}},
			{`SELECT typeof(value), count(*) FROM metric_points GROUP BY 1 ORDER BY 1`, []string{"null|1", "real|6"}},
			{`SELECT key, value, typeof(value) FROM parameter`, []string{"lr|0.10|text"}},
			{`PRAGMA integrity_check`, []string{"ok"}},
			{`SELECT name FROM pragma_table_info('metric_points')`, []string{"iteration_id", "key", "step", "value", "recorded_at"}},
		} {
			if got := shell(t, b.Path(), c.query); !slices.Equal(got, c.want) {
				t.Errorf("%s\n%s\nwant\n%s", c.query, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		}
	}
	t.Run("open", check)
	t.Run("while it writes", func(t *testing.T) {
		release := hold(t, b.DB)
		defer release()
		check(t)
	})
	wantOK(t, b.Close())
	t.Run("closed", check)
}

// A change by another program is visible to the next write.
func TestFileIsWrittenByOtherPrograms(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 0, 1)
	write := exec.Command("sqlite3", b.Path(), `PRAGMA foreign_keys = 1; UPDATE series SET key = 'verlust'; DELETE FROM tag`)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	next := must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "verlust"}))(t).ID
	if m := must(b.Runs.Metric(ctx, domain.System, next))(t); m.Step != 1 {
		t.Errorf("step %d in the renamed series, want 1", m.Step)
	}
	fresh := must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"}))(t).ID
	if m := must(b.Runs.Metric(ctx, domain.System, fresh))(t); m.Step != 0 {
		t.Errorf("step %d in a new series, want 0", m.Step)
	}
	wantClean(t, b.DB)
}
