package mlflow

import (
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
)

type modelVersion struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Created     int64    `json:"creation_timestamp"`
	Updated     int64    `json:"last_updated_timestamp"`
	Stage       string   `json:"current_stage"`
	Description string   `json:"description"`
	Source      string   `json:"source"`
	RunID       string   `json:"run_id"`
	Status      string   `json:"status"`
	RunLink     string   `json:"run_link,omitzero"`
	Tags        []pair   `json:"tags,omitempty"`
	Aliases     []string `json:"aliases,omitempty"`
}

// stageNames maps stages to the protocol's names.
var stageNames = map[registry.Stage]string{
	registry.NoStage:    "None",
	registry.Staging:    "Staging",
	registry.Production: "Production",
	registry.Archived:   "Archived",
}

// stageOf returns the stage with the given name in any case. It returns an error for an unknown
// name.
func stageOf(name string) (registry.Stage, error) {
	for stage, known := range stageNames {
		if strings.EqualFold(name, known) {
			return stage, nil
		}
	}
	return "", domain.Invalid("stage", "Invalid Model Version stage: %s. Value must be one of None, Staging, Production, Archived.", name)
}

func versionOf(v registry.RegisteredVersion) modelVersion {
	return modelVersion{
		Name:        v.ModelName,
		Version:     strconv.FormatInt(v.Version, 10),
		Created:     int64(v.CreatedDate),
		Updated:     int64(v.UpdatedDate),
		Stage:       stageNames[v.Stage],
		Description: v.Description,
		Source:      sourceOf(v),
		RunID:       versionRun(v),
		Status:      "READY",
		RunLink:     v.RunLink,
		Tags:        pairsOf(v.Properties),
		Aliases:     v.Aliases,
	}
}

// versionRun returns the id of the run that created a version, or "" if the version has no run.
func versionRun(v registry.RegisteredVersion) string {
	if v.IterationID != nil {
		return compact(*v.IterationID)
	}
	return v.RunID
}

type versionAnswer struct {
	Version modelVersion `json:"model_version"`
}

type versionsAnswer struct {
	Versions []modelVersion `json:"model_versions,omitempty"`
	Next     string         `json:"next_page_token,omitzero"`
}

// version returns the model version with the given model name and number.
func (c *call) version(name, number string) (registry.RegisteredVersion, error) {
	if err := need("version", number); err != nil {
		return registry.RegisteredVersion{}, err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return registry.RegisteredVersion{}, domain.Invalid("version", "Invalid value %q for parameter 'version': it must be a whole number.", number)
	}
	m, err := c.modelNamed(name)
	if err != nil {
		return registry.RegisteredVersion{}, err
	}
	var found *registry.RegisteredVersion
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		found, err = numbered(v, m, n)
		return err
	})
	if err == nil && found == nil {
		err = domain.Errorf(domain.CodeNotFound, "Model Version (name=%s, version=%d) not found", name, n)
	}
	if err != nil {
		return registry.RegisteredVersion{}, err
	}
	return *found, nil
}

// answerVersion returns a response with the current state of a model version.
func (c *call) answerVersion(v registry.RegisteredVersion) (out versionAnswer, err error) {
	now, err := c.version(v.ModelName, strconv.FormatInt(v.Version, 10))
	if err == nil {
		out.Version = versionOf(now)
	}
	return out, err
}

type newVersion struct {
	Name        text  `json:"name"`
	Source      text  `json:"source"`
	RunID       text  `json:"run_id"`
	ModelID     text  `json:"model_id"`
	RunLink     text  `json:"run_link"`
	Description text  `json:"description"`
	Tags        []tag `json:"tags"`
}

func (c *call) createVersion(in newVersion) (out versionAnswer, err error) {
	if err := need("source", string(in.Source)); err != nil {
		return out, err
	}
	properties, err := registryProperties(in.Tags)
	if err != nil {
		return out, err
	}
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return out, err
	}
	n := registry.NewModelVersion{Source: string(in.Source), Description: string(in.Description), Properties: properties}
	n.Origin.RunID, n.Origin.RunLink = string(in.RunID), string(in.RunLink)
	if !isPrompt(properties) {
		if err := c.resolve(&n, string(in.ModelID)); err != nil {
			return out, err
		}
	}
	if err := c.takeRun(m.ProjectID, &n); err != nil {
		return out, err
	}
	created, err := c.db.Models.CreateModelVersion(c.ctx, c.actor, m.ID, n)
	if err != nil {
		return out, err
	}
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		all, err := v.Models.RegisteredVersions(m.ProjectID, []string{created.ID})
		if err == nil && len(all) == 0 {
			err = domain.Errorf(domain.CodeNotFound, "The version was deleted.")
		}
		if err == nil {
			out.Version = versionOf(all[0])
		}
		return err
	})
	return out, err
}

// isPrompt reports whether the properties mark a prompt.
func isPrompt(properties []domain.Property) bool {
	for _, p := range properties {
		if p.Key == tagIsPrompt && strings.EqualFold(p.Value, "true") {
			return true
		}
	}
	return false
}

type versionKey struct {
	Name    text `json:"name"`
	Version text `json:"version"`
}

func (c *call) modelVersion(in versionKey) (out versionAnswer, err error) {
	v, err := c.version(string(in.Name), string(in.Version))
	if err == nil {
		out.Version = versionOf(v)
	}
	return out, err
}

func (c *call) updateVersion(in struct {
	versionKey
	Description text `json:"description"`
}) (out versionAnswer, err error) {
	v, err := c.version(string(in.Name), string(in.Version))
	if err != nil {
		return out, err
	}
	err = c.db.Models.UpdateModelVersion(c.ctx, c.actor, v.ID, registry.ModelVersionPatch{Description: (*string)(&in.Description)})
	if err != nil {
		return out, err
	}
	return c.answerVersion(v)
}

func (c *call) deleteVersion(in versionKey) error {
	v, err := c.version(string(in.Name), string(in.Version))
	if err != nil {
		return err
	}
	return c.db.Models.DeleteModelVersion(c.ctx, c.actor, v.ID)
}

func (c *call) transitionStage(in struct {
	versionKey
	Stage   text `json:"stage"`
	Archive flag `json:"archive_existing_versions"`
}) (out versionAnswer, err error) {
	if err := need("stage", string(in.Stage)); err != nil {
		return out, err
	}
	stage, err := stageOf(string(in.Stage))
	if err != nil {
		return out, err
	}
	others := registry.OthersKept
	if in.Archive {
		if stage != registry.Staging && stage != registry.Production {
			return out, domain.Invalid("archive_existing_versions", "A transition can archive only the versions in Staging or Production, not in %s.", stageNames[stage])
		}
		others = registry.OthersArchived
	}
	v, err := c.version(string(in.Name), string(in.Version))
	if err != nil {
		return out, err
	}
	err = c.db.Models.UpdateModelVersion(c.ctx, c.actor, v.ID, registry.ModelVersionPatch{Stage: &stage, Others: others})
	if err != nil {
		return out, err
	}
	return c.answerVersion(v)
}

func (c *call) setVersionTag(in struct {
	versionKey
	tag
}) error {
	if err := checkRegistryTag(in.tag); err != nil {
		return err
	}
	v, err := c.version(string(in.Name), string(in.Version))
	if err != nil {
		return err
	}
	return c.db.Runs.SetProperties(c.ctx, c.actor, runs.ModelVersionProperty, v.ID, []domain.Property{{Key: string(in.Key), Value: string(in.Value)}})
}

func (c *call) deleteVersionTag(in struct {
	versionKey
	Key text `json:"key"`
}) error {
	if err := checkKey(string(in.Key)); err != nil {
		return err
	}
	v, err := c.version(string(in.Name), string(in.Version))
	if err != nil {
		return err
	}
	return notFoundIsFine(c.db.Runs.DeleteProperty(c.ctx, c.actor, runs.ModelVersionProperty, v.ID, string(in.Key)))
}
