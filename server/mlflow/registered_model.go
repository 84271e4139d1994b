package mlflow

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
)

const (
	maxRegistryTag  = 100_000 // in characters; a prompt is stored as the value of a tag
	tagIsPrompt     = "mlflow.prompt.is_prompt"
	maxModelsPage   = 1000
	modelsPage      = 100
	recordsAtOnce   = 100      // number of records read at once
	maxAnswerBytes  = 32 << 20 // bytes of text in a response; a page ends with the record that exceeds it
	maxRegistryTags = domain.MaxProperties
)

type registeredModel struct {
	Name           string         `json:"name"`
	Created        int64          `json:"creation_timestamp"`
	Updated        int64          `json:"last_updated_timestamp"`
	Description    string         `json:"description,omitzero"`
	LatestVersions []modelVersion `json:"latest_versions,omitempty"`
	Tags           []pair         `json:"tags,omitempty"`
	Aliases        []modelAlias   `json:"aliases,omitempty"`
}

type modelAlias struct {
	Alias   string `json:"alias"`
	Version string `json:"version"`
}

func registeredModelOf(m registry.RegisteredModel) registeredModel {
	out := registeredModel{
		Name:        m.Name,
		Created:     int64(m.CreatedDate),
		Updated:     int64(m.UpdatedDate),
		Description: m.Description,
		Tags:        pairsOf(m.Properties),
	}
	for _, v := range m.Latest {
		out.Updated = max(out.Updated, int64(v.UpdatedDate))
		out.LatestVersions = append(out.LatestVersions, versionOf(v))
	}
	for _, a := range m.Aliases {
		out.Aliases = append(out.Aliases, modelAlias{a.Alias, strconv.FormatInt(a.Version, 10)})
	}
	return out
}

// checkModelName returns an error if name is not valid for a new model.
func checkModelName(field, name string) error {
	if strings.TrimSpace(name) == "" {
		return need(field, "")
	}
	if strings.ContainsAny(name, "/:") || name == "." || name == ".." {
		return domain.Invalid(field, "Invalid model name %q: it must not have a slash or a colon, nor be \".\" or \"..\".", name)
	}
	return nil
}

// registryProperties converts the tags of a model or version to properties. If a tag is
// repeated, its last value is used.
func registryProperties(tags []tag) ([]domain.Property, error) {
	if len(tags) > maxRegistryTags {
		return nil, domain.Invalid("tags", "At most %d tags can be set at once.", maxRegistryTags)
	}
	var all []domain.Property
	for _, t := range tags {
		if err := checkRegistryTag(t); err != nil {
			return nil, err
		}
		all = setProperty(all, string(t.Key), string(t.Value))
	}
	return all, nil
}

func checkRegistryTag(t tag) error {
	if err := checkKey(string(t.Key)); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(string(t.Value)); n > maxRegistryTag {
		return domain.Invalid("value", "The value of the tag %q has %d characters; the maximum is %d.", t.Key, n, maxRegistryTag)
	}
	return nil
}

// modelNamed returns the model with the given name in the requested project.
func (c *call) modelNamed(name string) (registry.Model, error) {
	if err := need("name", strings.TrimSpace(name)); err != nil {
		return registry.Model{}, err
	}
	project, err := c.readProject()
	if err != nil && !isNotFound(err) {
		return registry.Model{}, err
	}
	if err == nil {
		l, err := c.db.Models.Models(c.ctx, c.actor, project, registry.ModelQuery{Page: domain.FirstPage, Name: &name})
		if err != nil || len(l.Data) > 0 {
			return append(l.Data, registry.Model{})[0], err
		}
	}
	return registry.Model{}, domain.Errorf(domain.CodeNotFound, "Registered Model with name=%s not found", name)
}

// registered returns a registered model in the format of responses.
func (c *call) registered(projectID, id string) (out registeredModel, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		all, err := v.Models.RegisteredModels(projectID, []string{id})
		if err == nil && len(all) == 0 {
			err = domain.Errorf(domain.CodeNotFound, "The registered model was deleted.")
		}
		if err != nil {
			return err
		}
		out = registeredModelOf(all[0])
		return nil
	})
	return out, err
}

type registeredModelAnswer struct {
	Model registeredModel `json:"registered_model"`
}

func (c *call) answerModel(m registry.Model) (registeredModelAnswer, error) {
	out, err := c.registered(m.ProjectID, m.ID)
	return registeredModelAnswer{out}, err
}

func (c *call) createRegisteredModel(in struct {
	Name        text  `json:"name"`
	Tags        []tag `json:"tags"`
	Description text  `json:"description"`
}) (out registeredModelAnswer, err error) {
	if err := checkModelName("name", string(in.Name)); err != nil {
		return out, err
	}
	properties, err := registryProperties(in.Tags)
	if err != nil {
		return out, err
	}
	project, err := c.makeProject()
	if err != nil {
		return out, err
	}
	created, err := c.db.Models.CreateModel(c.ctx, c.actor, project,
		registry.NewModel{Name: string(in.Name), Description: string(in.Description), Properties: properties})
	if isConflict(err) {
		return out, exists("Registered Model (name=" + string(in.Name) + ") already exists.")
	}
	if err != nil {
		return out, err
	}
	out.Model, err = c.registered(project, created.ID)
	return out, err
}

func (c *call) renameRegisteredModel(in struct {
	Name    text `json:"name"`
	NewName text `json:"new_name"`
}) (out registeredModelAnswer, err error) {
	if err := checkModelName("new_name", string(in.NewName)); err != nil {
		return out, err
	}
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return out, err
	}
	err = c.db.Models.UpdateModel(c.ctx, c.actor, m.ID, registry.ModelPatch{Name: (*string)(&in.NewName)})
	if isConflict(err) {
		return out, exists("Registered Model (name=" + string(in.NewName) + ") already exists.")
	}
	if err != nil {
		return out, err
	}
	return c.answerModel(m)
}

func (c *call) updateRegisteredModel(in struct {
	Name        text `json:"name"`
	Description text `json:"description"`
}) (out registeredModelAnswer, err error) {
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return out, err
	}
	if err := c.db.Models.UpdateModel(c.ctx, c.actor, m.ID, registry.ModelPatch{Description: (*string)(&in.Description)}); err != nil {
		return out, err
	}
	return c.answerModel(m)
}

type modelName struct {
	Name text `json:"name"`
}

func (c *call) deleteRegisteredModel(in modelName) error {
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return err
	}
	return c.db.Models.DeleteModel(c.ctx, c.actor, m.ID)
}

func (c *call) registeredModel(in modelName) (out registeredModelAnswer, err error) {
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return out, err
	}
	return c.answerModel(m)
}

type latestQuery struct {
	Name   text  `json:"name"`
	Stages texts `json:"stages"`
}

func (c *call) latestVersions(in latestQuery) (out versionsAnswer, err error) {
	wanted := map[string]bool{}
	for _, s := range in.Stages {
		stage, err := stageOf(s)
		if err != nil {
			return out, err
		}
		wanted[stageNames[stage]] = true
	}
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return out, err
	}
	all, err := c.registered(m.ProjectID, m.ID)
	for _, v := range all.LatestVersions {
		if len(wanted) == 0 || wanted[v.Stage] {
			out.Versions = append(out.Versions, v)
		}
	}
	return out, err
}

func (c *call) setModelTag(in struct {
	Name text `json:"name"`
	tag
}) error {
	if err := checkRegistryTag(in.tag); err != nil {
		return err
	}
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return err
	}
	return c.db.Runs.SetProperties(c.ctx, c.actor, runs.ModelProperty, m.ID, []domain.Property{{Key: string(in.Key), Value: string(in.Value)}})
}

func (c *call) deleteModelTag(in struct {
	Name text `json:"name"`
	Key  text `json:"key"`
}) error {
	if err := checkKey(string(in.Key)); err != nil {
		return err
	}
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return err
	}
	return notFoundIsFine(c.db.Runs.DeleteProperty(c.ctx, c.actor, runs.ModelProperty, m.ID, string(in.Key)))
}

// isConflict reports whether err is a CONFLICT error.
func isConflict(err error) bool {
	return err != nil && domain.AsError(err).Code == domain.CodeConflict
}

// notFoundIsFine returns nil if err means that a record does not exist. It returns other errors
// unchanged.
func notFoundIsFine(err error) error {
	if isNotFound(err) {
		return nil
	}
	return err
}

type aliasOf struct {
	Name    text `json:"name"`
	Alias   text `json:"alias"`
	Version text `json:"version"`
}

func (c *call) setAlias(in aliasOf) error {
	if err := need("alias", string(in.Alias)); err != nil {
		return err
	}
	v, err := c.version(string(in.Name), string(in.Version))
	if err != nil {
		return err
	}
	return c.db.Models.AddAlias(c.ctx, c.actor, v.ID, string(in.Alias))
}

func (c *call) deleteAlias(in aliasOf) error {
	if err := need("alias", string(in.Alias)); err != nil {
		return err
	}
	m, err := c.modelNamed(string(in.Name))
	if err != nil {
		return err
	}
	return c.db.Models.RemoveAlias(c.ctx, c.actor, m.ID, string(in.Alias))
}

func (c *call) versionByAlias(in aliasOf) (out versionAnswer, err error) {
	if err := need("alias", string(in.Alias)); err != nil {
		return out, err
	}
	v, err := c.aliased(string(in.Name), string(in.Alias))
	if err == nil {
		out.Version = versionOf(v)
	}
	return out, err
}

// aliased returns the version of a model with the given alias. The alias "latest" selects the
// newest version.
func (c *call) aliased(name, alias string) (registry.RegisteredVersion, error) {
	m, err := c.modelNamed(name)
	if err != nil {
		return registry.RegisteredVersion{}, err
	}
	var found *registry.RegisteredVersion
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		all, err := v.Models.RegisteredModels(m.ProjectID, []string{m.ID})
		if err != nil || len(all) == 0 {
			return errors.Join(err)
		}
		number := int64(0)
		for _, a := range all[0].Aliases {
			if a.Alias == alias {
				number = a.Version
			}
		}
		if strings.EqualFold(alias, "latest") {
			for _, latest := range all[0].Latest {
				number = max(number, latest.Version)
			}
		}
		found, err = numbered(v, m, number)
		return err
	})
	switch {
	case err != nil:
	case found == nil && strings.EqualFold(alias, "latest"):
		err = domain.Errorf(domain.CodeNotFound, "Latest version not found for model %s.", name)
	case found == nil:
		err = domain.Invalid("alias", "Registered model alias %s not found.", alias)
	default:
		return *found, nil
	}
	return registry.RegisteredVersion{}, err
}

// numbered returns the version of m with the given number, or nil if the version does not
// exist.
func numbered(v *store.View, m registry.Model, number int64) (*registry.RegisteredVersion, error) {
	heads, err := v.Models.FindVersions(m.ProjectID, &m.Name, nil, func(h registry.VersionHead) bool { return h.Version == number })
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	all, err := v.Models.RegisteredVersions(m.ProjectID, []string{heads[0].ID})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}
