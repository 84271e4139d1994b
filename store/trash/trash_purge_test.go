package trash_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/sqlite"
	"tracker/store/trash"
)

// A purge leaves nothing behind.
func TestPurge(t *testing.T) {
	f := newFilled(t)
	file := raw(t, f.Path())
	for kind, id := range f.ids {
		wantCode(t, f.Trash.Purge(ctx, domain.System, id), domain.CodeNotFound)
		wantOK(t, f.remove(kind, id))
		wantOK(t, f.Trash.Purge(ctx, domain.System, id))
		wantCode(t, f.Trash.Restore(ctx, domain.System, id), domain.CodeNotFound)
		if n := ask[int](t, file, `SELECT count(*) FROM `+string(kind)+` WHERE id = ?`, id); n > 0 {
			t.Errorf("%s: it is still in its table", kind)
		}
		wantClean(t, f.DB)
	}
	must(f.Collect(ctx))(t)
	if n := ask[int](t, file, `SELECT count(*) FROM blob WHERE NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)`); n > 0 {
		t.Errorf("the bytes of %d artifacts are still there", n)
	}
}

// Expired records are purged when a server starts and on demand. Other records stay.
func TestExpiry(t *testing.T) {
	b := newTrashBed(t)
	old, young := b.NewIteration(t), b.NewIteration(t)
	version := must(b.Models.CreateModelVersion(ctx, domain.System, newModel(t, b, b.Project, "net"), registry.NewModelVersion{IterationID: b.Iteration}))(t).ID
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, old))
	b.Clock.Add(time.Hour)
	wantOK(t, b.Models.DeleteModelVersion(ctx, domain.System, version))
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, young))
	var purged, kept []string
	empty := func(db *store.DB, age time.Duration) {
		t.Helper()
		purged, kept = nil, nil
		wantOK(t, db.Trash.Empty(ctx, domain.System, age, func(p trash.Purged) {
			if p.Kept {
				kept = append(kept, p.ID)
			} else {
				purged = append(purged, p.ID)
			}
		}))
	}
	if empty(b.DB, trashAge); purged != nil || kept != nil {
		t.Errorf("purged %v, kept %v", purged, kept)
	}
	if empty(b.DB, time.Hour); !slices.Equal(purged, []string{old}) || kept != nil {
		t.Errorf("purged %v, kept %v", purged, kept)
	}
	// A run is not purged while a version in the trash refers to it.
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	execSQL(t, raw(t, b.Path()), `UPDATE iteration SET deleted_date = deleted_date - 7200000 WHERE id = ?`, b.Iteration)
	if empty(b.DB, time.Hour); purged != nil || !slices.Equal(kept, []string{b.Iteration}) {
		t.Errorf("purged %v, kept %v", purged, kept)
	}
	b.Clock.Add(trashAge)
	path := b.Path()
	wantOK(t, b.Close())
	db := open(t, store.Options{Path: path, Exclusive: true, TrashAge: trashAge, Now: b.Clock.Now})
	for deadline := time.Now().Add(5 * time.Minute); len(trashed(t, db)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in the trash are %v", trashed(t, db))
		}
	}
	wantClean(t, db)
}

// A large record is purged in several transactions. If the purge is interrupted, the record can't
// be restored, and the next purge continues.
func TestPurgeInParts(t *testing.T) {
	for _, kind := range []domain.TrashKind{domain.TrashedProject, domain.TrashedExperiment} {
		var cancel context.CancelFunc
		var commits atomic.Int64 // number of commits before cancel is called; 0 for never
		b := newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge, OnCommit: func(sqlite.CommitStats) {
			if commits.Load() > 0 && commits.Add(-1) == 0 {
				cancel()
			}
		}})
		for range 320 {
			b.NewIteration(t)
		}
		id := b.Experiment
		if kind == domain.TrashedProject {
			id = b.Project
			must(b.Models.CreateModelVersion(t.Context(), domain.System, newModel(t, b, b.Project, "net"), registry.NewModelVersion{IterationID: b.Iteration}))(t)
			wantOK(t, b.Projects.DeleteProject(t.Context(), domain.System, id))
		} else {
			wantOK(t, b.Projects.DeleteExperiment(t.Context(), domain.System, id))
		}
		file := raw(t, b.Path())
		left := func() int { return ask[int](t, file, `SELECT count(*) FROM iteration`) }
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		t.Cleanup(cancel)
		commits.Store(2)
		if err := b.Trash.Purge(ctx, domain.System, id); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: a purge that is broken off: %v", kind, err)
		}
		if n := left(); n != 121 {
			t.Errorf("%s: %d iterations are left", kind, n)
		}
		if ids := trashed(t, b.DB); len(ids) > 0 {
			t.Errorf("%s: in the trash are %v", kind, ids)
		}
		wantCode(t, b.Trash.Restore(t.Context(), domain.System, id), domain.CodeNotFound)
		wantClean(t, b.DB)
		wantOK(t, b.Trash.Empty(t.Context(), domain.System, trashAge, func(trash.Purged) {}))
		if n := left() + ask[int](t, file, `SELECT count(*) FROM `+string(kind)); n != 0 {
			t.Errorf("%s: %d rows are left", kind, n)
		}
		wantClean(t, b.DB)
	}
}
