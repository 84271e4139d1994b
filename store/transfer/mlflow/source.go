// Package mlflow reads MLflow's stores and their artifacts. A store is an SQLite database or a file
// store, the older format, which is a folder named mlruns.
package mlflow

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tracker/store/transfer"
	"tracker/store/transfer/database"
)

// projectName is the default project name of imported runs.
const projectName = "MLflow"

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "mlflow", Title: "MLflow", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := find(path)
		return transfer.Found(s, s.database == "" && s.folder == "", err)
	}}
}

// source holds the stores found at a path.
type source struct {
	database string // path of the SQLite database; "" if there is none
	folder   string // path of the folder mlruns; "" if there is none
}

// find looks for an SQLite database and a file store. The path can be a store, or a folder that
// contains a store.
func find(path string) (s source, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return s, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if info.Mode().IsRegular() {
		if database.Is(path, tables...) {
			s.database = path
		}
		return s, nil
	}
	if !info.IsDir() {
		return s, nil
	}
	if db := filepath.Join(path, "mlflow.db"); database.Is(db, tables...) {
		s.database = db
	}
	for _, folder := range []string{path, filepath.Join(path, "mlruns")} {
		has, err := hasRuns(folder)
		if err != nil {
			return s, err
		}
		if has {
			s.folder = folder
			break
		}
	}
	return s, nil
}

// hasRuns reports whether a folder is a file store that contains at least one run.
func hasRuns(folder string) (bool, error) {
	experiments, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range experiments {
		if !e.IsDir() {
			continue
		}
		if m, err := readMeta(filepath.Join(folder, e.Name())); err != nil || m.ExperimentID == "" {
			continue
		}
		runs, err := os.ReadDir(filepath.Join(folder, e.Name()))
		if err != nil {
			return false, err
		}
		for _, r := range runs {
			if m, err := readMeta(filepath.Join(folder, e.Name(), r.Name())); err == nil && m.runID() != "" {
				return true, nil
			}
		}
	}
	return false, nil
}

// Size returns the size of the database in bytes. It returns 0 for a file store, whose size is
// unknown.
func (s source) Size() int64 {
	info, err := os.Stat(s.database)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Import imports all runs of the source.
func (s source) Import(ctx context.Context, im *transfer.Import) error {
	if s.database != "" {
		if err := importDatabase(ctx, im, s.database); err != nil {
			return err
		}
	}
	if s.folder != "" {
		return importFolder(ctx, im, s.folder)
	}
	return nil
}
