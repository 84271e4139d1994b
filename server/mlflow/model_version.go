package mlflow

import (
	"strconv"
	"strings"

	"tracker/store"
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

// stageNames holds the stages as the protocol names them.
var stageNames = map[store.Stage]string{
	store.NoStage:    "None",
	store.Staging:    "Staging",
	store.Production: "Production",
	store.Archived:   "Archived",
}

// stageOf reads the name of a stage, in any case.
func stageOf(name string) (store.Stage, error) {
	for stage, known := range stageNames {
		if strings.EqualFold(name, known) {
			return stage, nil
		}
	}
	return "", store.Invalid("stage", "Invalid Model Version stage: %s. Value must be one of None, Staging, Production, Archived.", name)
}

func versionOf(v store.RegisteredVersion) modelVersion {
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

// versionRun returns the id of the run that a version came from, "" for none.
func versionRun(v store.RegisteredVersion) string {
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

// version returns a version of a model by name and number.
func (c *call) version(name, number string) (store.RegisteredVersion, error) {
	if err := need("version", number); err != nil {
		return store.RegisteredVersion{}, err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return store.RegisteredVersion{}, store.Invalid("version", "Invalid value %q for parameter 'version': it must be a whole number.", number)
	}
	m, err := c.modelNamed(name)
	if err != nil {
		return store.RegisteredVersion{}, err
	}
	var found *store.RegisteredVersion
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		found, err = numbered(v, m, n)
		return err
	})
	if err == nil && found == nil {
		err = store.Errorf(store.CodeNotFound, "Model Version (name=%s, version=%d) not found", name, n)
	}
	if err != nil {
		return store.RegisteredVersion{}, err
	}
	return *found, nil
}

// answerVersion returns a version as it is now.
func (c *call) answerVersion(v store.RegisteredVersion) (out versionAnswer, err error) {
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
	n := store.NewModelVersion{Source: string(in.Source), Description: string(in.Description), Properties: properties}
	n.Origin.RunID, n.Origin.RunLink = string(in.RunID), string(in.RunLink)
	if !isPrompt(properties) {
		if err := c.resolve(&n, string(in.ModelID)); err != nil {
			return out, err
		}
	}
	if err := c.takeRun(m.ProjectID, &n); err != nil {
		return out, err
	}
	created, err := c.db.CreateModelVersion(c.ctx, c.actor, m.ID, n)
	if err != nil {
		return out, err
	}
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		all, err := v.RegisteredVersions(m.ProjectID, []string{created.ID})
		if err == nil && len(all) == 0 {
			err = store.Errorf(store.CodeNotFound, "The version was deleted.")
		}
		if err == nil {
			out.Version = versionOf(all[0])
		}
		return err
	})
	return out, err
}

// isPrompt reports whether these are the tags of a prompt.
func isPrompt(properties []store.Property) bool {
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
	err = c.db.UpdateModelVersion(c.ctx, c.actor, v.ID, store.ModelVersionPatch{Description: (*string)(&in.Description)})
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
	return c.db.DeleteModelVersion(c.ctx, c.actor, v.ID)
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
	others := store.OthersKept
	if in.Archive {
		if stage != store.Staging && stage != store.Production {
			return out, store.Invalid("archive_existing_versions", "Only the versions in Staging or Production can be archived by a transition, not those in %s.", stageNames[stage])
		}
		others = store.OthersArchived
	}
	v, err := c.version(string(in.Name), string(in.Version))
	if err != nil {
		return out, err
	}
	err = c.db.UpdateModelVersion(c.ctx, c.actor, v.ID, store.ModelVersionPatch{Stage: &stage, Others: others})
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
	return c.db.SetProperties(c.ctx, c.actor, store.ModelVersionProperty, v.ID, []store.Property{{Key: string(in.Key), Value: string(in.Value)}})
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
	return notFoundIsFine(c.db.DeleteProperty(c.ctx, c.actor, store.ModelVersionProperty, v.ID, string(in.Key)))
}
