// Package trackio reads the databases of Trackio. Trackio stores each project in an SQLite file,
// and media files in a folder next to it.
package trackio

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"tracker/store/transfer"
	"tracker/store/transfer/database"
)

// projectName is the default project name of imported runs.
const projectName = "Trackio"

// tables lists the tables that a Trackio database must have.
var tables = []string{"metrics", "configs"}

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "trackio", Title: "Trackio", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := find(path)
		return transfer.Found(s, len(s.files) == 0, err)
	}}
}

// source holds the databases found at a path.
type source struct{ files []string }

// find returns the databases at a path, which can be a file or a folder.
func find(path string) (s source, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return s, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if info.Mode().IsRegular() {
		if isProject(path) {
			s.files = []string{path}
		}
		return s, nil
	}
	if !info.IsDir() {
		return s, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return s, err
	}
	for _, e := range entries {
		if file := filepath.Join(path, e.Name()); e.Type().IsRegular() && filepath.Ext(file) == ".db" && isProject(file) {
			s.files = append(s.files, file)
		}
	}
	return s, nil
}

// isProject reports whether the file at path is a Trackio database. An MLflow database also has a
// metrics table, but no configs table.
func isProject(path string) bool { return database.Is(path, tables...) }

// Size returns the total size of the databases in bytes.
func (s source) Size() (n int64) {
	for _, path := range s.files {
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Import imports all runs of the source.
func (s source) Import(ctx context.Context, im *transfer.Import) error {
	for _, path := range s.files {
		if err := importProject(ctx, im, path); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of a project, based on its file name. Trackio omits characters that
// are not allowed in file names.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }
