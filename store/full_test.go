package store_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/scalar"
)

// leaveRoom lets the database grow by at most the given number of pages.
func leaveRoom(t testing.TB, db *store.DB, pages int64) {
	t.Helper()
	now := must(db.WriterPragma("page_count"))(t)
	want := now + pages
	if got := must(db.WriterPragma(fmt.Sprint("max_page_count = ", want)))(t); got != want {
		t.Fatalf("at most %d pages, want %d", got, want)
	}
}

func TestFullDisk(t *testing.T) {
	b := newBed(t)
	first := b.log(t, "loss", 0, 1)
	leaveRoom(t, b.DB, 0)

	// Each kind of write needs a new page after some writes.
	value := scalar.Text(strings.Repeat("x", 10_000))
	acknowledged := map[string]bool{first: true}
	full := 0
	for i := range 2000 {
		c, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, point("loss", int64(i), 1))
		if err != nil {
			wantCode(t, err, domain.CodeStorageFull)
			if full++; full == 3 {
				break
			}
			continue
		}
		acknowledged[c.ID] = true
	}
	if full == 0 {
		t.Fatal("the disk never was full")
	}
	_, err := b.Runs.CreateParameter(ctx, domain.System, b.iteration, "long", value)
	wantCode(t, err, domain.CodeStorageFull)
	_, err = b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "other", Description: string(value)})
	wantCode(t, err, domain.CodeStorageFull)

	wantOK(t, b.Ping(ctx))
	if stored := pointsOf(t, b.DB, b.iteration, nil); len(stored) != len(acknowledged) {
		t.Errorf("%d points acknowledged, %d stored", len(acknowledged), len(stored))
	}
	wantClean(t, b.DB)

	leaveRoom(t, b.DB, 100)
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "long", value))(t)
	acknowledged[b.log(t, "loss", 5000, 1)] = true
	stored := pointsOf(t, b.DB, b.iteration, nil)
	for _, m := range stored {
		if !acknowledged[m.ID] {
			t.Errorf("point %s at step %d was refused and is stored", m.ID, m.Step)
		}
	}
	if len(stored) != len(acknowledged) {
		t.Errorf("%d points acknowledged, %d stored", len(acknowledged), len(stored))
	}
	wantClean(t, b.DB)
}

// If a statement without triggers finds the disk full, SQLite rolls back the whole transaction.
// The other writes in the transaction need less space and must still succeed.
func TestFullDiskForOneOfMany(t *testing.T) {
	var c commits
	b := newBedWith(t, store.Options{OnCommit: c.Add})
	b.log(t, "loss", 0, 0)
	leaveRoom(t, b.DB, 4)
	release := hold(t, b.DB)
	c.Take()
	var big, small []func() error
	for i := range 30 {
		if i%10 == 5 {
			big = append(big, queue(b.DB, func() error {
				return b.Projects.UpdateExperiment(ctx, domain.System, b.experiment, projects.ExperimentPatch{Description: new(strings.Repeat("x", 100_000))})
			}))
			continue
		}
		small = append(small, queue(b.DB, func() error {
			_, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"})
			return err
		}))
	}
	release()
	for _, wait := range big {
		wantCode(t, wait(), domain.CodeStorageFull)
	}
	for _, wait := range small {
		wantOK(t, wait())
	}
	together, alone := 0, 0
	for _, s := range c.Take() {
		switch {
		case s.Err == nil:
		case s.Jobs > 1:
			together++
		default:
			alone++
		}
	}
	if together == 0 || alone < len(big) {
		t.Errorf("%d transactions failed as a whole, %d with one write in them", together, alone)
	}
	for i, m := range pointsOf(t, b.DB, b.iteration, nil) {
		if int(m.Step) != i {
			t.Errorf("point %d is at step %d", i, m.Step)
		}
	}
	l := must(b.Runs.Parameters(ctx, domain.System, b.iteration, domain.FirstPage))(t)
	if l.Total != 0 {
		t.Errorf("%d parameters that were refused are stored", l.Total)
	}
	wantClean(t, b.DB)

	leaveRoom(t, b.DB, 200)
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "5", scalar.Text(strings.Repeat("x", 100_000))))(t)
	b.log(t, "loss", 100, 0)
	wantClean(t, b.DB)
}
