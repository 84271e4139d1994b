package store

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"tracker/store/domain"
)

// TestExportDoesNotWaitForEver exports while the maximum number of archives is being made.
func TestExportDoesNotWaitForEver(t *testing.T) {
	ctx := context.Background()
	db, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "t.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := db.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	var done []func()
	for range maxExports {
		free, err := place(ctx, db.exporting)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, free)
	}
	db.archiveWait = time.Millisecond
	q := ArchiveQuery{ProjectID: p.ID}
	if refused := domain.AsError(db.Export(ctx, domain.System, q, ArchiveOptions{}, io.Discard)); refused == nil || refused.Code != domain.CodeUnavailable || refused.RetryAfter == 0 {
		t.Errorf("%+v", refused)
	}
	db.archiveWait = time.Hour
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if db.Export(gone, domain.System, q, ArchiveOptions{}, io.Discard) == nil {
		t.Error("an export that was given up succeeds")
	}
	done[0]()
	if err := db.Export(ctx, domain.System, q, ArchiveOptions{}, io.Discard); err != nil {
		t.Error(err)
	}
}
