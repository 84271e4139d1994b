package mlflow

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/registry"
)

// artifactFolder returns the URI of the artifacts of a folder of an experiment. below is the path
// of that folder within the artifact root. location is the artifact root that a client has set for
// the experiment. If it is empty, the artifacts are on this server.
func artifactFolder(experimentID, location, below string) string {
	if location == "" {
		location = artifactScheme + experimentID
	}
	return location + "/" + below + "/artifacts"
}

// sourceOf returns the source URI of a model version. If the version was not registered through
// this protocol, the source is its artifact, the folder of the artifact version from which it was
// made, or the artifact folder of its run.
func sourceOf(v registry.RegisteredVersion) string {
	switch {
	case v.LinkedFolder != "":
		return runArtifacts(v.LinkedExperimentID, v.LinkedIterationID) + "/" + v.LinkedFolder
	case v.Source != "":
		return v.Source
	case v.ExperimentID == "":
		return ""
	}
	root := runArtifacts(v.ExperimentID, *v.IterationID)
	if v.ArtifactName != "" {
		return root + "/" + v.ArtifactName
	}
	return root
}

// locationOf returns the URI of a model version's files.
func locationOf(v registry.RegisteredVersion) string {
	if v.Location != "" {
		return v.Location
	}
	return sourceOf(v)
}

type downloadAnswer struct {
	URI string `json:"artifact_uri"`
}

func (c *call) downloadURI(in versionKey) (out downloadAnswer, err error) {
	v, err := c.version(string(in.Name), string(in.Version))
	if err == nil {
		out.URI = locationOf(v)
	}
	return out, err
}

func badSource(format string, args ...any) error {
	return domain.Invalid("source", "Invalid model version source: "+format, args...)
}

// resolve checks the source of a new model version and sets the location of its files and its run.
// modelID is the logged model in the request, or "".
func (c *call) resolve(n *registry.NewModelVersion, modelID string) error {
	source, err := url.Parse(n.Source)
	if err != nil {
		return badSource("'%s' can't be read as a URI.", n.Source)
	}
	if leaves(n.Source) {
		return badSource("'%s' has a part \"..\" or a zero byte; give the whole path.", n.Source)
	}
	switch {
	case len(source.Scheme) <= 1 || source.Scheme == "file": // a scheme with one letter is a Windows drive
		return badSource("'%s' is a local path, which the server can't read; log the model to a run and register it from there.", n.Source)
	case source.Scheme == "models":
		return c.resolveModel(n, source, modelID)
	case source.Scheme == "runs":
		id, _, _ := strings.Cut(strings.Trim(source.Path, "/"), "/")
		if source.Host != "" || id == "" || id != n.Origin.RunID {
			return badSource("'%s'. The run_id request parameter must identify the run that contains the source.", n.Source)
		}
		return nil
	case source.Scheme == "mlflow-artifacts":
		return c.resolveArtifact(n, source, modelID)
	case modelID != "" && n.Origin.RunID == "":
		_, err := c.sourceModel(n, modelID)
		return err
	}
	return nil
}

// leaves reports whether a URI has ".." as a part or contains a zero byte, even after repeated
// unescaping.
func leaves(uri string) bool {
	for range 10 {
		decoded, err := url.QueryUnescape(uri)
		if err != nil || decoded == uri {
			break
		}
		uri = decoded
	}
	return strings.ContainsRune(uri, 0) || slices.Contains(strings.FieldsFunc(uri, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// loggedModelID matches the ids of logged models.
var loggedModelID = regexp.MustCompile(`^m-[0-9a-f]{32}$`)

// resolveModel resolves sources of the forms models:/m-…, models:/name/1, models:/name/Stage and
// models:/name@alias.
func (c *call) resolveModel(n *registry.NewModelVersion, source *url.URL, modelID string) error {
	path := strings.Trim(source.Path, "/")
	if source.Host != "" || path == "" {
		return badSource("'%s'. Registered model sources must be on this server, like models:/name/1.", n.Source)
	}
	if loggedModelID.MatchString(path) {
		if modelID != "" && modelID != path {
			return badSource("'%s'. The model_id request parameter must identify the model that contains the source.", n.Source)
		}
		location, err := c.sourceModel(n, path)
		n.Origin.Location = location
		return err
	}
	v, err := c.sourceVersion(path)
	if isNotFound(err) {
		return badSource("'%s'. %s", n.Source, domain.AsError(err).Message)
	}
	if err != nil {
		return err
	}
	run := versionRun(v)
	if n.Origin.RunID != "" && n.Origin.RunID != run {
		return badSource("'%s'. The run_id request parameter must match the referenced model version.", n.Source)
	}
	n.Origin.RunID, n.Origin.Location = run, locationOf(v)
	n.Source = "models:/" + v.ModelName + "/" + versionOf(v).Version
	return nil
}

// sourceVersion returns the model version that the path of a models:/ URI names.
func (c *call) sourceVersion(path string) (registry.RegisteredVersion, error) {
	if name, alias, ok := strings.Cut(path, "@"); ok {
		return c.aliased(name, alias)
	}
	name, which, ok := strings.Cut(path, "/")
	if !ok {
		return registry.RegisteredVersion{}, domain.Errorf(domain.CodeNotFound, "A version must be named, like models:/%s/1.", path)
	}
	if which == "latest" {
		return c.aliased(name, which)
	}
	stage, err := stageOf(which)
	if err != nil {
		return c.version(name, which)
	}
	latest, err := c.latestVersions(latestQuery{Name: text(name), Stages: texts{stageNames[stage]}})
	if err != nil {
		return registry.RegisteredVersion{}, err
	}
	if len(latest.Versions) == 0 {
		return registry.RegisteredVersion{}, domain.Errorf(domain.CodeNotFound, "No version of model %s is in stage %s.", name, which)
	}
	return c.version(name, latest.Versions[0].Version)
}

// resolveArtifact resolves a source in this server's artifacts. It returns an error if the
// source is outside the run or logged model that the request names.
func (c *call) resolveArtifact(n *registry.NewModelVersion, source *url.URL, modelID string) error {
	path := strings.Trim(source.Path, "/") + "/"
	within := func(root string) bool { return strings.HasPrefix(path, strings.TrimPrefix(root, artifactScheme)+"/") }
	if modelID != "" {
		root, err := c.sourceModel(n, modelID)
		if err != nil {
			return err
		}
		if source.Host == "" && within(root) {
			return nil
		}
		return badSource("'%s'. The model_id request parameter must identify the model that contains the source.", n.Source)
	}
	if source.Host == "" && n.Origin.RunID != "" {
		run, err := c.db.Runs.Iteration(domain.WithTrash(c.ctx), c.actor, expand(n.Origin.RunID))
		if err != nil && !isNotFound(err) {
			return err
		}
		if err == nil && within(runArtifacts(run.ExperimentID, run.ID)) {
			return nil
		}
	}
	return badSource("'%s'. The run_id request parameter must identify the run that contains the source.", n.Source)
}

// sourceModel returns the artifact URI of a logged model. If the request names no run,
// sourceModel sets the version's run to the run that created the model.
func (c *call) sourceModel(n *registry.NewModelVersion, id string) (location string, err error) {
	m, err := c.describeModel(id)
	if isNotFound(err) {
		return "", badSource("'%s'. There is no logged model %s.", n.Source, id)
	}
	if err != nil {
		return "", err
	}
	if n.Origin.RunID == "" {
		n.Origin.RunID = m.Info.RunID
	}
	return m.Info.Artifacts, nil
}

// takeRun sets the iteration of a new version to the run that the request names. If the run is not
// in the project, or can't be read, takeRun leaves only the run id in n.Origin.
func (c *call) takeRun(projectID string, n *registry.NewModelVersion) error {
	if n.Origin.RunID == "" {
		return nil
	}
	run, err := c.db.Runs.Iteration(c.ctx, c.actor, expand(n.Origin.RunID))
	if err != nil {
		return hiddenIsFine(err)
	}
	e, err := c.db.Projects.Experiment(c.ctx, c.actor, run.ExperimentID)
	if err != nil {
		return hiddenIsFine(err)
	}
	if e.ProjectID == projectID {
		n.IterationID, n.Origin.RunID = run.ID, ""
	}
	return nil
}

// hiddenIsFine returns nil if err means that a record does not exist or that the actor can't
// read it. It returns other errors unchanged.
func hiddenIsFine(err error) error {
	if domain.AsError(err).Code == domain.CodeProjectPermissionRequired {
		return nil
	}
	return notFoundIsFine(err)
}
