package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// maxUpgradeCopies is the maximum number of copies that one call of RemoveUpgradeCopies removes.
const maxUpgradeCopies = 100

// upgradeCopy matches the end of the name of a copy that migrate has made.
var upgradeCopy = regexp.MustCompile(`^\.before-v\d+-(\d{8}T\d{6}Z)(?:-\d+)?$`)

// RemoveUpgradeCopies removes the copies of the database at path that migrations made before the
// given time, and returns their paths. The time of a copy is the time in its name. Other files are
// never removed.
func RemoveUpgradeCopies(path string, before time.Time) (removed []string, err error) {
	folder, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, entry := range entries {
		name := entry.Name()
		if len(name) <= len(base) || name[:len(base)] != base || !entry.Type().IsRegular() || len(removed) == maxUpgradeCopies {
			continue
		}
		found := upgradeCopy.FindStringSubmatch(name[len(base):])
		if found == nil {
			continue
		}
		made, err := time.Parse(stampLayout, found[1])
		if err != nil || !made.Before(before) {
			continue
		}
		copied := filepath.Join(folder, name)
		if err := os.Remove(copied); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, copied)
	}
	return removed, errors.Join(errs...)
}
