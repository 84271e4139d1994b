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
	a, err := c.artifactVersion(c.vars["artifact"])
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
	a, err := c.artifactVersion(c.vars["artifact"])
	if err != nil {
		return err
	}
	err = c.serveFile(a.IterationID, a.File(c.vars["name"]))
	if isNotFound(err) && c.vars["name"] == manifestName && a.State == collections.Committed {
		text, err := c.makeManifest(&a)
		if err != nil {
			return err
		}
		c.w.Header().Set("Content-Type", "application/json")
		_, err = c.w.Write(text)
		return err
	}
	return err
}

// readArtifactFileByMD5 sends the bytes of a file that an artifact version added. Clients use this
// route for a single manifest entry.
func (c *call) readArtifactFileByMD5() error {
	sum, err := hex.DecodeString(c.vars["md5"])
	if err != nil {
		return domain.Invalid("md5", "The MD5 of a file must be 32 hexadecimal digits.")
	}
	run, name, err := c.db.Collections.FileWith(c.ctx, c.actor, storedID(c.vars["artifact"]), base64.StdEncoding.EncodeToString(sum))
	if err != nil {
		return err
	}
	return c.serveFile(run, name)
}

// artifactObject returns an artifact version with all fields that clients query.
func (c *call) artifactObject(entity string, a *collections.Version) object {
	own := member{Version: a}
	kind := object{"__typename": "ArtifactType", "id": a.Type, "name": a.Type, "description": nil, "createdAt": isoTime(a.CreatedDate)}
	files := func(in args) (any, error) { return c.artifactFiles(a, in) }
	o := object{
		"__typename": "Artifact", "id": artifactID(a.ID), "artifactSequence": c.collectionOf(entity, own), "versionIndex": a.Version, "artifactType": kind,
		"description": orNull(a.Description), "metadata": orNull(a.Metadata), "ttlDurationSeconds": noTTL, "ttlIsInherited": false,
		"tags": tagObjects(a.ID, a.Tags), "historyStep": nil, "state": string(a.State), "size": a.Size, "digest": a.Digest, "digestAlgorithm": nil,
		"commitHash": a.ID, "fileCount": a.Files, "createdAt": isoTime(a.CreatedDate), "updatedAt": isoTime(a.UpdatedDate),
		"project": projectInfo(entity, a.ProjectID, a.Project),
		"currentManifest": object{"__typename": "ArtifactManifest", "id": a.ID, "file": object{"__typename": "File", "id": a.ID,
			"directUrl": func(args) (any, error) { return c.artifactURL(a, manifestName) }}},
		"files": files, "filesByManifestEntries": files,
		"aliases": func(args) (any, error) {
			all := c.aliasObjects(entity, own)
			links, err := c.links(a)
			for _, m := range links {
				all = append(all, c.aliasObjects(entity, m)...)
			}
			return all, err
		},
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
		"artifactMemberships": func(args) (any, error) {
			nodes := []object{c.membership(entity, own)}
			links, err := c.links(a)
			for _, m := range links {
				nodes = append(nodes, c.membership(entity, m))
			}
			return connection(nodes), err
		},
	}
	if a.TTL != nil {
		o["ttlDurationSeconds"] = *a.TTL
	}
	if a.HistoryStep != nil {
		o["historyStep"] = *a.HistoryStep
	}
	return o
}

// noTTL is the time to live of an artifact version that is kept until somebody deletes it. Clients
// also send -1, for the time to live of the collection, which has none.
const noTTL = -2

// ttlOf returns the time to live in the argument "ttlDurationSeconds", in seconds. It returns 0 if
// the version is to be kept, and nil if the argument is missing.
func ttlOf(a args) *int64 {
	if a["ttlDurationSeconds"] == nil {
		return nil
	}
	return new(max(0, a.number("ttlDurationSeconds", 0)))
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

// metadataText returns the metadata as JSON, or "" if it is "null".
func metadataText(a args) string {
	text := a.str("metadata")
	if text == "null" {
		return ""
	}
	return text
}

// aliasNames returns the alias names in the argument "aliases" without version numbers. Clients
// send objects, and older clients also strings.
func aliasNames(a args) []string {
	names := a.texts("aliases")
	for _, o := range a.objects("aliases") {
		names = append(names, o.str("alias"))
	}
	// A name such as v3 is a version number, which clients can't set.
	return slices.DeleteFunc(names, func(alias string) bool { return alias == "" || isVersion(alias) })
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
