package wandb

import (
	"strings"

	"tracker/store"
	"tracker/store/collections"
	"tracker/store/domain"
)

// artifactMutations returns the mutation fields for artifacts.
func (c *call) artifactMutations() object {
	return object{
		"createArtifact":         c.createArtifact,
		"createArtifactManifest": c.createManifest,
		"updateArtifactManifest": c.updateManifest,
		"createArtifactFiles":    c.createArtifactFiles,
		"commitArtifact":         c.commitArtifact,
		"updateArtifact":         c.updateArtifact,
		"addAliases":             c.addAliases,
		"deleteAliases":          c.deleteAliases,
		"deleteArtifact":         c.deleteArtifact,
		"useArtifact":            c.useArtifact,
	}
}

// entityOr returns name, or the caller's username if name is empty.
func (c *call) entityOr(name string) string {
	if name == "" {
		return c.user.Username
	}
	return name
}

func (c *call) createArtifact(a args) (any, error) {
	if a.str("runName") == "" {
		return nil, domain.Invalid("runName", "This server stores only artifacts that a run logs; use run.log_artifact.")
	}
	var run string
	err := c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
		run, err = v.Wandb.Iteration(orDefault(a.str("projectName")), a.str("runName"))
		return err
	})
	if err != nil {
		return nil, err
	}
	names := a.texts("artifactCollectionNames")
	collection := a.str("artifactCollectionName")
	if collection == "" && len(names) > 0 {
		collection = names[0]
	}
	var step *int64
	if a["historyStep"] != nil {
		step = new(a.number("historyStep", 0))
	}
	made, err := c.db.Collections.CreateVersion(c.ctx, c.actor, collections.NewVersion{
		IterationID: run, Collection: collection, Type: a.str("artifactTypeName"), Digest: a.str("digest"), ClientID: a.str("clientID"), SharedID: a.str("distributedID"),
		Description: a.str("description"), Metadata: metadataText(a), Aliases: aliasNames(a), Tags: tagNames(a, "tags"), HistoryStep: step, TTL: ttlOf(a)})
	if err != nil {
		return nil, err
	}
	return object{"artifact": c.artifactObject(c.entityOr(a.str("entityName")), &made)}, nil
}

func orDefault(project string) string {
	if project == "" {
		return defaultProject
	}
	return project
}

// manifestObject returns the manifest of an artifact version, with its upload address. The
// manifest's id is the id of the version. The id of a manifest part also has a slash and the
// part's name.
func (c *call) manifestObject(a collections.Version, name string) object {
	id := a.ID
	if name != manifestName {
		id += "/" + name
	}
	address := func(args) (any, error) { return c.artifactURL(&a, name) }
	return object{"artifactManifest": object{"__typename": "ArtifactManifest", "id": id, "file": object{"__typename": "File", "id": id,
		"name": manifestName, "displayName": manifestName, "uploadHeaders": []string{}, "uploadUrl": address, "directUrl": address}}}
}

// createManifest returns the manifest of an artifact version. If several writers share the version,
// or if it adds files to the newest version, createManifest returns a new part of the manifest
// instead.
func (c *call) createManifest(in args) (any, error) {
	a, err := c.artifactVersion(in.str("artifactID"))
	if err != nil {
		return nil, err
	}
	name := manifestName
	if kind := in.str("type"); kind == "PATCH" || kind == "INCREMENTAL" {
		if name, err = c.newPart(&a, kind); err != nil {
			return nil, err
		}
	}
	return c.manifestObject(a, name), nil
}

func (c *call) updateManifest(in args) (any, error) {
	id, name, _ := strings.Cut(in.str("artifactManifestID"), "/")
	a, err := c.artifactVersion(id)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(name, partsName+"/") {
		name = manifestName
	}
	return c.manifestObject(a, name), nil
}

// createArtifactFiles returns an upload address for each file, in the order of the request.
func (c *call) createArtifactFiles(a args) (any, error) {
	known := map[string]*collections.Version{}
	var nodes []object
	for _, f := range a.objects("artifactFiles") {
		id, name := f.str("artifactID"), f.str("name")
		if known[id] == nil {
			found, err := c.artifactVersion(id)
			if err != nil {
				return nil, err
			}
			known[id] = &found
		}
		of := known[id]
		if err := c.takeNamed(name); err != nil {
			return nil, err
		}
		link, err := c.artifactURL(of, name)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, object{"__typename": "File", "id": of.ID + "/" + name, "name": name, "displayName": name, "storagePath": name,
			"uploadUrl": link, "uploadHeaders": []string{}, "uploadMultipartUrls": nil, "artifact": object{"__typename": "Artifact", "id": artifactID(of.ID)}})
	}
	return object{"files": connection(nodes)}, nil
}

func (c *call) commitArtifact(a args) (any, error) {
	found, err := c.artifactVersion(a.str("artifactID"))
	if err != nil {
		return nil, err
	}
	if found.State == collections.Pending {
		defer c.untimed()()
		if err := c.joinManifest(&found); err != nil {
			return nil, err
		}
		entries, err := c.readManifest(&found)
		if isNotFound(err) {
			err = domain.Invalid("manifest", "The manifest of the artifact has not arrived; log the artifact again.")
		}
		if err != nil {
			return nil, err
		}
		if found, err = c.db.Collections.CommitVersion(c.ctx, c.actor, found.ID, entries); err != nil {
			return nil, err
		}
	}
	return object{"artifact": c.artifactObject(c.user.Username, &found)}, nil
}

func (c *call) updateArtifact(a args) (any, error) {
	p := collections.Patch{TTL: ttlOf(a), Description: a.text("description"), Metadata: a.text("metadata"), AddTags: tagNames(a, "tagsToAdd"), RemoveTags: tagNames(a, "tagsToDelete")}
	if a["aliases"] != nil {
		p.Aliases = append([]string{}, aliasNames(a)...)
	}
	changed, err := c.db.Collections.UpdateVersion(c.ctx, c.actor, storedID(a.str("artifactID")), p)
	if err != nil {
		return nil, err
	}
	return object{"artifact": c.artifactObject(c.user.Username, &changed)}, nil
}

func (c *call) deleteArtifact(a args) (any, error) {
	defer c.untimed()()
	deleted, err := c.db.Collections.DeleteVersion(c.ctx, c.actor, storedID(a.str("artifactID")), a.truth("deleteAliases"))
	if err != nil {
		return nil, err
	}
	return object{"artifact": c.artifactObject(c.user.Username, &deleted), "success": true}, nil
}

func (c *call) useArtifact(a args) (any, error) {
	var run string
	err := c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
		run, err = v.Wandb.Iteration(orDefault(a.str("projectName")), a.str("runName"))
		return err
	})
	if err != nil {
		return nil, err
	}
	used, err := c.db.Collections.UseVersion(c.ctx, c.actor, storedID(a.str("artifactID")), run)
	if err != nil {
		return nil, err
	}
	return object{"artifact": c.artifactObject(c.entityOr(a.str("entityName")), &used)}, nil
}
