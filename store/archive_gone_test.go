package store_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"tracker/store/archive"
	"tracker/store/domain"
)

// TestExportEndsWithItsCaller cancels exports while points are copied and while the archive is
// written.
func TestExportEndsWithItsCaller(t *testing.T) {
	b := fullBed(t)
	q := archive.Query{ProjectID: b.project}
	whole := int64(len(b.export(t, q)))
	for _, after := range []int64{0, whole / 2} {
		gone, cancel := context.WithCancel(ctx)
		if after == 0 {
			cancel()
		}
		var written int64
		err := b.Archive.Export(gone, domain.System, q, archive.Options{Progress: func(n int64) {
			if written += n; written >= after {
				cancel()
			}
		}}, io.Discard)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("an export whose caller goes away after %d bytes ends with %v", after, err)
		}
	}
}
