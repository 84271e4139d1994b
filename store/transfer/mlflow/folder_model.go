package mlflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tracker/store/transfer"
)

// modelMeta holds the fields of meta.yaml, which describes a logged model, a registered model
// or a model version.
type modelMeta struct {
	ModelID     string `yaml:"model_id"`
	Name        string `yaml:"name"`
	Type        string `yaml:"model_type"`
	Run         string `yaml:"source_run_id"`
	Artifacts   string `yaml:"artifact_location"`
	Created     any    `yaml:"creation_timestamp"`
	Status      any    `yaml:"status"`
	Stage       string `yaml:"lifecycle_stage"`
	Description string `yaml:"description"`
	Version     any    `yaml:"version"`
	Current     string `yaml:"current_stage"`
	Source      string `yaml:"source"`
	RunID       string `yaml:"run_id"`
}

func readModelMeta(folder string) (m modelMeta, err error) {
	text, err := readText(filepath.Join(folder, "meta.yaml"), maxMeta)
	if err == nil {
		err = yaml.Unmarshal([]byte(text), &m)
	}
	return m, err
}

// folderModels imports the logged models and the model registry of a file store.
func folderModels(ctx context.Context, im *transfer.Import, folder string, experiments []*experiment, uses map[string][]transfer.ModelUse, p *places, left *leftOut) error {
	for _, e := range experiments {
		if e.name == "" {
			continue
		}
		models, err := subfolders(filepath.Join(e.path, "models"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, path := range models {
			m, err := readModelMeta(path)
			if err == nil && m.ModelID == "" {
				err = errors.New("it has no model_id")
			}
			if err != nil {
				im.Lose(path, "The meta.yaml of the logged model can't be read: %v. The model is left out.", pathless(err))
				continue
			}
			e.held = true
			logged := loggedModel{id: m.ModelID, experiment: e.name, name: m.Name, kind: m.Type, run: m.Run, artifacts: m.Artifacts, status: m.Status,
				created: m.Created, deleted: m.Stage == "deleted", experimentDeleted: e.deleted, path: path,
				params: texts(im, filepath.Join(path, "params")), tags: texts(im, filepath.Join(path, "tags")),
				uses: uses[m.ModelID], metrics: folderModelMetrics(im, filepath.Join(path, "metrics"))}
			if err := logged.importModel(ctx, im, p, left); err != nil {
				return err
			}
		}
	}
	return folderRegistry(ctx, im, filepath.Join(folder, "models"))
}

// folderUses adds the logged models that a run created or used to the map all. The keys of the map
// are ids of logged models.
func folderUses(im *transfer.Import, r *run, all map[string][]transfer.ModelUse) {
	for _, part := range []string{"inputs", "outputs"} {
		folders, err := subfolders(filepath.Join(r.path, part))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			im.Lose(r.path, "Its %s can't be read: %v.", part, pathless(err))
		}
		for _, at := range folders {
			var use struct {
				Kind        string `yaml:"source_type"`
				Source      string `yaml:"source_id"`
				Destination string `yaml:"destination_id"`
				Step        any    `yaml:"step"`
			}
			text, err := readText(filepath.Join(at, "meta.yaml"), maxMeta)
			if err == nil {
				err = yaml.Unmarshal([]byte(text), &use)
			}
			if err != nil {
				if part == "outputs" { // folderDatasets reports errors in the folder inputs
					im.Lose(at, "The logged model that the run created can't be read: %v.", pathless(err))
				}
				continue
			}
			step, _ := wholeOf(use.Step) // 0 if the run only used the model
			switch {
			case part == "outputs":
				all[use.Destination] = append(all[use.Destination], transfer.ModelUse{RunID: r.uuid(), Made: true, Step: transfer.Step(step)})
			case strings.HasPrefix(use.Kind, "MODEL"):
				all[use.Source] = append(all[use.Source], transfer.ModelUse{RunID: r.uuid()})
			}
		}
	}
}

// folderModelMetrics returns the metric points of a logged model. A line has the form "milliseconds
// value step run". The name and digest of a dataset can follow.
func folderModelMetrics(im *transfer.Import, folder string) (all []transfer.ModelMetric) {
	for key, text := range texts(im, folder) {
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) != 4 && len(f) != 6 {
				im.Lose(filepath.Join(folder, key), "The line %s was skipped: it is not a time, a value, a step and a run.", shown(line))
				continue
			}
			value, step, at, err := databasePoint{at: f[0], value: f[1], step: f[2]}.read()
			if err != nil {
				im.Lose(filepath.Join(folder, key), "The line %s was skipped: %v.", shown(line), err)
				continue
			}
			p := transfer.ModelMetric{RunID: runUUID(f[3]), Key: key, Step: step, Value: value, At: at}
			if len(f) == 6 {
				p.DatasetName, p.DatasetDigest = f[4], f[5]
			}
			all = append(all, p)
		}
	}
	return all
}

// folderRegistry imports all registered models in a folder.
func folderRegistry(ctx context.Context, im *transfer.Import, folder string) error {
	models, err := subfolders(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range models {
		m, err := readModelMeta(path)
		if err == nil && m.Name == "" {
			err = errors.New("it has no name")
		}
		if err != nil {
			im.Lose(path, "The meta.yaml of the registered model can't be read: %v. The model is left out.", pathless(err))
			continue
		}
		r := registered{name: m.Name, description: m.Description, created: m.Created, tags: texts(im, filepath.Join(path, "tags")), path: path,
			aliases: map[string]int64{}}
		for alias, number := range texts(im, filepath.Join(path, "aliases")) {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err != nil {
				im.Lose(path, "The alias %q names the version %s, which is not a number; it is left out.", alias, shown(number))
				continue
			}
			r.aliases[alias] = n
		}
		versions, err := subfolders(path)
		if err != nil {
			return err
		}
		for _, at := range versions {
			if !strings.HasPrefix(filepath.Base(at), "version-") {
				continue
			}
			v, err := readModelMeta(at)
			number, ok := wholeOf(v.Version)
			if err == nil && !ok {
				err = fmt.Errorf("its version, %s, is not a number", shown(v.Version))
			}
			if err != nil {
				im.Lose(at, "The meta.yaml of the version can't be read: %v. The version is left out.", pathless(err))
				continue
			}
			r.versions = append(r.versions, version{number: number, created: v.Created, description: v.Description, stage: v.Current, source: v.Source,
				run: v.RunID, tags: texts(im, filepath.Join(at, "tags"))})
		}
		slices.SortFunc(r.versions, func(a, b version) int { return cmp.Compare(a.number, b.number) })
		if err := r.importModel(ctx, im); err != nil {
			return err
		}
	}
	return nil
}

// folderDatasets returns the datasets that a run of a file store used. The folder "inputs" of the
// run lists the datasets. The folder "datasets" of the experiment describes them.
func folderDatasets(im *transfer.Import, run string) (all []transfer.Dataset) {
	inputs, err := subfolders(filepath.Join(run, "inputs"))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			im.Lose(run, "Its datasets can't be read: %v.", err)
		}
		return nil
	}
	if len(inputs) > maxDatasets {
		im.Lose(run, "It has %d datasets; the first %d are imported.", len(inputs), maxDatasets)
	}
	for _, at := range inputs[:min(len(inputs), maxDatasets)] {
		var input struct {
			Kind string            `yaml:"source_type"`
			ID   string            `yaml:"source_id"`
			Tags map[string]string `yaml:"tags"`
		}
		var d struct {
			Name, Digest, Schema, Profile, Source string
			SourceType                            string `yaml:"source_type"`
		}
		text, err := readText(filepath.Join(at, "meta.yaml"), maxMeta)
		if err == nil {
			err = yaml.Unmarshal([]byte(text), &input)
		}
		if err == nil && (input.Kind != "DATASET" || !filepath.IsLocal(input.ID)) {
			continue
		}
		if err == nil {
			text, err = readText(filepath.Join(filepath.Dir(run), "datasets", input.ID, "meta.yaml"), maxMeta)
		}
		if err == nil {
			err = yaml.Unmarshal([]byte(text), &d)
		}
		if err != nil {
			im.Lose(at, "The dataset can't be read: %v.", pathless(err))
			continue
		}
		found := transfer.Dataset{Name: d.Name, Digest: d.Digest, SourceType: d.SourceType, Source: d.Source, Schema: d.Schema, Profile: d.Profile}
		if context, ok := input.Tags["mlflow.data.context"]; ok {
			found.Context = &context
		}
		all = append(all, found)
	}
	slices.SortFunc(all, func(a, b transfer.Dataset) int {
		return strings.Compare(a.Name+"\x00"+a.Digest, b.Name+"\x00"+b.Digest)
	})
	return all
}

// pathless returns the cause of an *os.PathError without the path. It returns any other error
// unchanged.
func pathless(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
