package transfertest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/dvclive"
	"tracker/store/transfertest"
)

// TestDVCLive imports tables in which the time column precedes the step column. DVCLive writes such
// tables if it is configured to. A file that is not a DVCLive table is a loss.
func TestDVCLive(t *testing.T) {
	dir := t.TempDir()
	metrics := filepath.Join(dir, "live", "plots", "metrics")
	timed := filepath.Join(metrics, "train", "loss.tsv")
	write(t, timed, []byte("timestamp\tstep\tloss\n1700000001000\t0\t0.5\n1700000002000\t1\tnan\nx\ty\tz\n"))
	write(t, filepath.Join(metrics, "acc.tsv"), []byte("step\tacc\n3\t0.75\n"))
	old(t, filepath.Join(metrics, "acc.tsv"))
	write(t, filepath.Join(metrics, "odd.tsv"), []byte("a\tb\n1\t2\n"))
	write(t, filepath.Join(metrics, "more.txt"), []byte("text"))
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, dvclive.Kind(), dir, transfer.Options{})
	want := "point|live|acc|3|0.75|1700000000000\npoint|live|train/loss|0|0.5|1700000001000\npoint|live|train/loss|1|NaN|1700000002000\n"
	if got := transfertest.Dump(t, path, "point"); got != want {
		t.Errorf("got\n%s", got)
	}
	var lost []string
	for _, l := range r.Losses {
		lost = append(lost, filepath.Base(l.Path))
	}
	if got := strings.Join(lost, " "); got != "more.txt odd.tsv loss.tsv" {
		t.Errorf("%s: %+v", got, r.Losses)
	}
	write(t, timed, []byte("timestamp\tstep\tloss\n1700000001000\t0\t0.5\n1700000002000\t1\tnan\nx\ty\tz\n1700000003000\t2\t0.125\n"))
	if r = transfertest.Import(t, db, dvclive.Kind(), dir, transfer.Options{}); r.Points != 1 {
		t.Errorf("%+v", r)
	}
}
