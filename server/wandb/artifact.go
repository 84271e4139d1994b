package wandb

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tracker/server/web"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
)

// artifactURL returns the URL of a file in an artifact version. The URL contains temporary
// credentials.
func (c *call) artifactURL(a *collections.Version, name string) (string, error) {
	link, err := c.s.auth.Link(c.user, artifactSubject(a.ID, name), linkAge)
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return c.base() + "/artifacts/" + a.ID + "/" + strings.Join(parts, "/") + "?" + linkParameter + "=" + link, err
}

func artifactSubject(id, name string) string { return "artifact/" + id + "/" + name }

func (c *call) writeArtifactFile() error {
	a, err := c.db.Collections.Version(c.ctx, c.actor, c.vars["artifact"])
	if err != nil {
		return err
	}
	if a.State != collections.Pending {
		return domain.Errorf(domain.CodeConflict, "The artifact is complete; log another version.")
	}
	name := a.File(c.vars["name"])
	if err := c.db.Files.AllowFile(c.ctx, c.actor, files.Tree{IterationID: a.IterationID}, name); err != nil {
		return err
	}
	web.AllowUpload(c.r)
	if err := c.db.Files.CheckSize(c.r.ContentLength); err != nil {
		return err
	}
	if err := c.put(a.IterationID, name, typeOf(c.r.Header.Get("Content-Type"), name), sentFile(c.r)); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func (c *call) readArtifactFile() error {
	a, err := c.db.Collections.Version(c.ctx, c.actor, c.vars["artifact"])
	if err != nil {
		return err
	}
	return c.serveFile(a.IterationID, a.File(c.vars["name"]))
}

// readArtifactFileByMD5 sends the bytes of a file that an artifact version added. Clients use this
// route for a single manifest entry.
func (c *call) readArtifactFileByMD5() error {
	sum, err := hex.DecodeString(c.vars["md5"])
	if err != nil {
		return domain.Invalid("md5", "The MD5 of a file must be 32 hexadecimal digits.")
	}
	run, name, err := c.db.Collections.FileWith(c.ctx, c.actor, c.vars["artifact"], base64.StdEncoding.EncodeToString(sum))
	if err != nil {
		return err
	}
	return c.serveFile(run, name)
}

// artifactObject returns an artifact version with all fields that clients query.
func (c *call) artifactObject(entity string, a *collections.Version) object {
	project := func() object {
		return object{"__typename": "Project", "id": a.ProjectID, "internalId": number(a.ProjectID), "name": a.Project, "entityName": entity, "entity": c.entity(entity)}
	}
	sequence := func() object { return c.collection(entity, a) }
	aliases := make([]object, 0, len(a.Aliases)+1)
	for _, alias := range append(slices.Clone(a.Aliases), "v"+itoa(a.Version)) {
		aliases = append(aliases, object{"__typename": "ArtifactAlias", "id": a.ID + ":" + alias, "alias": alias, "artifactCollectionName": a.Collection,
			"artifactCollection": sequence()})
	}
	kind := object{"__typename": "ArtifactType", "id": a.Type, "name": a.Type, "description": nil, "createdAt": isoTime(a.CreatedDate)}
	files := func(in args) (any, error) { return c.artifactFiles(a, in) }
	return object{
		"__typename": "Artifact", "id": a.ID, "artifactSequence": sequence(), "versionIndex": a.Version, "artifactType": kind,
		"description": orNull(a.Description), "metadata": orNull(a.Metadata), "ttlDurationSeconds": -1, "ttlIsInherited": false,
		"tags": tagObjects(a), "historyStep": nil, "state": string(a.State), "size": a.Size, "digest": a.Digest, "digestAlgorithm": nil,
		"commitHash": a.ID, "fileCount": a.Files, "createdAt": isoTime(a.CreatedDate), "updatedAt": isoTime(a.UpdatedDate),
		"aliases": aliases, "project": project(),
		"currentManifest": object{"__typename": "ArtifactManifest", "id": a.ID, "file": object{"__typename": "File", "id": a.ID,
			"directUrl": func(args) (any, error) { return c.artifactURL(a, manifestName) }}},
		"files": files, "filesByManifestEntries": files,
		"createdBy": func(args) (any, error) { return c.runByID(entity, a.IterationID) },
		"usedBy": func(args) (any, error) {
			ids, err := c.db.Collections.Users(c.ctx, c.actor, a.ID)
			if err != nil {
				return nil, err
			}
			var nodes []object
			for _, id := range ids {
				r, err := c.runByID(entity, id)
				if err != nil {
					return nil, err
				}
				nodes = append(nodes, r)
			}
			return connection(nodes), nil
		},
		"artifactMemberships": func(args) (any, error) { return connection([]object{c.membership(entity, a)}), nil },
	}
}

// runByID returns the run whose iteration has the given id.
func (c *call) runByID(entity, id string) (object, error) {
	r, err := c.db.Wandb.RecordOf(c.ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	project, err := c.projectOf(&r)
	return c.runObject(entity, project, &r), err
}

// collection returns the collection that contains all versions of an artifact name.
func (c *call) collection(entity string, a *collections.Version) object {
	return object{
		"__typename": "ArtifactSequence", "id": a.ProjectID + "/" + a.Collection, "name": a.Collection, "description": nil, "state": "READY",
		"createdAt": isoTime(a.CreatedDate), "updatedAt": isoTime(a.UpdatedDate), "tags": connection(nil),
		"project": object{"__typename": "Project", "id": a.ProjectID, "internalId": number(a.ProjectID), "name": a.Project, "entityName": entity,
			"entity": object{"__typename": "Entity", "id": entity, "name": entity}},
		"defaultArtifactType": object{"__typename": "ArtifactType", "id": a.Type, "name": a.Type},
		"latestArtifact": func(args) (any, error) {
			found, err := c.version(a.ProjectID, a.Collection+":"+collections.Latest)
			if err != nil || found == nil {
				return nil, err
			}
			return c.artifactObject(entity, found), nil
		},
		"artifacts": func(in args) (any, error) {
			all, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{ProjectID: a.ProjectID, Name: a.Collection})
			if err != nil {
				return nil, err
			}
			return c.artifactPage(entity, all, in)
		},
		"aliases": func(args) (any, error) {
			all, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{ProjectID: a.ProjectID, Name: a.Collection})
			var nodes []object
			for _, v := range all {
				for _, alias := range append(slices.Clone(v.Aliases), "v"+itoa(v.Version)) {
					nodes = append(nodes, object{"__typename": "ArtifactAlias", "id": v.ID + ":" + alias, "alias": alias})
				}
			}
			return connection(nodes), err
		},
		"artifactMembership": func(in args) (any, error) {
			found, err := c.version(a.ProjectID, a.Collection+":"+in.str("aliasName"))
			if err != nil || found == nil {
				return nil, err
			}
			return c.membership(entity, found), nil
		},
	}
}

// membership returns an artifact version as a member of its collection.
func (c *call) membership(entity string, a *collections.Version) object {
	o := c.artifactObject(entity, a)
	return object{"__typename": "ArtifactCollectionMembership", "id": a.ID, "versionIndex": a.Version, "createdAt": isoTime(a.CreatedDate),
		"aliases": o["aliases"], "artifactCollection": o["artifactSequence"], "artifact": o, "files": o["files"]}
}

// artifactPage returns a page of artifact versions. The arguments "first" and "after" select
// the page.
func (c *call) artifactPage(entity string, all []collections.Version, in args) (any, error) {
	offset, err := offsetOf(in.str("after"))
	if err != nil {
		return nil, err
	}
	offset = min(offset, len(all))
	end := min(len(all), offset+int(max(1, min(in.number("first", 50), domain.MaxLimit))))
	edges := []object{}
	for i := offset; i < end; i++ {
		edges = append(edges, object{"node": c.artifactObject(entity, &all[i]), "version": "v" + itoa(all[i].Version), "cursor": itoa(int64(i + 1))})
	}
	page := pageOf(edges, "", end < len(all))
	page["totalCount"] = len(all)
	return page, nil
}

// version returns the committed artifact version with a name such as model:v3 or model:latest.
// It returns nil if the version does not exist.
func (c *call) version(projectID, name string) (*collections.Version, error) {
	name = name[strings.LastIndexByte(name, '/')+1:]
	collection, alias, ok := strings.Cut(name, ":")
	if !ok || alias == "" {
		alias = collections.Latest
	}
	all, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{ProjectID: projectID, Name: collection})
	if err != nil {
		return nil, err
	}
	for i := range all {
		if slices.Contains(all[i].Aliases, alias) || "v"+itoa(all[i].Version) == alias || all[i].Digest == alias {
			return &all[i], nil
		}
	}
	return nil, nil
}

// projectArtifacts adds the artifact fields to a project object.
func (c *call) projectArtifacts(o object, entity, projectID string) {
	find := func(kind, collection string) ([]collections.Version, error) {
		return c.db.Collections.Versions(c.ctx, c.actor, collections.Search{ProjectID: projectID, Type: kind, Name: collection})
	}
	one := func(in args) (any, error) {
		a, err := c.version(projectID, in.str("name"))
		if err != nil || a == nil {
			return nil, err
		}
		return c.artifactObject(entity, a), nil
	}
	ofKind := func(kind string) func(args) (any, error) {
		return func(in args) (any, error) {
			all, err := find(kind, "")
			if err != nil {
				return nil, err
			}
			seen := map[string]bool{}
			var nodes []object
			for i := range all {
				if !seen[all[i].Collection] {
					seen[all[i].Collection] = true
					nodes = append(nodes, c.collection(entity, &all[i]))
				}
			}
			return connection(nodes), nil
		}
	}
	collection := func(kind string) func(args) (any, error) {
		return func(in args) (any, error) {
			all, err := find(kind, in.str("name"))
			if err != nil || len(all) == 0 {
				return nil, err
			}
			return c.collection(entity, &all[0]), nil
		}
	}
	kindObject := func(name string) object {
		return object{"__typename": "ArtifactType", "id": name, "name": name, "description": nil, "createdAt": isoTime(0),
			"artifact": one, "artifactCollection": collection(name), "artifactSequence": collection(name),
			"artifactCollections": ofKind(name), "artifactSequences": ofKind(name)}
	}
	o["artifact"] = one
	o["artifactCollectionMembership"] = func(in args) (any, error) {
		a, err := c.version(projectID, in.str("name"))
		if err != nil || a == nil {
			return nil, err
		}
		return c.membership(entity, a), nil
	}
	o["artifactCollection"] = collection("")
	o["artifactCollections"] = ofKind("")
	o["artifactType"] = func(in args) (any, error) {
		all, err := find(in.str("name"), "")
		if err != nil || len(all) == 0 {
			return nil, err
		}
		return kindObject(in.str("name")), nil
	}
	o["artifactTypes"] = func(args) (any, error) {
		all, err := find("", "")
		if err != nil {
			return nil, err
		}
		var kinds []string
		for _, a := range all {
			if !slices.Contains(kinds, a.Type) {
				kinds = append(kinds, a.Type)
			}
		}
		nodes := make([]object, len(kinds))
		for i, k := range kinds {
			nodes[i] = kindObject(k)
		}
		return connection(nodes), nil
	}
}

// metadataText returns the metadata as JSON, or "" if it is "null".
func metadataText(a args) string {
	text := a.str("metadata")
	if text == "null" {
		return ""
	}
	return text
}

// aliasNames returns the alias names in the argument "aliases" without version numbers.
func aliasNames(a args) []string {
	var names []string
	for _, o := range a.objects("aliases") {
		// A name such as v3 is a version number, which clients can't set.
		if alias := o.str("alias"); alias != "" && !isVersion(alias) {
			names = append(names, alias)
		}
	}
	return names
}

func isVersion(alias string) bool {
	digits, ok := strings.CutPrefix(alias, "v")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(digits, 10, 63)
	return err == nil
}

// tagNames returns the names of the tags in the given argument.
func tagNames(a args, argument string) []string {
	var names []string
	for _, o := range a.objects(argument) {
		if tag := o.str("tagName"); tag != "" {
			names = append(names, tag)
		}
	}
	return names
}

// tagObjects returns the tags of an artifact version.
func tagObjects(a *collections.Version) []object {
	tags := make([]object, len(a.Tags))
	for i, tag := range a.Tags {
		tags[i] = object{"__typename": "Tag", "id": a.ID + ":" + tag, "name": tag, "tagCategoryName": nil, "attributes": nil}
	}
	return tags
}
