package export

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/json"
	"tracker/store/transfer"
)

// mlflowStatuses are the numbers that a file store has for statuses.
var mlflowStatuses = map[store.IterationStatus]int{store.Running: 1, store.Succeeded: 3, store.Failed: 4, store.Killed: 5}

// writeMLflow writes the file store of MLflow: a folder that `mlflow ui
// --backend-store-uri` opens.
func writeMLflow(ctx context.Context, e *store.Extract, path string, r *transfer.Result) error {
	path = filepath.Join(path, "mlruns")
	experiments := map[string]string{} // folders by id
	err := eachRun(ctx, e, func(v *store.View, run run) error {
		folder, there := experiments[run.ExperimentID]
		if !there {
			folder = mlflowExperimentID(run.ExperimentID)
			experiments[run.ExperimentID] = folder
			name := run.experiment.Name
			if run.project.Name != "MLflow" {
				name = run.project.Name + "/" + name
			}
			err := create(filepath.Join(path, folder, "meta.yaml"), func(w io.Writer) error {
				return yaml(w, "artifact_location", "mlflow-artifacts:/"+folder, "creation_time", int64(run.experiment.CreatedDate),
					"experiment_id", folder, "last_update_time", int64(run.experiment.CreatedDate), "lifecycle_stage", "active", "name", name)
			})
			if err != nil {
				return err
			}
		}
		r.Found++
		return writeMLflowRun(e, v, run, filepath.Join(path, folder), folder, r)
	})
	if n := e.Counts["model"]; err == nil && n > 0 {
		r.Lose(r.Path, "The models of the registry (%d) are not written.", n)
	}
	return err
}

// mlflowExperimentID returns a number as MLflow gives experiments.
func mlflowExperimentID(id string) string {
	n, _ := strconv.ParseUint(strings.ReplaceAll(id, "-", "")[16:], 16, 64) // a UUID
	return strconv.FormatUint(n>>1, 10)
}

func writeMLflowRun(e *store.Extract, v *store.View, run run, folder, experiment string, r *transfer.Result) error {
	id := strings.ReplaceAll(run.ID, "-", "")
	at := filepath.Join(folder, id)
	var ended any
	if run.EndDate != nil {
		ended = int64(*run.EndDate)
	}
	err := create(filepath.Join(at, "meta.yaml"), func(w io.Writer) error {
		return yaml(w, "artifact_uri", "mlflow-artifacts:/"+experiment+"/"+id+"/artifacts", "end_time", ended, "entry_point_name", "",
			"experiment_id", experiment, "lifecycle_stage", "active", "run_id", id, "run_name", run.Name, "run_uuid", id,
			"source_name", "", "source_type", 4, "source_version", "", "start_time", int64(run.CreatedDate),
			"status", mlflowStatuses[run.Status], "tags", "[]", "user_id", "")
	})
	if err != nil {
		return err
	}
	for _, part := range []string{"metrics", "params", "tags", "artifacts"} { // MLflow wants all of them
		if err := os.MkdirAll(filepath.Join(at, part), 0o755); err != nil {
			return err
		}
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
			r.Lose(run.Name, "Of its code, only commit, repository and entry point are written.")
		}
	}
	for _, tag := range run.Tags {
		key, value, _ := strings.Cut(tag, "=")
		tags[key] = value
	}
	for _, p := range run.Properties {
		tags[p.Key] = p.Value
	}
	if run.ErrorMessage != "" {
		r.Lose(run.Name, "Its error message is not written.")
	}
	for key, value := range tags {
		if err := writeKey(at, "tags", key, value, run, r); err != nil {
			return err
		}
	}
	for _, p := range run.Parameters {
		if err := writeKey(at, "params", p.Key, p.Value, run, r); err != nil {
			return err
		}
	}
	if err := writeMLflowPoints(v, run, at, r); err != nil {
		return err
	}
	for _, a := range run.artifacts {
		if err := copyArtifact(e, a, filepath.Join(at, "artifacts", filepath.FromSlash(a.Name))); err != nil {
			return err
		}
		r.Artifacts++
		r.Bytes += a.SizeBytes
	}
	return nil
}

// writeMLflowPoints writes a file for each metric.
func writeMLflowPoints(v *store.View, run run, at string, r *transfer.Result) error {
	taken := map[string]bool{}
	for _, latest := range run.Latest {
		name := mlflowKey(latest.Key)
		if name != latest.Key {
			r.Lose(run.Name, "The metric %q is named %q.", latest.Key, name)
		}
		if taken[name] {
			r.Lose(run.Name, "The metric %q is left out: another one has the same name for MLflow.", latest.Key)
			continue
		}
		taken[name] = true
		err := create(filepath.Join(at, "metrics", filepath.FromSlash(name)), func(w io.Writer) error {
			lines := bufio.NewWriter(w)
			err := v.EachMetricOf(run.ID, latest.Key, func(_ string, step store.Step, value store.Value, at store.Time) error {
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

// writeKey writes a tag or parameter, which is a file.
func writeKey(at, kind, key, value string, run run, r *transfer.Result) error {
	name := mlflowKey(key)
	if name != key {
		r.Lose(run.Name, "%q in %s is named %q.", key, kind, name)
	}
	err := create(filepath.Join(at, kind, filepath.FromSlash(name)), func(w io.Writer) error {
		_, err := io.WriteString(w, value)
		return err
	})
	if err != nil {
		r.Lose(run.Name, "%q in %s can't be a file: %v.", key, kind, err)
	}
	return nil
}

// mlflowKey returns a key with only the characters that MLflow allows. It is also a
// relative path.
func mlflowKey(key string) string {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		p = strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-. ", c) {
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

// yaml writes pairs of names and values. Texts are in JSON's form, which YAML has.
func yaml(w io.Writer, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		text := fmt.Sprint(pairs[i+1])
		switch v := pairs[i+1].(type) {
		case nil:
			text = "null"
		case string:
			if v != "[]" {
				quoted, err := json.Marshal(v)
				if err != nil {
					return err
				}
				text = string(quoted)
			}
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", pairs[i], text); err != nil {
			return err
		}
	}
	return nil
}
