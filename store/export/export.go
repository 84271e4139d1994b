// Package export writes records in the formats of other programs: tables, an HTML page, and the
// folders of MLflow and TensorBoard. Information that a format can't represent is counted and
// reported as a transfer.Loss.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/transfer"
	"tracker/store/transfer/archive"
)

// Source is a database that contains only the records to export. Its methods do not check
// permissions.
type Source interface {
	// Read calls fn with a view of a snapshot.
	Read(ctx context.Context, fn func(*View) error) error
	// Curves returns the curves of the given runs.
	Curves(ctx context.Context, iterationIDs []string, q points.CurveQuery) ([]runs.Curve, error)
	// Open returns a reader of a blob's bytes. If the bytes do not match b.Hash, the reader returns
	// an error at the end.
	Open(b archive.Blob) (io.ReadCloser, error)
	// Count returns the number of records of a kind, such as "iteration". Package record
	// defines the kinds.
	Count(kind string) int64
}

// View gives access to one snapshot of a Source.
type View struct {
	Projects *projects.View
	Runs     *runs.View
	Files    *files.View
	Models   *registry.View
}

// Format is an output format.
type Format struct {
	Name  string // argument of the --format flag
	Title string
	// Folder reports whether Write creates a folder instead of a file.
	Folder bool
	// Write writes the records of e to path. The path must not exist.
	Write func(ctx context.Context, e Source, path string, r *transfer.Result) error
}

// Formats returns all formats except tracker's archive format.
func Formats() []Format {
	return []Format{
		{Name: "html", Title: "one page that any browser shows offline", Write: writeHTML},
		{Name: "csv", Title: "tables: runs.csv, parameters.csv, points.csv, tags.csv, artifacts.csv", Folder: true, Write: writeCSV},
		{Name: "parquet", Title: "the same tables as Parquet, for DuckDB, pandas and Spark", Folder: true, Write: writeParquet},
		{Name: "mlflow", Title: "MLflow's folder mlruns, with the artifacts", Folder: true, Write: writeMLflow},
		{Name: "tensorboard", Title: "TensorBoard's event files, a folder for each run", Folder: true, Write: writeTensorBoard},
	}
}

// run holds a run and all its records except the points.
type run struct {
	runs.IterationRecord
	project    projects.Project
	experiment projects.Experiment
	artifacts  []files.Artifact
}

// pageSize is the number of records read at once.
const pageSize = 200

// eachRun calls fn with each run of e. The runs are ordered by project and experiment, oldest
// first.
func eachRun(ctx context.Context, e Source, fn func(*View, run) error) error {
	return e.Read(ctx, func(v *View) error {
		return eachPage(func(p domain.Page) (domain.List[projects.Project], error) {
			return v.Projects.Projects(projects.ProjectQuery{Page: p})
		},
			func(project projects.Project) error {
				return eachPage(func(p domain.Page) (domain.List[projects.Experiment], error) {
					return v.Projects.Experiments(project.ID, projects.ExperimentQuery{Page: p})
				}, func(experiment projects.Experiment) error {
					return eachPage(func(p domain.Page) (domain.List[runs.Iteration], error) {
						return v.Runs.Iterations(experiment.ID, runs.IterationQuery{Page: p})
					}, func(it runs.Iteration) error {
						r, err := readRun(v, experiment.ID, it.ID)
						r.project, r.experiment = project, experiment
						if err == nil {
							err = ctx.Err()
						}
						if err != nil {
							return err
						}
						return fn(v, r)
					})
				})
			})
	})
}

// readRun returns a run of an experiment. It does not set the project and the experiment of the
// run.
func readRun(v *View, experimentID, id string) (r run, err error) {
	if r.IterationRecord, err = v.Runs.IterationRecord(id); err != nil {
		return r, err
	}
	return r, eachPage(func(p domain.Page) (domain.List[files.Artifact], error) {
		return v.Files.Artifacts(experimentID, files.ArtifactQuery{Page: p, IterationID: &id})
	}, func(a files.Artifact) error {
		r.artifacts = append(r.artifacts, a)
		return nil
	})
}

// eachPage calls page until all records are listed, and calls fn with each record.
func eachPage[T any](page func(domain.Page) (domain.List[T], error), fn func(T) error) error {
	for offset := 0; ; {
		l, err := page(domain.Page{Limit: pageSize, Offset: offset})
		if err != nil {
			return err
		}
		for _, record := range l.Data {
			if err := fn(record); err != nil {
				return err
			}
		}
		if offset += len(l.Data); len(l.Data) == 0 || offset >= l.Total {
			return nil
		}
	}
}

// create creates a new file, and its folder if necessary, and calls fn to write the content. It
// returns an error if the file exists.
func create(path string, fn func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(fn(f), f.Close())
}

// copyArtifact writes the bytes of an artifact to a new file at path.
func copyArtifact(e Source, a files.Artifact, path string) error {
	from, err := e.Open(archive.Blob{Hash: a.ContentHash, Size: a.SizeBytes})
	if err != nil {
		return fmt.Errorf("the artifact %q: %w", a.Name, err)
	}
	defer from.Close()
	return create(path, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// names holds the file names in use, in lower case, because some file systems ignore case.
type names map[string]bool

// unique returns s as a file name. If the name is in use, unique appends a number.
func (n names) unique(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, s)
	s = strings.Trim(s, " .")
	if s == "" {
		s = "_"
	}
	s = strings.ToValidUTF8(s[:min(len(s), 120)], "")
	name := s
	for i := 2; n[strings.ToLower(name)]; i++ {
		name = fmt.Sprintf("%s-%d", s, i)
	}
	n[strings.ToLower(name)] = true
	return name
}
