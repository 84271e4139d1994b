package mlflow

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/projects"
	"tracker/store/runs"
)

// experiment is an experiment in a response.
type experiment struct {
	ID        string `json:"experiment_id"`
	Name      string `json:"name"`
	Artifacts string `json:"artifact_location"`
	Lifecycle string `json:"lifecycle_stage"`
	Created   int64  `json:"creation_time"`
	Updated   int64  `json:"last_update_time"`
	Tags      []pair `json:"tags,omitzero"`
}

type experimentAnswer struct {
	Experiment experiment `json:"experiment"`
}

// Lifecycle stages of an experiment or run.
const (
	active  = "active"
	deleted = "deleted"
)

func experimentOf(e projects.ExperimentRecord) experiment {
	out := experiment{ID: e.ID, Name: e.Name, Artifacts: artifactScheme + e.ID, Lifecycle: active,
		Created: int64(e.CreatedDate), Updated: int64(e.Updated())}
	if e.Deleted {
		out.Lifecycle = deleted
	}
	if e.Description != "" {
		out.Tags = append(out.Tags, pair{tagNote, e.Description})
	}
	for _, p := range e.Properties {
		if p.Key == tagLocation {
			out.Artifacts = p.Value
			continue
		}
		out.Tags = append(out.Tags, pair(p))
	}
	return out
}

type newExperiment struct {
	Name      text  `json:"name"`
	Artifacts text  `json:"artifact_location"`
	Tags      []tag `json:"tags"`
}

type experimentID struct {
	ID text `json:"experiment_id"`
}

func (c *call) createExperiment(in newExperiment) (out experimentID, err error) {
	if err := need("name", string(in.Name)); err != nil {
		return out, err
	}
	n := projects.NewExperiment{Name: string(in.Name), Unique: true}
	for _, t := range in.Tags {
		if err := checkExperimentTag(t); err != nil {
			return out, err
		}
		if t.Key == tagNote {
			n.Description = string(t.Value)
		} else {
			n.Properties = setProperty(n.Properties, string(t.Key), string(t.Value))
		}
	}
	if at := strings.TrimRight(string(in.Artifacts), "/"); at != "" {
		if strings.HasPrefix(at, "mlflow-artifacts:") {
			return out, domain.Invalid("artifact_location", "The server chooses the location of its artifacts; leave out artifact_location.")
		}
		n.Properties = setProperty(n.Properties, tagLocation, at)
	}
	project, err := c.makeProject()
	if err != nil {
		return out, err
	}
	created, err := c.db.Projects.CreateExperiment(c.ctx, c.actor, project, n)
	out.ID = text(created.ID)
	return out, taken(err)
}

// taken converts a CONFLICT error for the field "name" to MLflow's error for an existing name. It
// returns other errors unchanged.
func taken(err error) error {
	if err == nil {
		return nil
	}
	if e := domain.AsError(err); e.Code == domain.CodeConflict && e.Field == "name" {
		return exists(e.Message)
	}
	return err
}

func checkExperimentTag(t tag) error {
	if err := checkKey(string(t.Key)); err != nil {
		return err
	}
	if utf8.RuneCountInString(string(t.Value)) > maxExpTag {
		return domain.Invalid("value", "The value of the tag %q has more than %d characters.", t.Key, maxExpTag)
	}
	return nil
}

// experimentByID returns the store's id for an experiment id of the protocol. For the id of the
// default experiment, it looks up this experiment. If make is true, it creates the default
// experiment if it does not exist.
func (c *call) experimentByID(id string, make bool) (string, error) {
	if id != defaultExperimentID {
		return expand(id), nil
	}
	project, err := c.readProject()
	if isNotFound(err) && make && c.project == "" {
		project, err = c.makeProject()
	}
	if err != nil {
		return "", err
	}
	e, err := c.reading().experimentNamed(project, defaultExperimentName)
	if !isNotFound(err) || !make {
		return e.ID, err
	}
	created, err := c.db.Projects.CreateExperiment(c.ctx, c.actor, project, projects.NewExperiment{Name: defaultExperimentName, Unique: true})
	if taken(err) != err { // another client has created the experiment
		e, err := c.reading().experimentNamed(project, defaultExperimentName)
		return e.ID, err
	}
	return created.ID, err
}

func (c *call) experimentNamed(project, name string) (projects.ExperimentRecord, error) {
	return c.db.Projects.ExperimentNamed(c.ctx, c.actor, project, name)
}

func (c *call) experiment(in experimentID) (out experimentAnswer, err error) {
	if err := need("experiment_id", string(in.ID)); err != nil {
		return out, err
	}
	id, err := c.experimentByID(string(in.ID), true)
	if err != nil {
		return out, err
	}
	e, err := c.db.Projects.ExperimentRecord(domain.WithTrash(c.ctx), c.actor, id)
	out.Experiment = experimentOf(e)
	return out, err
}

type experimentName struct {
	Name text `json:"experiment_name"`
}

func (c *call) experimentByName(in experimentName) (out experimentAnswer, err error) {
	if err := need("experiment_name", string(in.Name)); err != nil {
		return out, err
	}
	project, err := c.readProject()
	if err != nil {
		return out, err
	}
	e, err := c.reading().experimentNamed(project, string(in.Name))
	out.Experiment = experimentOf(e)
	return out, err
}

type experimentUpdate struct {
	ID   text `json:"experiment_id"`
	Name text `json:"new_name"`
}

func (c *call) updateExperiment(in experimentUpdate) error {
	if err := need("experiment_id", string(in.ID)); err != nil {
		return err
	}
	if err := need("new_name", string(in.Name)); err != nil {
		return err
	}
	id, err := c.experimentByID(string(in.ID), true)
	if err != nil {
		return err
	}
	err = taken(c.db.Projects.UpdateExperiment(c.ctx, c.actor, id, projects.ExperimentPatch{Name: (*string)(&in.Name), Unique: true}))
	return c.activeExperiment(id, err)
}

type experimentTag struct {
	ID text `json:"experiment_id"`
	tag
}

func (c *call) setExperimentTag(in experimentTag) error {
	if err := need("experiment_id", string(in.ID)); err != nil {
		return err
	}
	if err := checkExperimentTag(in.tag); err != nil {
		return err
	}
	id, err := c.experimentByID(string(in.ID), true)
	if err != nil {
		return err
	}
	if in.Key == tagNote {
		return c.activeExperiment(id, c.db.Projects.UpdateExperiment(c.ctx, c.actor, id, projects.ExperimentPatch{Description: (*string)(&in.Value)}))
	}
	return c.activeExperiment(id, c.db.Runs.SetProperties(c.ctx, c.actor, runs.ExperimentProperty, id,
		[]domain.Property{{Key: string(in.Key), Value: string(in.Value)}}))
}

func (c *call) deleteExperimentTag(in experimentTag) error {
	if err := need("experiment_id", string(in.ID)); err != nil {
		return err
	}
	if err := need("key", string(in.Key)); err != nil {
		return err
	}
	id, err := c.experimentByID(string(in.ID), true)
	if err != nil {
		return err
	}
	return c.activeExperiment(id, c.removeExperimentTag(id, string(in.Key)))
}

// removeExperimentTag removes a tag of an experiment. For tagNote, it removes the description.
func (c *call) removeExperimentTag(id, key string) error {
	if key != tagNote {
		return c.db.Runs.DeleteProperty(c.ctx, c.actor, runs.ExperimentProperty, id, key)
	}
	e, err := c.db.Projects.Experiment(c.ctx, c.actor, id)
	if err != nil {
		return err
	}
	if e.Description == "" {
		return noTag(key)
	}
	return c.db.Projects.UpdateExperiment(c.ctx, c.actor, id, projects.ExperimentPatch{Description: new(string)})
}

type experimentSearch struct {
	MaxResults integer `json:"max_results"`
	PageToken  text    `json:"page_token"`
	Filter     text    `json:"filter"`
	OrderBy    texts   `json:"order_by"`
	ViewType   view    `json:"view_type"`
}

type experimentPage struct {
	Experiments []experiment `json:"experiments,omitzero"`
	NextToken   string       `json:"next_page_token,omitzero"`
}

// maxExperiments is the maximum page size that a request can ask for, as in MLflow. A response
// contains at most domain.MaxLimit records.
const maxExperiments = 50_000

func (c *call) searchExperiments(in experimentSearch) (out experimentPage, err error) {
	var q projects.ExperimentRecordQuery
	if q.Page, err = requestedPage(in.MaxResults, in.PageToken, domain.MaxLimit, maxExperiments); err != nil {
		return out, err
	}
	if q.Filter, err = experimentFilter(string(in.Filter)); err != nil {
		return out, err
	}
	if q.Sort, err = experimentOrder(in.OrderBy); err != nil {
		return out, err
	}
	project, err := c.searchedProject()
	if err != nil || project == "" {
		return out, err
	}
	q.Trash = in.ViewType.trash()
	l, err := c.db.Projects.ExperimentRecords(c.ctx, c.actor, project, q)
	for _, e := range l.Data {
		out.Experiments = append(out.Experiments, experimentOf(e))
	}
	out.NextToken = pageToken(l.Offset, len(l.Data), l.Total)
	return out, err
}

// listExperiments is like searchExperiments, but treats a max_results of 0 as not set. Clients of
// MLflow 1.x use it.
func (c *call) listExperiments(in experimentSearch) (experimentPage, error) {
	if in.MaxResults.n == 0 {
		in.MaxResults = integer{}
	}
	return c.searchExperiments(in)
}

var experimentAttributes = map[string]filter.Field{
	"name":             filter.Name,
	"experiment_id":    filter.ID,
	"creation_time":    filter.Created,
	"last_update_time": filter.Updated,
}

// experimentField returns a reference to the field of an experiment that a filter or order names.
func experimentField(field, entity, key string) (filter.Ref, error) {
	switch {
	case entity == "tag":
		return ref(filter.Property, key), nil
	case entity == "attribute":
		if f, ok := experimentAttributes[key]; ok {
			return ref(f, ""), nil
		}
	}
	return filter.Ref{}, badFilter(field, "an experiment has no %s %q; use tags or the attributes %s.", entity, key,
		"name, experiment_id, creation_time and last_update_time")
}

func experimentFilter(text string) (filter.Expr, error) {
	terms, err := parseFilter(text)
	if err != nil {
		return nil, err
	}
	var parts []filter.Expr
	for _, t := range terms {
		r, err := experimentField("filter", t.entity, t.key)
		if err != nil {
			return nil, err
		}
		var e filter.Expr
		if r.Field == filter.Created || r.Field == filter.Updated {
			e, err = timeExpr(t, r.Field)
		} else {
			e, err = textExpr(t, r)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return allOf(parts), nil
}

func experimentOrder(orderBy []string) (keys []filter.SortKey, err error) {
	for _, text := range orderBy {
		entity, key, descending, err := parseOrder(text)
		if err != nil {
			return nil, err
		}
		r, err := experimentField("order_by", entity, key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, filter.SortKey{Ref: r, Descending: descending})
	}
	if !slices.ContainsFunc(keys, func(k filter.SortKey) bool { return k.Field == filter.Created }) {
		keys = append(keys, filter.SortKey{Ref: ref(filter.Created, ""), Descending: true})
	}
	return keys, nil
}
