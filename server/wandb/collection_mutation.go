package wandb

import (
	"strings"

	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// collectionMutations returns the mutation fields for collections and links.
func (c *call) collectionMutations() object {
	return object{
		"linkArtifact":            c.linkArtifact,
		"unlinkArtifact":          c.unlinkArtifact,
		"updateArtifactSequence":  c.updateCollection,
		"updateArtifactPortfolio": c.updateCollection,
		"moveArtifactSequence":    c.moveSequence,
		"deleteArtifactSequence":  c.deleteCollection,
		"deleteArtifactPortfolio": c.deleteCollection,

		"createArtifactCollectionTagAssignments": c.addCollectionTags,
		"deleteArtifactCollectionTagAssignments": c.deleteCollectionTags,
	}
}

// linkArtifact registers an artifact version as a version of a model.
func (c *call) linkArtifact(a args) (any, error) {
	id := a.str("artifactID")
	if id == "" {
		id = a.str("clientID")
	}
	found, err := c.artifactVersion(id)
	if err != nil {
		return nil, err
	}
	projectID, name := "", a.str("artifactPortfolioName")
	if portfolioID := a.str("artifactPortfolioID"); portfolioID != "" {
		m, err := c.db.Models.Model(c.ctx, c.actor, portfolioID)
		if err != nil {
			return nil, err
		}
		projectID, name = m.ProjectID, m.Name
	} else if projectID, err = c.ensureProject(orDefault(a.str("projectName"))); err != nil {
		return nil, err
	}
	link, err := c.db.Collections.LinkVersion(c.ctx, c.actor, found.ID, projectID, name, aliasNames(a))
	if err != nil {
		return nil, err
	}
	m := member{&link.Version, &link}
	return object{"versionIndex": m.index(), "artifactMembership": c.membership(c.entityOr(a.str("entityName")), m)}, nil
}

// ensureProject returns the id of the project with a name that a client has sent. It creates the
// project if it does not exist.
func (c *call) ensureProject(name string) (id string, err error) {
	if id, err = c.projectNamed(name); isNotFound(err) {
		return c.db.Projects.EnsureProject(c.ctx, c.actor, domain.NewProject{Name: name})
	}
	return id, err
}

func (c *call) unlinkArtifact(a args) (any, error) {
	all, err := c.db.Collections.Links(c.ctx, c.actor, collections.LinkSearch{VersionID: storedID(a.str("artifactID"))})
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.ModelID == a.str("artifactPortfolioID") {
			err := c.db.Models.DeleteModelVersion(c.ctx, c.actor, l.LinkID)
			return object{"success": err == nil}, err
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "The artifact is not linked to this collection.")
}

// sequenceID returns the experiment and the name of the artifact whose collection has the given id
// in the protocol. ok is false if the collection is a model.
func sequenceID(id string) (experimentID, name string, ok bool) { return strings.Cut(id, "/") }

// collectionID returns the id of the collection that the arguments of a mutation name.
func collectionID(a args) string {
	for _, name := range []string{"artifactSequenceID", "artifactPortfolioID"} {
		if id := a.str(name); id != "" {
			return id
		}
	}
	return ""
}

func (c *call) updateCollection(a args) (any, error) {
	id := collectionID(a)
	experimentID, name, isSequence := sequenceID(id)
	var err error
	if isSequence {
		if to := a.str("name"); to != "" && to != name {
			return nil, domain.Invalid("name", "The name of an artifact can't be changed, because its files are stored under it; log the files under the new name.")
		}
		err = c.db.Collections.UpdateCollection(c.ctx, c.actor, experimentID, name, collections.CollectionPatch{Description: a.text("description")})
	} else {
		patch := registry.ModelPatch{Description: a.text("description")}
		if to := a.text("name"); to != nil && *to != "" {
			patch.Name = to
		}
		err = c.db.Models.UpdateModel(c.ctx, c.actor, id, patch)
	}
	if err != nil {
		return nil, err
	}
	return c.collectionAnswer(id)
}

// moveSequence changes the type of a collection.
func (c *call) moveSequence(a args) (any, error) {
	id := collectionID(a)
	experimentID, name, isSequence := sequenceID(id)
	if !isSequence {
		return nil, domain.Invalid("artifactSequenceID", "The type of a linked collection is the type of its versions; change the type of their own collection.")
	}
	kind := a.str("destinationArtifactTypeName")
	if err := c.db.Collections.UpdateCollection(c.ctx, c.actor, experimentID, name, collections.CollectionPatch{Type: &kind}); err != nil {
		return nil, err
	}
	return c.collectionAnswer(id)
}

func (c *call) deleteCollection(a args) (any, error) {
	id := collectionID(a)
	experimentID, name, isSequence := sequenceID(id)
	typename := "ArtifactPortfolio"
	var err error
	if isSequence {
		defer c.untimed()()
		typename = "ArtifactSequence"
		err = c.db.Collections.DeleteCollection(c.ctx, c.actor, experimentID, name)
	} else {
		err = c.db.Models.DeleteModel(c.ctx, c.actor, id)
	}
	return object{"artifactCollection": object{"__typename": typename, "id": id, "state": "DELETED"}}, err
}

// collectionAnswer returns the response of a mutation that has changed a collection.
func (c *call) collectionAnswer(id string) (any, error) {
	o, err := c.collectionByID(c.user.Username, id)
	return object{"artifactCollection": o}, err
}

// collectionByID returns the collection with the given id in the protocol, or nil if it does not
// exist.
func (c *call) collectionByID(entity, id string) (object, error) {
	var projectID string
	experimentID, name, isSequence := sequenceID(id)
	if isSequence {
		e, err := c.db.Projects.Experiment(c.ctx, c.actor, experimentID)
		if err != nil {
			return nil, ignoreMissing(err)
		}
		projectID = e.ProjectID
	} else {
		m, err := c.db.Models.Model(c.ctx, c.actor, id)
		if err != nil {
			return nil, ignoreMissing(err)
		}
		projectID, name = m.ProjectID, m.Name
	}
	p, err := c.db.Projects.Project(c.ctx, c.actor, projectID)
	if err != nil {
		return nil, err
	}
	all, err := c.collections(entity, projectID, p.Name)
	for _, l := range all {
		if l.id == id || isSequence && l.name == name {
			return l.object(), nil
		}
	}
	return nil, err
}

// ignoreMissing returns nil if err means that a record does not exist, and err otherwise.
func ignoreMissing(err error) error {
	if isNotFound(err) {
		return nil
	}
	return err
}

// namedCollection returns the id of the collection that the arguments name by its project and its
// name.
func (c *call) namedCollection(a args) (id string, err error) {
	projectID, err := c.projectNamed(orDefault(a.str("projectName")))
	if err != nil {
		return "", err
	}
	all, err := c.collections("", projectID, "")
	for _, l := range all {
		if l.name == a.str("artifactCollectionName") {
			return l.id, nil
		}
	}
	if err == nil {
		err = domain.Errorf(domain.CodeNotFound, "There is no artifact or model with this name.")
	}
	return "", err
}

func (c *call) addCollectionTags(a args) (any, error) {
	id, err := c.namedCollection(a)
	if err != nil {
		return nil, err
	}
	tags := tagNames(a, "tags")
	if experimentID, name, ok := sequenceID(id); ok {
		err = c.db.Collections.UpdateCollection(c.ctx, c.actor, experimentID, name, collections.CollectionPatch{AddTags: tags})
	} else {
		properties := make([]domain.Property, len(tags))
		for i, tag := range tags {
			properties[i] = domain.Property{Key: tag, Value: portfolioTag}
		}
		err = c.db.Runs.SetProperties(c.ctx, c.actor, runs.ModelProperty, id, properties)
	}
	return object{"tags": tagObjects(id, tags)}, err
}

func (c *call) deleteCollectionTags(a args) (any, error) {
	id, err := c.namedCollection(a)
	if err != nil {
		return nil, err
	}
	tags := tagNames(a, "tags")
	if experimentID, name, ok := sequenceID(id); ok {
		err = c.db.Collections.UpdateCollection(c.ctx, c.actor, experimentID, name, collections.CollectionPatch{RemoveTags: tags})
	} else {
		for _, tag := range tags {
			if err = c.db.Runs.DeleteProperty(c.ctx, c.actor, runs.ModelProperty, id, tag); err != nil {
				break
			}
		}
	}
	return object{"success": err == nil}, err
}

// changeAliases adds or removes aliases of an artifact version. Each alias names its collection,
// which can be the artifact of the version or a model to which the version is linked.
func (c *call) changeAliases(a args, change func(own []string) collections.Patch, link func(*collections.Link, string) error) (any, error) {
	id := storedID(a.str("artifactID"))
	var own []string
	for _, o := range a.objects("aliases") {
		alias := o.str("alias")
		if alias == "" || alias == collections.Latest || isVersion(alias) {
			continue
		}
		l, err := c.linkIn(id, o.str("projectName"), o.str("artifactCollectionName"))
		if err != nil {
			return nil, err
		}
		if l == nil {
			own = append(own, alias)
		} else if err := link(l, alias); err != nil {
			return nil, err
		}
	}
	if len(own) == 0 {
		return object{"success": true}, nil
	}
	_, err := c.db.Collections.UpdateVersion(c.ctx, c.actor, id, change(own))
	return object{"success": err == nil}, err
}

// linkIn returns the link between an artifact version and a model of a project. It returns nil if
// these are the names of the artifact itself, or if one of them is empty.
func (c *call) linkIn(id, project, model string) (*collections.Link, error) {
	if project == "" || model == "" {
		return nil, nil
	}
	a, err := c.db.Collections.Version(c.ctx, c.actor, id)
	if err != nil || a.Project == project && a.Collection == model {
		return nil, err
	}
	all, err := c.db.Collections.Links(c.ctx, c.actor, collections.LinkSearch{VersionID: a.ID})
	for i := range all {
		if all[i].Home == project && all[i].Model == model {
			return &all[i], nil
		}
	}
	if err == nil {
		err = domain.Errorf(domain.CodeNotFound, "The artifact is not linked to %s.", scalar.Quote(project+"/"+model))
	}
	return nil, err
}

func (c *call) addAliases(a args) (any, error) {
	return c.changeAliases(a, func(own []string) collections.Patch { return collections.Patch{Add: own} },
		func(l *collections.Link, alias string) error {
			return c.db.Models.AddAlias(c.ctx, c.actor, l.LinkID, alias)
		})
}

func (c *call) deleteAliases(a args) (any, error) {
	return c.changeAliases(a, func(own []string) collections.Patch { return collections.Patch{Remove: own} },
		func(l *collections.Link, alias string) error {
			return c.db.Models.RemoveAlias(c.ctx, c.actor, l.ModelID, alias)
		})
}
