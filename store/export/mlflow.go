package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/filter"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/transfer"
)

// mlflowStatuses maps run statuses to the numbers in an MLflow file store.
var mlflowStatuses = map[domain.IterationStatus]int{domain.Running: 1, domain.Succeeded: 3, domain.Failed: 4, domain.Killed: 5}

// mlflowStore writes an MLflow file store.
type mlflowStore struct {
	ctx  context.Context
	e    Source
	r    *transfer.Result
	path string // folder to write
	uri  string // URI of the folder at its final location
	// artifacts maps the MLflow ids of runs and logged models to the URIs of their artifacts.
	artifacts map[string]string
	names     map[string]bool // experiment names in use
}

// writeMLflow writes an MLflow file store, which is a folder for `mlflow ui --backend-store-uri`.
// Artifact URIs begin with the absolute path of r.Path, because MLflow does not support URIs
// relative to the store.
func writeMLflow(ctx context.Context, e Source, path string, r *transfer.Result) error {
	final := r.Path
	if final == "" {
		final = path
	}
	final, err := filepath.Abs(filepath.Join(final, "mlruns"))
	if err != nil {
		return err
	}
	m := &mlflowStore{ctx: ctx, e: e, r: r, path: filepath.Join(path, "mlruns"), uri: fileURI(final), artifacts: map[string]string{}, names: map[string]bool{}}
	if err := os.MkdirAll(m.path, 0o755); err != nil {
		return err
	}
	return e.Read(ctx, func(v *View) error {
		return eachPage(func(p domain.Page) (domain.List[projects.Project], error) {
			return v.Projects.Projects(projects.ProjectQuery{Page: p})
		},
			func(project projects.Project) error { return m.project(v, project) })
	})
}

// fileURI returns the file URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a Windows path such as C:/
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func (m *mlflowStore) project(v *View, project projects.Project) error {
	err := eachPage(func(p domain.Page) (domain.List[projects.Experiment], error) {
		return v.Projects.Experiments(project.ID, projects.ExperimentQuery{Page: p})
	}, func(experiment projects.Experiment) error { return m.experiment(v, project, experiment.ID) })
	if err != nil {
		return err
	}
	return m.registry(v, project)
}

// experiment writes an experiment with its runs and logged models.
func (m *mlflowStore) experiment(v *View, project projects.Project, id string) error {
	e, err := v.Projects.ExperimentRecord(id)
	if err != nil {
		return err
	}
	folder := mlflowExperimentID(e.ID)
	name := e.Name
	if project.Name != "MLflow" {
		name = project.Name + "/" + name
	}
	for n, first := 2, name; m.names[name]; n++ { // MLflow requires unique experiment names
		name = fmt.Sprintf("%s (%d)", first, n)
	}
	if m.names[name] = true; name != e.Name && name != project.Name+"/"+e.Name {
		m.r.Lose(e.Name, "The experiment is named %q, because another one has the same name.", name)
	}
	location := m.uri + "/" + folder
	tags := map[string]string{}
	for _, p := range e.Properties {
		if p.Key == "mlflow.artifactLocation" {
			m.r.Lose(e.Name, "Clients stored artifacts of this experiment at %s. The location is not exported; new runs store artifacts in the exported folder.", p.Value)
			continue
		}
		tags[p.Key] = p.Value
	}
	if e.Description != "" {
		tags["mlflow.note.content"] = e.Description
	}
	at := filepath.Join(m.path, folder)
	err = writeYAML(filepath.Join(at, "meta.yaml"), map[string]any{"artifact_location": location, "creation_time": int64(e.CreatedDate), "experiment_id": folder,
		"last_update_time": int64(e.Updated()), "lifecycle_stage": "active", "name": name})
	if err == nil {
		err = m.keys(at, "tags", e.Name, tags)
	}
	if err != nil {
		return err
	}
	err = eachPage(func(p domain.Page) (domain.List[runs.Iteration], error) {
		return v.Runs.Iterations(e.ID, runs.IterationQuery{Page: p})
	}, func(it runs.Iteration) error {
		run, err := readRun(v, e.ID, it.ID)
		if err != nil {
			return err
		}
		m.r.Found++
		if err := m.run(v, run, at, folder); err != nil {
			return err
		}
		return m.ctx.Err()
	})
	if err != nil {
		return err
	}
	return m.loggedModels(v, e.ID, at, folder)
}

// mlflowExperimentID converts a UUID to a decimal number, because MLflow's experiment ids are
// numbers.
func mlflowExperimentID(id string) string {
	n, _ := strconv.ParseUint(strings.ReplaceAll(id, "-", "")[16:], 16, 64) // last 16 hexadecimal digits of the UUID
	return strconv.FormatUint(n>>1, 10)
}

func (m *mlflowStore) run(v *View, run run, folder, experiment string) error {
	id := strings.ReplaceAll(run.ID, "-", "")
	at := filepath.Join(folder, id)
	m.artifacts[id] = m.uri + "/" + experiment + "/" + id + "/artifacts"
	var ended any
	if run.EndDate != nil {
		ended = int64(*run.EndDate)
	}
	tags := map[string]string{"mlflow.runName": run.Name}
	if run.Notes != "" {
		tags["mlflow.note.content"] = run.Notes
	}
	if run.ParentIterationID != nil {
		tags["mlflow.parentRunId"] = strings.ReplaceAll(*run.ParentIterationID, "-", "")
	}
	if c := run.Snapshot; c != nil {
		for tag, text := range map[string]string{"mlflow.source.git.commit": c.GitSHA, "mlflow.source.git.repoURL": c.GitRemote, "mlflow.source.name": c.Entrypoint} {
			if text != "" {
				tags[tag] = text
			}
		}
		if c.GitDiff != "" || c.Dependencies != "" || c.Command != "" || c.Runtime != "" || c.Hostname != "" {
			m.r.Lose(run.Name, "Only the commit, repository and entry point of the run's code are exported.")
		}
	}
	for _, tag := range run.Tags {
		key, value, _ := strings.Cut(tag, "=")
		tags[key] = value
	}
	for _, p := range run.Properties {
		tags[p.Key] = p.Value
	}
	if _, tagged := tags[filter.UserProperty]; !tagged && run.CreatedBy != nil {
		tags[filter.UserProperty] = *run.CreatedBy
	}
	user := tags[filter.UserProperty]
	if user == "" {
		user = "unknown" // MLflow's value for an unknown user
	}
	params := map[string]string{}
	for _, p := range run.Parameters {
		params[p.Key] = p.Value
	}
	if run.ErrorMessage != "" {
		m.r.Lose(run.Name, "The error message of the run is not exported.")
	}
	err := writeYAML(filepath.Join(at, "meta.yaml"), map[string]any{"artifact_uri": m.artifacts[id], "end_time": ended, "entry_point_name": "",
		"experiment_id": experiment, "lifecycle_stage": "active", "run_id": id, "run_name": run.Name, "run_uuid": id,
		"source_name": "", "source_type": 4, "source_version": "", "start_time": int64(run.CreatedDate),
		"status": mlflowStatuses[run.Status], "tags": []string{}, "user_id": user})
	for _, part := range []string{"metrics", "params", "tags", "artifacts"} { // MLflow requires all four folders
		if err == nil {
			err = os.MkdirAll(filepath.Join(at, part), 0o755)
		}
	}
	if err == nil {
		err = m.keys(at, "tags", run.Name, tags)
	}
	if err == nil {
		err = m.keys(at, "params", run.Name, params)
	}
	if err == nil {
		err = m.datasets(folder, at, id, run)
	}
	if err == nil {
		err = m.outputs(at, run)
	}
	if err == nil {
		err = writeMLflowPoints(v, run, at, m.r)
	}
	for _, a := range run.artifacts {
		if err == nil {
			err = m.artifact(a, filepath.Join(at, "artifacts", filepath.FromSlash(a.Name)))
		}
	}
	return err
}

// artifact writes the bytes of an artifact to a new file and counts the artifact in m.r.
func (m *mlflowStore) artifact(a files.Artifact, to string) error {
	if err := copyArtifact(m.e, a, to); err != nil {
		return err
	}
	m.r.Artifacts++
	m.r.Bytes += a.SizeBytes
	return nil
}

// datasets writes the datasets of a run. It writes the description of a dataset to the experiment's
// folder, and the use of the dataset as an input to the run's folder.
func (m *mlflowStore) datasets(folder, at, id string, run run) error {
	for _, d := range run.Datasets {
		dataset := plainID("dataset", d.Name, d.Digest)
		meta := filepath.Join(folder, "datasets", dataset, "meta.yaml")
		if _, err := os.Stat(meta); errors.Is(err, fs.ErrNotExist) {
			err := writeYAML(meta, map[string]any{"name": d.Name, "digest": d.Digest, "source_type": d.SourceType, "source": d.Source,
				"schema": d.Schema, "profile": d.Profile})
			if err != nil {
				return err
			}
		}
		tags := map[string]string{}
		for _, t := range d.Tags {
			tags[t.Key] = t.Value
		}
		if d.Context != nil {
			tags["mlflow.data.context"] = *d.Context
		}
		err := writeYAML(filepath.Join(at, "inputs", plainID("input", dataset, id), "meta.yaml"), map[string]any{"source_type": "DATASET", "source_id": dataset,
			"destination_type": "RUN", "destination_id": id, "tags": tags})
		if err != nil {
			return err
		}
	}
	return nil
}

// plainID returns an id without dashes, derived from parts.
func plainID(parts ...string) string {
	return strings.ReplaceAll(transfer.ID(parts...).String(), "-", "")
}

// keys writes one file for each entry of all. Each file is named after its key and contains the
// value.
func (m *mlflowStore) keys(at, kind, of string, all map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name := mlflowKey(key)
		if name != key {
			m.r.Lose(of, "%q in %s is named %q.", key, kind, name)
		}
		err := create(filepath.Join(at, kind, filepath.FromSlash(name)), func(w io.Writer) error {
			_, err := io.WriteString(w, all[key])
			return err
		})
		if err != nil {
			m.r.Lose(of, "%q in %s can't be a file: %v.", key, kind, err)
		}
	}
	return nil
}

// writeMLflowPoints writes the points of a run to one file per metric.
func writeMLflowPoints(v *View, run run, at string, r *transfer.Result) error {
	taken := map[string]bool{}
	for _, latest := range run.Latest {
		name := mlflowKey(latest.Key)
		if name != latest.Key {
			r.Lose(run.Name, "The metric %q is named %q.", latest.Key, name)
		}
		if taken[name] {
			r.Lose(run.Name, "The metric %q is left out: another metric has the same name in MLflow.", latest.Key)
			continue
		}
		taken[name] = true
		err := create(filepath.Join(at, "metrics", filepath.FromSlash(name)), func(w io.Writer) error {
			lines := bufio.NewWriter(w)
			err := v.Runs.EachMetricOf(run.ID, latest.Key, func(_ string, step scalar.Step, value scalar.Value, at scalar.Time) error {
				r.Points++
				_, err := fmt.Fprintf(lines, "%d %s %d\n", at, number(value), step)
				return err
			})
			if err != nil {
				return err
			}
			return lines.Flush()
		})
		if err != nil {
			r.Lose(run.Name, "The metric %q can't be a file: %v.", latest.Key, err)
		}
	}
	return nil
}

// mlflowKey replaces characters that are not allowed in every version of MLflow. The result is
// also a valid relative path.
func mlflowKey(key string) string {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		p = strings.Map(func(c rune) rune {
			if unicode.IsLetter(c) || unicode.IsNumber(c) || strings.ContainsRune("_-. ", c) {
				return c
			}
			return '_'
		}, p)
		if p == "" || strings.Trim(p, ".") == "" {
			p = "_"
		}
		parts[i] = p
	}
	return strings.Join(parts, "/")
}

// writeYAML writes fields to a YAML file.
func writeYAML(path string, fields map[string]any) error {
	text, err := yaml.Marshal(fields)
	if err != nil {
		return err
	}
	return create(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
