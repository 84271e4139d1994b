package wandb

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"

	"tracker/store"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
)

// artifactIDPrefix begins the decoded form of an artifact version's id in the protocol.
const artifactIDPrefix = "Artifact:"

// artifactID returns the id of an artifact version in the protocol. Clients decode it from base64,
// write it as hexadecimal digits into references, and later encode it again.
func artifactID(id string) string {
	return base64.StdEncoding.EncodeToString([]byte(artifactIDPrefix + id))
}

// storedID returns the id of an artifact version from its id in the protocol. It returns any other
// text unchanged.
func storedID(id string) string {
	if b, err := base64.StdEncoding.DecodeString(id); err == nil {
		if id, ok := strings.CutPrefix(string(b), artifactIDPrefix); ok {
			return id
		}
	}
	return id
}

// artifactVersion returns the artifact version whose id or client id is the given id of the
// protocol.
func (c *call) artifactVersion(id string) (collections.Version, error) {
	return c.db.Collections.Version(c.ctx, c.actor, storedID(id))
}

// member is an artifact version as a member of a collection. The collection is the one in which the
// version was logged or, if link is not nil, a registered model.
type member struct {
	*collections.Version
	link *collections.Link
}

// index returns the number of the version in the collection. W&B counts from 0, and the versions
// of a model from 1.
func (m member) index() int64 {
	if m.link != nil {
		return m.link.Number - 1
	}
	return m.Version.Version
}

// collection returns the name of the collection.
func (m member) collection() string {
	if m.link != nil {
		return m.link.Model
	}
	return m.Collection
}

// aliases returns the aliases of the version in the collection, without the version number.
func (m member) aliases() []string {
	if m.link == nil {
		return m.Aliases
	}
	all := slices.Clone([]string(m.link.LinkAliases))
	if m.link.Newest {
		all = append(all, collections.Latest)
	}
	return all
}

func (m member) hasAlias(alias string) bool {
	return slices.Contains(m.aliases(), alias) || "v"+itoa(m.index()) == alias || m.Digest == alias
}

func versionMembers(all []collections.Version) []member {
	members := make([]member, len(all))
	for i := range all {
		members[i] = member{Version: &all[i]}
	}
	return members
}

func linkMembers(all []collections.Link) []member {
	members := make([]member, len(all))
	for i := range all {
		members[i] = member{&all[i].Version, &all[i]}
	}
	return members
}

// members returns the versions of a collection, the newest first. If the project has an artifact
// and a model with this name, it returns the versions of the artifact.
func (c *call) members(projectID, collection string) ([]member, error) {
	all, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{ProjectID: projectID, Name: collection})
	if err != nil || len(all) > 0 {
		return versionMembers(all), err
	}
	links, err := c.db.Collections.Links(c.ctx, c.actor, collections.LinkSearch{ProjectID: projectID, Model: collection})
	return linkMembers(links), err
}

// memberNamed returns the committed version with a name such as model:v3 or model:latest. It
// returns nil if the version does not exist.
func (c *call) memberNamed(projectID, name string) (*member, error) {
	name = name[strings.LastIndexByte(name, '/')+1:]
	collection, alias, ok := strings.Cut(name, ":")
	if !ok || alias == "" {
		alias = collections.Latest
	}
	all, err := c.members(projectID, collection)
	if c.onlyLogs(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].hasAlias(alias) {
			return &all[i], nil
		}
	}
	return nil, nil
}

// links returns the models that have an artifact version.
func (c *call) links(a *collections.Version) ([]member, error) {
	all, err := c.db.Collections.Links(c.ctx, c.actor, collections.LinkSearch{VersionID: a.ID})
	return linkMembers(all), err
}

func projectInfo(entity, id, name string) object {
	return object{"__typename": "Project", "id": id, "internalId": number(id), "name": name, "entityName": entity,
		"entity": object{"__typename": "Entity", "id": entity, "name": entity}}
}

// aliasObjects returns the aliases of a member, including its version number.
func (c *call) aliasObjects(entity string, m member) []object {
	all := append(slices.Clone(m.aliases()), "v"+itoa(m.index()))
	out := make([]object, len(all))
	for i, alias := range all {
		out[i] = object{"__typename": "ArtifactAlias", "id": m.ID + ":" + m.collection() + ":" + alias, "alias": alias,
			"artifactCollectionName": m.collection(), "artifactCollection": c.collectionOf(entity, m)}
	}
	return out
}

// membership returns an artifact version as a member of its collection.
func (c *call) membership(entity string, m member) object {
	o := c.artifactObject(entity, m.Version)
	id, date := m.ID, m.CreatedDate
	if m.link != nil {
		id, date = m.link.LinkID, m.link.LinkedDate
	}
	return object{"__typename": "ArtifactCollectionMembership", "id": id, "versionIndex": m.index(), "createdAt": isoTime(date),
		"aliases": c.aliasObjects(entity, m), "artifactCollection": c.collectionOf(entity, m), "artifact": o, "files": o["files"]}
}

// collectionOf returns the collection of a member.
func (c *call) collectionOf(entity string, m member) object {
	if m.link != nil {
		return c.portfolio(entity, portfolio{ID: m.link.ModelID, Name: m.link.Model, Type: m.Type, ProjectID: m.link.HomeID, Project: m.link.Home})
	}
	return c.sequence(entity, &collections.Collection{ProjectID: m.ProjectID, ExperimentID: m.ExperimentID, Name: m.Collection, Type: m.Type}, m.Project, false)
}

// lazy returns a function that creates fields of an object from a record. read reads the record, or
// returns nil if it does not exist. It is called when a client queries the first of the fields.
func lazy[T any](read func() (*T, error)) func(of func(*T) any) func(args) (any, error) {
	read = sync.OnceValues(read)
	return func(of func(*T) any) func(args) (any, error) {
		return func(args) (any, error) {
			record, err := read()
			if err != nil || record == nil {
				return nil, err
			}
			return of(record), nil
		}
	}
}

// sequence returns the collection of all versions of an artifact. If isRead is false, only the
// identity and the type of s are set; the other fields are read when a client queries them.
func (c *call) sequence(entity string, s *collections.Collection, project string, isRead bool) object {
	fact := lazy(func() (*collections.Collection, error) {
		if isRead {
			return s, nil
		}
		all, err := c.db.Collections.AllCollections(c.ctx, c.actor, s.ProjectID, s.Name)
		for i := range all {
			if all[i].ExperimentID == s.ExperimentID {
				return &all[i], nil
			}
		}
		return s, err
	})
	o := object{
		"__typename": "ArtifactSequence", "id": s.ExperimentID + "/" + s.Name, "name": s.Name, "state": "READY",
		"project":             projectInfo(entity, s.ProjectID, project),
		"defaultArtifactType": object{"__typename": "ArtifactType", "id": s.Type, "name": s.Type},
		"description":         fact(func(s *collections.Collection) any { return orNull(s.Description) }),
		"createdAt":           fact(func(s *collections.Collection) any { return isoTime(s.CreatedDate) }),
		"updatedAt":           fact(func(s *collections.Collection) any { return isoTime(s.UpdatedDate) }),
		"tags":                fact(func(s *collections.Collection) any { return connection(tagObjects(s.ExperimentID+"/"+s.Name, s.Tags)) }),
	}
	c.addMembers(o, entity, func() ([]member, error) { return c.versionsOf(s) })
	return o
}

// versionsOf returns the versions of an artifact, the newest first.
func (c *call) versionsOf(s *collections.Collection) ([]member, error) {
	all, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{ProjectID: s.ProjectID, Name: s.Name})
	if c.onlyLogs(err) {
		return nil, nil
	}
	return versionMembers(all), err
}

// onlyLogs reports whether err denies the reading of other versions to an API key that is limited to
// logging. Clients query these versions when they log a version, but do not need them.
func (c *call) onlyLogs(err error) bool {
	return err != nil && c.actor.Scope.Only == domain.ScopeLog && domain.AsError(err).Code == domain.CodeProjectPermissionRequired
}

// portfolio is a registered model as a collection of artifact versions.
type portfolio struct {
	ID, Name, Type, ProjectID, Project string
}

// portfolioTag is the value of a model's property that is a tag in W&B.
const portfolioTag = ""

// portfolioTags returns the tags of a model in W&B.
func portfolioTags(m *registry.RegisteredModel) (tags []string) {
	for _, p := range m.Properties {
		if p.Value == portfolioTag {
			tags = append(tags, p.Key)
		}
	}
	return tags
}

// portfolio returns a registered model as a collection. The tags of the collection are the
// properties of the model without a value.
func (c *call) portfolio(entity string, p portfolio) object {
	fact := lazy(func() (*registry.RegisteredModel, error) {
		all, err := c.registeredModels(p.ProjectID, p.ID)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		return &all[0], nil
	})
	o := object{
		"__typename": "ArtifactPortfolio", "id": p.ID, "name": p.Name, "state": "READY",
		"project":             projectInfo(entity, p.ProjectID, p.Project),
		"defaultArtifactType": object{"__typename": "ArtifactType", "id": p.Type, "name": p.Type},
		"description":         fact(func(m *registry.RegisteredModel) any { return orNull(m.Description) }),
		"createdAt":           fact(func(m *registry.RegisteredModel) any { return isoTime(m.CreatedDate) }),
		"updatedAt":           fact(func(m *registry.RegisteredModel) any { return isoTime(m.UpdatedDate) }),
		"tags":                fact(func(m *registry.RegisteredModel) any { return connection(tagObjects(m.ID, portfolioTags(m))) }),
	}
	c.addMembers(o, entity, func() ([]member, error) { return c.linksOf(p) })
	return o
}

// linksOf returns the versions that are linked to a model, the newest first.
func (c *call) linksOf(p portfolio) ([]member, error) {
	all, err := c.db.Collections.Links(c.ctx, c.actor, collections.LinkSearch{ProjectID: p.ProjectID, ModelID: p.ID})
	return linkMembers(all), err
}

func (c *call) registeredModels(projectID string, ids ...string) (all []registry.RegisteredModel, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
		all, err = v.Models.RegisteredModels(projectID, ids)
		return err
	})
	return all, err
}

// addMembers adds the fields of a collection that read its versions.
func (c *call) addMembers(o object, entity string, read func() ([]member, error)) {
	o["latestArtifact"] = func(args) (any, error) {
		all, err := read()
		for _, m := range all {
			if slices.Contains(m.aliases(), collections.Latest) {
				return c.artifactObject(entity, m.Version), nil
			}
		}
		return nil, err
	}
	o["artifacts"] = func(in args) (any, error) {
		all, err := read()
		if err != nil {
			return nil, err
		}
		return c.artifactPage(entity, all, in)
	}
	o["aliases"] = func(args) (any, error) {
		all, err := read()
		var nodes []object
		for _, m := range all {
			nodes = append(nodes, c.aliasObjects(entity, m)...)
		}
		return connection(nodes), err
	}
	o["artifactMembership"] = func(in args) (any, error) {
		all, err := read()
		for _, m := range all {
			if m.hasAlias(in.str("aliasName")) {
				return c.membership(entity, m), nil
			}
		}
		return nil, err
	}
	o["artifactMemberships"] = func(args) (any, error) {
		all, err := read()
		nodes := make([]object, len(all))
		for i, m := range all {
			nodes[i] = c.membership(entity, m)
		}
		return connection(nodes), err
	}
}

// artifactPage returns a page of artifact versions. The arguments "first" and "after" select the
// page, "filters" and "order" the versions and their order.
func (c *call) artifactPage(entity string, all []member, in args) (any, error) {
	all, err := filtered(c, all, in.str("filters"), member.field)
	if err != nil {
		return nil, err
	}
	ordered(all, in.str("order"), member.field)
	return edgePage(all, in, func(m member) object {
		return object{"node": c.artifactObject(entity, m.Version), "version": "v" + itoa(m.index())}
	})
}

// listed returns the page of all that the arguments "first" and "after" select. of returns the
// object of an element.
func listed[T any](all []T, in args, of func(T) object) (any, error) {
	return edgePage(all, in, func(one T) object { return object{"node": of(one)} })
}

// edgePage is listed with a function that returns the edge of an element without its cursor.
func edgePage[T any](all []T, in args, edge func(T) object) (any, error) {
	from, err := offsetOf(in.str("after"))
	if err != nil {
		return nil, err
	}
	from = min(from, len(all))
	end := min(len(all), from+int(max(1, min(in.number("first", 50), domain.MaxLimit))))
	edges := []object{}
	for i := from; i < end; i++ {
		e := edge(all[i])
		e["cursor"] = itoa(int64(i + 1))
		edges = append(edges, e)
	}
	page := pageOf(edges, "", end < len(all))
	page["totalCount"] = len(all)
	return page, nil
}

// field returns a field of a version that filters and orders name. It returns nil if the version
// does not have the field.
func (m member) field(name string) any {
	switch name {
	case "name":
		return m.collection() + ":v" + itoa(m.index())
	case "tag", "tags":
		return anyList(m.Tags)
	case "alias", "aliases":
		return anyList(append(m.aliases(), "v"+itoa(m.index())))
	case "state":
		return string(m.State)
	case "type":
		return m.Type
	case "version", "versionIndex", "version_index":
		return float64(m.index())
	case "size", "artifact_size":
		return float64(m.Size)
	case "createdAt", "created_at":
		return isoTime(m.CreatedDate)
	case "updatedAt", "updated_at":
		return isoTime(m.UpdatedDate)
	case "linked_at", "linkedAt":
		if m.link != nil {
			return isoTime(m.link.LinkedDate)
		}
	}
	if path, ok := strings.CutPrefix(name, "metadata."); ok {
		return below(decoded(m.Metadata), path)
	}
	return nil
}

func anyList(all []string) []any {
	list := make([]any, len(all))
	for i, s := range all {
		list[i] = s
	}
	return list
}

// filtered returns the elements of all for which the filter holds. field returns a field of an
// element.
func filtered[T any](c *call, all []T, filter string, field func(T, string) any) ([]T, error) {
	if strings.Trim(filter, " {}nul") == "" {
		return all, nil
	}
	var f any
	if err := inner("filters", filter, &f, domain.Invalid("filters", "The filters must be a JSON object.")); err != nil {
		return nil, err
	}
	matches, err := (&filterParser{}).filter(f, 0)
	if err != nil {
		return nil, err
	}
	kept := []T{}
	for _, one := range all {
		if matches(&subject{ctx: c.ctx, field: func(name string) any { return field(one, name) }}) {
			kept = append(kept, one)
		}
	}
	return kept, c.ctx.Err()
}

// ordered sorts all by the field that an order such as -created_at names. Elements with equal
// values keep their order.
func ordered[T any](all []T, order string, field func(T, string) any) {
	name := strings.TrimLeft(order, "+-")
	if name == "" {
		return
	}
	slices.SortStableFunc(all, func(a, b T) int {
		d := compare(field(a, name), field(b, name))
		if strings.HasPrefix(order, "-") {
			return -d
		}
		return d
	})
}

// listedCollection is a collection in a list.
type listedCollection struct {
	name, kind, description string
	tags                    []string
	created, updated        scalar.Time
	id                      string
	object                  func() object
	members                 func() ([]member, error)
}

func (l listedCollection) field(name string) any {
	switch name {
	case "name":
		return l.name
	case "type":
		return l.kind
	case "description":
		return l.description
	case "tag", "tags":
		return anyList(l.tags)
	case "createdAt", "created_at":
		return isoTime(l.created)
	case "updatedAt", "updated_at":
		return isoTime(l.updated)
	case "id", "artifact_collection_id":
		return l.id
	}
	return nil
}

// collections returns the collections of a project, the newest first: its artifacts and its models.
// If several experiments have an artifact with the same name, it returns only the newest one.
func (c *call) collections(entity, projectID, project string) ([]listedCollection, error) {
	var all []listedCollection
	names := map[string]bool{}
	sequences, err := c.db.Collections.AllCollections(c.ctx, c.actor, projectID, "")
	if err != nil {
		return nil, err
	}
	for i := range sequences {
		s := &sequences[i]
		if !names[s.Name] {
			names[s.Name] = true
			all = append(all, listedCollection{name: s.Name, kind: s.Type, description: s.Description, tags: s.Tags, created: s.CreatedDate, updated: s.UpdatedDate,
				id: s.ExperimentID + "/" + s.Name, object: func() object { return c.sequence(entity, s, project, true) }, members: func() ([]member, error) { return c.versionsOf(s) }})
		}
	}
	models, types, err := c.portfolios(projectID)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if names[m.Name] {
			continue
		}
		p := portfolio{ID: m.ID, Name: m.Name, Type: types[m.ID], ProjectID: projectID, Project: project}
		all = append(all, listedCollection{name: m.Name, kind: p.Type, description: m.Description, tags: portfolioTags(&m), created: m.CreatedDate, updated: m.UpdatedDate,
			id: m.ID, object: func() object { return c.portfolio(entity, p) }, members: func() ([]member, error) { return c.linksOf(p) }})
	}
	slices.SortStableFunc(all, func(a, b listedCollection) int { return int(b.created - a.created) })
	return all, nil
}

// modelType is the type of the versions of a model without versions.
const modelType = "model"

// portfolios returns the models of a project, and the types of their versions by model id.
func (c *call) portfolios(projectID string) (models []registry.RegisteredModel, types map[string]string, err error) {
	types = map[string]string{}
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		found, err := everyPage(func(p domain.Page) (domain.List[registry.Model], error) {
			return v.Models.Models(projectID, registry.ModelQuery{Page: p})
		})
		if err != nil || len(found) == 0 {
			return err
		}
		ids := make([]string, len(found))
		for i, m := range found {
			ids[i], types[m.ID] = m.ID, modelType
		}
		if models, err = v.Models.RegisteredModels(projectID, ids); err != nil {
			return err
		}
		links, err := v.Collections.Links(collections.LinkSearch{ProjectID: projectID})
		for _, l := range links {
			if l.Newest {
				types[l.ModelID] = l.Type
			}
		}
		return err
	})
	return models, types, err
}

// everyPage returns the elements of all pages of a list.
func everyPage[T any](read func(domain.Page) (domain.List[T], error)) (all []T, err error) {
	for page := (domain.Page{Limit: domain.MaxLimit}); ; page.Offset += page.Limit {
		l, err := read(page)
		if err != nil {
			return nil, err
		}
		if all = append(all, l.Data...); page.Offset+page.Limit >= l.Total || len(l.Data) == 0 {
			return all, nil
		}
	}
}

// projectArtifacts adds the artifact fields to a project object.
func (c *call) projectArtifacts(o object, entity, projectID, project string) {
	one := func(in args) (any, error) {
		m, err := c.memberNamed(projectID, in.str("name"))
		if err != nil || m == nil {
			return nil, err
		}
		return c.artifactObject(entity, m.Version), nil
	}
	find := func(kind, name string) ([]listedCollection, error) {
		all, err := c.collections(entity, projectID, project)
		if c.onlyLogs(err) {
			return nil, nil
		}
		return slices.DeleteFunc(all, func(l listedCollection) bool { return kind != "" && l.kind != kind || name != "" && l.name != name }), err
	}
	ofKind := func(kind string) func(args) (any, error) {
		return func(in args) (any, error) {
			all, err := find(kind, "")
			if err == nil {
				all, err = filtered(c, all, in.str("filters"), listedCollection.field)
			}
			if err != nil {
				return nil, err
			}
			ordered(all, in.str("order"), listedCollection.field)
			return listed(all, in, func(l listedCollection) object { return l.object() })
		}
	}
	collection := func(kind string) func(args) (any, error) {
		return func(in args) (any, error) {
			all, err := find(kind, in.str("name"))
			if err != nil || len(all) == 0 {
				return nil, err
			}
			return all[0].object(), nil
		}
	}
	kindObject := func(name string, created scalar.Time) object {
		return object{"__typename": "ArtifactType", "id": name, "name": name, "description": nil, "createdAt": isoTime(created),
			"artifact": one, "artifactCollection": collection(name), "artifactSequence": collection(name),
			"artifactCollections": ofKind(name), "artifactSequences": ofKind(name)}
	}
	o["artifact"] = one
	o["artifactCollectionMembership"] = func(in args) (any, error) {
		m, err := c.memberNamed(projectID, in.str("name"))
		if err != nil || m == nil {
			return nil, err
		}
		return c.membership(entity, *m), nil
	}
	o["artifactCollection"] = collection("")
	o["artifactCollections"] = ofKind("")
	o["artifactType"] = func(in args) (any, error) {
		all, err := find(in.str("name"), "")
		if err != nil || len(all) == 0 {
			return nil, err
		}
		return kindObject(in.str("name"), all[len(all)-1].created), nil
	}
	o["artifactTypes"] = func(in args) (any, error) {
		all, err := find("", "")
		if err != nil {
			return nil, err
		}
		var kinds []object
		seen := map[string]bool{}
		for _, l := range slices.Backward(all) {
			if !seen[l.kind] {
				seen[l.kind] = true
				kinds = append(kinds, kindObject(l.kind, l.created))
			}
		}
		return listed(kinds, in, func(kind object) object { return kind })
	}
}

// tagObjects returns the tags of the record with the given id.
func tagObjects(id string, all []string) []object {
	tags := make([]object, len(all))
	for i, tag := range all {
		tags[i] = object{"__typename": "Tag", "id": id + ":" + tag, "name": tag, "tagCategoryName": nil, "attributes": nil}
	}
	return tags
}
