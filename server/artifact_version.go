package server

import (
	"strconv"

	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/json"
)

// artifactVersion is a version of an artifact in a response.
type artifactVersion struct {
	collections.Version
	Metadata json.Value `json:"metadata"`
}

// versionBody returns the response for a version. Metadata that is not JSON is null, because W&B's
// clients send NaN.
func versionBody(a collections.Version) artifactVersion {
	v := artifactVersion{Version: a, Metadata: json.Value("null")}
	switch {
	case a.Metadata == "":
		v.Metadata = json.Value("{}")
	case collections.CheckMetadata(a.Metadata) == nil:
		v.Metadata = json.Value(a.Metadata)
	}
	return v
}

// artifactVersions lists the versions of a project's artifacts that match the query parameters.
func (s *Server) artifactVersions(c *call, p domain.Page) (l domain.List[artifactVersion], err error) {
	q := collections.Search{Page: p, ProjectID: c.id(), ExperimentID: c.query.Get("experiment_id"), Type: c.query.Get("type"),
		Name: c.query.Get("name"), Alias: c.query.Get("alias"), Tag: c.query.Get("tag")}
	return s.foundVersions(c, q)
}

// iterationVersions lists the versions that an iteration has logged or, if the query parameter role
// is "used", the versions that it uses.
func (s *Server) iterationVersions(c *call, p domain.Page) (l domain.List[artifactVersion], err error) {
	role := c.query.Get("role")
	if role != "" {
		if err := domain.OneOf("role", role, "logged", "used"); err != nil {
			return l, err
		}
	}
	return s.foundVersions(c, collections.Search{Page: p, IterationID: c.id(), UsedBy: role == "used", Type: c.query.Get("type")})
}

func (s *Server) foundVersions(c *call, q collections.Search) (l domain.List[artifactVersion], err error) {
	for _, text := range c.query["metadata"] {
		p, err := collections.ParsePair(text)
		if err != nil {
			return l, err
		}
		q.Metadata = append(q.Metadata, p)
	}
	found, err := s.db.Collections.Search(c.ctx, c.actor, q)
	l = domain.List[artifactVersion]{Data: []artifactVersion{}, Total: found.Total, Limit: found.Limit, Offset: found.Offset}
	for _, a := range found.Data {
		l.Data = append(l.Data, versionBody(a))
	}
	return l, err
}

func (s *Server) artifactVersion(c *call) error {
	a, err := s.db.Collections.Committed(c.ctx, c.actor, c.id())
	return reply(c, versionBody(a), err)
}

func (s *Server) namedArtifactVersion(c *call) error {
	a, err := s.db.Collections.Named(c.ctx, c.actor, c.vars["project_id"], c.query.Get("experiment_id"), c.vars["name"])
	return reply(c, versionBody(a), err)
}

// newArtifactVersion is the body of a request that creates a version from files of an iteration.
type newArtifactVersion struct {
	Name        string                `json:"name"`
	Type        string                `json:"type"`
	Path        string                `json:"path"`
	Aliases     []string              `json:"aliases"`
	Tags        []string              `json:"tags"`
	Description string                `json:"description"`
	Metadata    map[string]json.Value `json:"metadata"`
}

func (s *Server) createArtifactVersion(c *call, b newArtifactVersion) error {
	metadata, err := metadataText(b.Metadata)
	if err != nil {
		return err
	}
	created, err := s.db.Collections.LogVersion(c.ctx, c.actor, collections.NewVersion{IterationID: c.id(), Collection: b.Name, Type: b.Type,
		Description: b.Description, Metadata: metadata, Aliases: b.Aliases, Tags: b.Tags}, b.Path)
	return c.created(created, err, "artifactversion", created.ID)
}

// metadataText returns metadata as text, or "" if it has no members.
func metadataText(metadata map[string]json.Value) (string, error) {
	if len(metadata) == 0 {
		return "", nil
	}
	text, err := json.Marshal(metadata, json.Deterministic(true))
	return string(text), err
}

// artifactVersionChange is the body of a request that changes a version.
type artifactVersionChange struct {
	Description   *string                `json:"description"`
	Metadata      *map[string]json.Value `json:"metadata"`
	Aliases       *[]string              `json:"aliases"`
	AddAliases    []string               `json:"add_aliases"`
	RemoveAliases []string               `json:"remove_aliases"`
	Tags          *[]string              `json:"tags"`
	AddTags       []string               `json:"add_tags"`
	RemoveTags    []string               `json:"remove_tags"`
}

func (s *Server) updateArtifactVersion(c *call, b artifactVersionChange) error {
	p := collections.Patch{Description: b.Description, Add: b.AddAliases, Remove: b.RemoveAliases, AddTags: b.AddTags, RemoveTags: b.RemoveTags}
	if b.Metadata != nil {
		text, err := metadataText(*b.Metadata)
		if err != nil {
			return err
		}
		p.Metadata = &text
	}
	if b.Aliases != nil {
		p.Aliases = append([]string{}, *b.Aliases...)
	}
	if b.Tags != nil {
		p.Tags = append([]string{}, *b.Tags...)
	}
	_, err := s.db.Collections.UpdateVersion(c.ctx, c.actor, c.id(), p)
	return c.none(err)
}

// deleteArtifactVersion deletes a version. If the query parameter aliases is "true", the version
// may have aliases.
func (s *Server) deleteArtifactVersion(c *call) error {
	aliases := c.query.Get("aliases")
	if aliases != "" {
		if err := domain.OneOf("aliases", aliases, "true", "false"); err != nil {
			return err
		}
	}
	_, err := s.db.Collections.DeleteVersion(c.ctx, c.actor, c.id(), aliases == "true")
	return c.none(err)
}

func (s *Server) useArtifactVersion(c *call, b struct {
	ID string `json:"artifactversion_id"`
}) error {
	_, err := s.db.Collections.UseVersion(c.ctx, c.actor, b.ID, c.id())
	return c.none(err)
}

// lineage sends the lineage of a record of any kind.
func (s *Server) lineage(c *call) error {
	q := collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.NodeKind(c.vars["kind"]), ID: c.vars["id"]}}
	for _, n := range []struct {
		name string
		to   *int
	}{{"depth", &q.Depth}, {"limit", &q.Limit}} {
		text := c.text(n.name)
		if text == nil {
			continue
		}
		var err error
		if *n.to, err = strconv.Atoi(*text); err != nil || *n.to < 1 {
			return domain.Invalid(n.name, "%s must be a positive integer.", n.name)
		}
	}
	g, err := s.db.Collections.Lineage(c.ctx, c.actor, q)
	return reply(c, g, err)
}
