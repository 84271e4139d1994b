package sqlite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tracker/store/sqlite"
)

func TestRemoveUpgradeCopies(t *testing.T) {
	dir := t.TempDir()
	old := []string{"tracker.db.before-v18-20260101T000000Z", "tracker.db.before-v9-20251231T235959Z-2"}
	kept := []string{
		"tracker.db", "tracker.db-wal", "tracker.db.lock", "other.db.before-v18-20260101T000000Z", "tracker.db.before-v18-20260301T000000Z",
		"tracker.db.before-restore-20260101T000000Z", "tracker.db.before-v18-20260101T000000Z.mine", "tracker.db.before-v18-20269901T000000Z",
		"tracker.db.before-vx-20260101T000000Z", "my-tracker.db.before-v18-20260101T000000Z",
	}
	for _, name := range slices.Concat(old, kept) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "tracker.db.before-v1-20260101T000000Z"), 0o700); err != nil {
		t.Fatal(err)
	}
	removed, err := sqlite.RemoveUpgradeCopies(filepath.Join(dir, "tracker.db"), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	if err != nil || len(removed) != len(old) {
		t.Errorf("removed %v, %v", removed, err)
	}
	for _, name := range old {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range append(kept, "tracker.db.before-v1-20260101T000000Z") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
