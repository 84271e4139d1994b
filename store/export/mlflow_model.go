package export

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
)

// outputs writes references to the logged models that a run created. Each reference is a separate
// folder, as MLflow expects.
func (m *mlflowStore) outputs(at string, run run) error {
	written := map[string]bool{}
	for _, use := range run.Models {
		if use.Role != registry.OutputModel {
			m.r.Lose(run.Name, "The use of the logged model %s as an input is not exported.", use.ModelID)
			continue
		}
		if written[use.ModelID] {
			m.r.Lose(run.Name, "The run logged the model %s at several steps; only one of these steps is exported.", use.ModelID)
			continue
		}
		written[use.ModelID] = true
		err := writeYAML(filepath.Join(at, "outputs", use.ModelID, "meta.yaml"), map[string]any{"source_type": "RUN_OUTPUT", "source_id": use.ModelID,
			"destination_type": "MODEL_OUTPUT", "destination_id": use.ModelID, "tags": map[string]string{}, "step": int64(use.Step)})
		if err != nil {
			return err
		}
	}
	return nil
}

// loggedModelStatuses maps statuses of logged models to the numbers in an MLflow file store.
var loggedModelStatuses = map[registry.LoggedModelStatus]int{registry.LoggedModelPending: 1, registry.LoggedModelReady: 2, registry.LoggedModelFailed: 3}

// loggedModels writes the logged models of an experiment with their files.
func (m *mlflowStore) loggedModels(v *View, experimentID, folder, experiment string) error {
	found, err := v.Models.FindLoggedModels([]string{experimentID}, registry.LoggedModelQuery{Match: func(registry.LoggedModel) bool { return true }})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(found, pageSize) {
		var ids []string
		for _, l := range some {
			ids = append(ids, l.ID)
		}
		all, err := v.Models.LoggedModels(ids)
		if err != nil {
			return err
		}
		for _, l := range all {
			if err := m.loggedModel(v, l, filepath.Join(folder, "models", l.ID), experiment); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *mlflowStore) loggedModel(v *View, l registry.DescribedModel, at, experiment string) error {
	m.artifacts[l.ID] = m.uri + "/" + experiment + "/models/" + l.ID + "/artifacts"
	var run any
	if l.IterationID != nil {
		run = strings.ReplaceAll(*l.IterationID, "-", "")
	}
	err := writeYAML(filepath.Join(at, "meta.yaml"), map[string]any{"artifact_location": m.artifacts[l.ID], "creation_timestamp": int64(l.CreatedDate),
		"experiment_id": experiment, "last_updated_timestamp": int64(l.UpdatedDate), "model_id": l.ID, "model_type": l.Type, "name": l.Name,
		"source_run_id": run, "status": loggedModelStatuses[l.Status], "status_message": nil, "lifecycle_stage": "active"})
	for _, part := range []string{"metrics", "params", "tags"} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(at, part), 0o755)
		}
	}
	if err == nil {
		err = m.keys(at, "params", l.Name, l.Params)
	}
	if err == nil {
		err = m.keys(at, "tags", l.Name, textsOf(l.Properties))
	}
	if err == nil {
		err = m.modelMetrics(at, l)
	}
	if err != nil {
		return err
	}
	within := registry.LoggedModelFolder(l.ID)
	return eachPage(func(p domain.Page) (domain.List[files.Artifact], error) {
		return v.Files.Artifacts(l.ExperimentID, files.ArtifactQuery{Page: p, Name: within})
	}, func(a files.Artifact) error {
		name, isFile := strings.CutPrefix(a.Name, within)
		if !isFile || a.IterationID != nil {
			return nil
		}
		return m.artifact(a, filepath.Join(at, "artifacts", filepath.FromSlash(name)))
	})
}

// modelMetrics writes the points of a logged model to one file per metric.
func (m *mlflowStore) modelMetrics(at string, l registry.DescribedModel) error {
	lines := map[string][]string{}
	for _, p := range l.Metrics {
		line := fmt.Sprintf("%d %s %d %s", p.RecordedAt, number(p.Value), p.Step, strings.ReplaceAll(p.IterationID, "-", ""))
		if p.DatasetName != "" && p.DatasetDigest != "" {
			if strings.ContainsAny(p.DatasetName+p.DatasetDigest, " \t\r\n") {
				m.r.Lose(l.Name, "The dataset %q of the metric %q is left out, because its name contains a space.", p.DatasetName, p.Key)
			} else {
				line += " " + p.DatasetName + " " + p.DatasetDigest
			}
		}
		lines[p.Key] = append(lines[p.Key], line)
	}
	texts := map[string]string{}
	for key, all := range lines {
		texts[key] = strings.Join(all, "\n") + "\n"
	}
	return m.keys(at, "metrics", l.Name, texts)
}

// textsOf returns properties as a map from key to value.
func textsOf(all []domain.Property) map[string]string {
	texts := map[string]string{}
	for _, p := range all {
		texts[p.Key] = p.Value
	}
	return texts
}

// mlflowStages maps stages to their names in MLflow.
var mlflowStages = map[registry.Stage]string{registry.NoStage: "None", registry.Staging: "Staging", registry.Production: "Production", registry.Archived: "Archived"}

// registry writes the registered models of a project. MLflow requires unique model names
// without slashes and colons.
func (m *mlflowStore) registry(v *View, project projects.Project) error {
	return eachPage(func(p domain.Page) (domain.List[registry.Model], error) {
		return v.Models.Models(project.ID, registry.ModelQuery{Page: p})
	},
		func(head registry.Model) error {
			models, err := v.Models.RegisteredModels(project.ID, []string{head.ID})
			if err != nil || len(models) == 0 {
				return err
			}
			return m.registered(v, project, models[0])
		})
}

func (m *mlflowStore) registered(v *View, project projects.Project, model registry.RegisteredModel) error {
	name := strings.NewReplacer("/", "_", ":", "_", `\`, "_").Replace(model.Name)
	if strings.Trim(name, ".") == "" {
		name = "_"
	}
	at := filepath.Join(m.path, "models", name)
	for n, first := 2, name; ; n++ {
		if _, err := os.Lstat(at); err != nil {
			break
		}
		name = fmt.Sprintf("%s (%d)", first, n)
		at = filepath.Join(m.path, "models", name)
	}
	if name != model.Name {
		m.r.Lose(model.Name, "The registered model is named %q.", name)
	}
	aliases := map[string]string{}
	for _, a := range model.Aliases {
		aliases[a.Alias] = fmt.Sprint(a.Version)
	}
	err := writeYAML(filepath.Join(at, "meta.yaml"), map[string]any{"name": name, "description": model.Description, "aliases": aliases,
		"creation_timestamp": int64(model.CreatedDate), "last_updated_timestamp": int64(model.UpdatedDate)})
	for _, part := range []string{"tags", "aliases"} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(at, part), 0o755)
		}
	}
	if err == nil {
		err = m.keys(at, "tags", model.Name, textsOf(model.Properties))
	}
	if err == nil {
		err = m.keys(at, "aliases", model.Name, aliases)
	}
	if err != nil {
		return err
	}
	return eachPage(func(p domain.Page) (domain.List[registry.ModelVersion], error) {
		return v.Models.ModelVersions(model.ID, registry.ModelVersionQuery{Page: p})
	}, func(head registry.ModelVersion) error {
		versions, err := v.Models.RegisteredVersions(project.ID, []string{head.ID})
		if err != nil || len(versions) == 0 {
			return err
		}
		return m.version(at, name, versions[0])
	})
}

func (m *mlflowStore) version(at, model string, version registry.RegisteredVersion) error {
	at = filepath.Join(at, fmt.Sprintf("version-%d", version.Version))
	var run, link any
	if version.IterationID != nil {
		run = strings.ReplaceAll(*version.IterationID, "-", "")
	} else if version.RunID != "" {
		run = version.RunID
	}
	if version.RunLink != "" {
		link = version.RunLink
	}
	source := version.Source
	if source == "" && run != nil {
		source = strings.TrimSuffix(m.artifacts[run.(string)]+"/"+(&url.URL{Path: version.ArtifactName}).EscapedPath(), "/")
	}
	location := m.located(version.Location)
	if location == version.Location {
		location = m.located(source)
	}
	err := writeYAML(filepath.Join(at, "meta.yaml"), map[string]any{"name": model, "version": version.Version, "creation_timestamp": int64(version.CreatedDate),
		"last_updated_timestamp": int64(version.UpdatedDate), "current_stage": mlflowStages[version.Stage], "description": version.Description, "source": source,
		"storage_location": location, "run_id": run, "run_link": link, "status": "READY", "status_message": nil, "user_id": nil})
	if err == nil {
		err = os.MkdirAll(filepath.Join(at, "tags"), 0o755)
	}
	if err == nil {
		err = m.keys(at, "tags", fmt.Sprintf("%s %d", model, version.Version), textsOf(version.Properties))
	}
	return err
}

// located converts the URI of a version's files to a URI in the exported folder. If uri does not
// name an exported run or logged model, located returns uri unchanged.
func (m *mlflowStore) located(uri string) string {
	parts := strings.Split(uri, "/")
	for i, part := range parts {
		root, known := m.artifacts[part]
		if !known {
			continue
		}
		if parts[0] == "models:" || parts[0] == "runs:" {
			return strings.TrimSuffix(root+"/"+strings.Join(parts[i+1:], "/"), "/")
		}
		if i+1 < len(parts) && parts[i+1] == "artifacts" {
			return strings.TrimSuffix(root+"/"+strings.Join(parts[i+2:], "/"), "/")
		}
	}
	return uri
}
