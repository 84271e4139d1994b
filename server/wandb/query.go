package wandb

import (
	"hash/fnv"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/scalar"
)

// queries returns the fields of the GraphQL type Query.
func (c *call) queries() object {
	return object{
		"__typename": "Query",
		"viewer":     func(args) (any, error) { return c.userObject(c.user), nil },
		"serverInfo": func(args) (any, error) { return c.serverInfo(), nil },
		"__type":     func(a args) (any, error) { return typeNamed(a.str("name")), nil },
		"entity":     func(a args) (any, error) { return c.entity(a.str("name")), nil },
		"model":      func(a args) (any, error) { return c.project(a.str("entityName"), a.str("name")) },
		"project":    func(a args) (any, error) { return c.project(a.str("entityName"), a.str("name")) },
		"artifact": func(a args) (any, error) {
			found, err := c.artifactVersion(a.str("id"))
			if isNotFound(err) {
				return nil, nil
			}
			return c.artifactObject(c.user.Username, &found), err
		},
		"clientIDMapping": func(a args) (any, error) {
			found, err := c.artifactVersion(a.str("clientID"))
			if isNotFound(err) {
				return nil, nil
			}
			return object{"serverID": artifactID(found.ID)}, err
		},
		"artifactCollection": func(a args) (any, error) { return orNone(c.collectionByID(c.user.Username, a.str("id"))) },
		"organization":       func(a args) (any, error) { return c.organization(a.str("name")), nil },
		"users": func(a args) (any, error) {
			all, err := c.visibleUsers(a.str("query"), c.userObject)
			return connection(all), err
		},
		"models":   c.projects,
		"projects": c.projects,
		"view":     c.viewQuery,
	}
}

// orNone returns o as a value that is null in the response if o is nil.
func orNone(o object, err error) (any, error) {
	if o == nil {
		return nil, err
	}
	return o, err
}

func fullName(u domain.User) string {
	switch {
	case u.FirstName != "" && u.LastName != "":
		return u.FirstName + " " + u.LastName
	case u.FirstName+u.LastName != "":
		return u.FirstName + u.LastName
	}
	return u.Username
}

// features are the names of the optional parts of the protocol that this server supports. Without
// TOTAL_COUNT_IN_FILE_CONNECTION, list(artifact.files()) raises NotImplementedError in the client.
var features = []string{
	"TOTAL_COUNT_IN_FILE_CONNECTION", "ARTIFACT_TAGS", "ARTIFACT_REGISTRY_SEARCH", "INCLUDE_ARTIFACT_TYPES_IN_REGISTRY_CREATION",
	"PROJECT_ARTIFACT_COLLECTION_MEMBERSHIP", "ARTIFACT_MEMBERSHIP_IN_LINK_ARTIFACT_RESPONSE", "ARTIFACT_COLLECTION_MEMBERSHIP_FILES",
	"ARTIFACT_COLLECTIONS_FILTERING_SORTING",
}

func (c *call) serverInfo() object {
	all := make([]object, len(features))
	for i, name := range features {
		all[i] = object{"__typename": "ServerFeature", "name": name, "isEnabled": true}
	}
	return object{"__typename": "ServerInfo", "cliVersionInfo": map[string]any{"max_cli_version": "9.9.9"}, "latestLocalVersionInfo": nil,
		"features": all, "serverFeatures": []object{}, "exposesExplicitRunFinish": false}
}

// isoTime formats a time in the format that clients parse.
func isoTime(t scalar.Time) string { return t.Time().UTC().Format("2006-01-02T15:04:05.000Z") }

// defaultProject is the project of a run without a project name, as in W&B.
const defaultProject = "uncategorized"

// project returns a project, or nil if the project does not exist or the caller can't read it.
func (c *call) project(entity, name string) (any, error) {
	if name == "" {
		name = defaultProject
	}
	var p projects.Project
	err := c.db.View(c.ctx, c.actor, func(v *store.View) error {
		id, err := v.Wandb.Project(name)
		if err == nil {
			p, err = v.Projects.Project(id)
		}
		return err
	})
	if isNotFound(err) || err != nil && domain.AsError(err).Code == domain.CodeProjectPermissionRequired {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.projectObject(entity, p), nil
}

func (c *call) projectObject(entity string, p projects.Project) object {
	if entity == "" {
		entity = c.user.Username
	}
	runs := func(a args) (any, error) { return c.runs(entity, p, a) }
	one := func(a args) (any, error) { return c.run(entity, p.Name, a.str("name")) }
	o := object{
		"__typename": "Project", "id": p.ID, "internalId": number(p.ID), "name": p.Name, "entityName": entity,
		"description": p.Description, "createdAt": isoTime(p.CreatedDate), "updatedAt": isoTime(p.CreatedDate), "isBenchmark": false, "readOnly": false,
		"access": "PRIVATE", "entity": c.entity(entity), "triggers": []object{}, "allowAllArtifactTypesInRegistry": true, "views": nil, "user": nil,
		"members": func(args) (any, error) {
			return c.visibleUsers("", func(u domain.User) object {
				m := c.memberObject(u)
				m["role"] = object{"__typename": "Role", "name": m["role"]}
				return m
			})
		},
		"teamMembers": []object{},
		"runCount":    func(a args) (any, error) { return c.runCount(p, a) },
		"runs":        runs, "run": one, "bucket": one,
		"allViews": func(a args) (any, error) { return c.allViews(entity, p, a) },
	}
	c.projectSweeps(o, entity, p)
	c.projectArtifacts(o, entity, p.ID, p.Name)
	return o
}

// number returns a decimal integer computed from id. Some clients need a numeric id.
func number(id string) string {
	h := fnv.New32a()
	h.Write([]byte(id)) // a hash never returns an error
	return itoa(int64(h.Sum32()))
}

func (c *call) projects(a args) (any, error) {
	l, err := c.db.Projects.Projects(c.ctx, c.actor, projects.ProjectQuery{Page: domain.Page{Limit: domain.MaxLimit}})
	if err != nil {
		return nil, err
	}
	entity := a.str("entityName")
	nodes := make([]object, len(l.Data))
	for i, p := range l.Data {
		nodes[i] = c.projectObject(entity, p)
	}
	return connection(nodes), nil
}
