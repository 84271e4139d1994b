package archive_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
)

// TestExportDoesNotWaitForEver starts an export while all export slots are taken.
func TestExportDoesNotWaitForEver(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "tracker.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p, err := db.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	q := archive.Query{ProjectID: p.ID}
	export := func(ctx context.Context) error {
		return db.Archive.Export(ctx, domain.System, q, archive.Options{}, io.Discard)
	}
	free := db.Archive.Occupy()
	db.Archive.SetWait(time.Millisecond)
	if refused := domain.AsError(export(ctx)); refused == nil || refused.Code != domain.CodeUnavailable || refused.RetryAfter == 0 {
		t.Errorf("%+v", refused)
	}
	db.Archive.SetWait(time.Hour)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if export(gone) == nil {
		t.Error("an export that was given up succeeds")
	}
	free()
	if err := export(ctx); err != nil {
		t.Error(err)
	}
}
