package mlflow

import (
	"errors"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// runStatuses maps MLflow's status names to run statuses. A scheduled run is stored as RUNNING.
var runStatuses = map[string]domain.IterationStatus{
	"RUNNING":  domain.Running,
	"FINISHED": domain.Succeeded,
	"FAILED":   domain.Failed,
	"KILLED":   domain.Killed,
}

// statusNames maps run statuses to MLflow's names.
var statusNames = map[domain.IterationStatus]string{
	domain.Running:   "RUNNING",
	domain.Succeeded: "FINISHED",
	domain.Failed:    "FAILED",
	domain.Killed:    "KILLED",
}

// status is a run status in a request, given as a name or number. It is nil if the request has
// no status.
type status struct{ *domain.IterationStatus }

// UnmarshalJSONFrom reads a status name, a status number or null.
func (s *status) UnmarshalJSONFrom(dec *json.Decoder) error {
	var t text
	if err := t.UnmarshalJSONFrom(dec); err != nil {
		return err
	}
	switch t {
	case "":
		*s = status{}
		return nil
	case "1", "2", "SCHEDULED":
		t = "RUNNING"
	case "3":
		t = "FINISHED"
	case "4":
		t = "FAILED"
	case "5":
		t = "KILLED"
	}
	known, ok := runStatuses[string(t)]
	if !ok {
		return errors.New("must be RUNNING, SCHEDULED, FINISHED, FAILED or KILLED")
	}
	*s = status{&known}
	return nil
}

// view selects active records, deleted records, or all records.
type view int

const (
	viewActive view = iota
	viewDeleted
	viewAll
)

// UnmarshalJSONFrom reads a view name, a view number or null.
func (v *view) UnmarshalJSONFrom(dec *json.Decoder) error {
	var t text
	if err := t.UnmarshalJSONFrom(dec); err != nil {
		return err
	}
	switch t {
	case "", "1", "ACTIVE_ONLY":
		*v = viewActive
	case "2", "DELETED_ONLY":
		*v = viewDeleted
	case "3", "ALL":
		*v = viewAll
	default:
		return errors.New("must be ACTIVE_ONLY, DELETED_ONLY or ALL")
	}
	return nil
}

// trash returns the store's trash filter for the view.
func (v view) trash() domain.TrashFilter {
	switch v {
	case viewDeleted:
		return domain.OnlyTrash
	case viewAll:
		return domain.AlsoTrash
	}
	return domain.NotTrash
}

// runInfo holds a run's basic fields in a response.
type runInfo struct {
	ID           string `json:"run_id"`
	UUID         string `json:"run_uuid"`
	ExperimentID string `json:"experiment_id"`
	Name         string `json:"run_name"`
	UserID       string `json:"user_id"`
	Status       string `json:"status"`
	Start        int64  `json:"start_time"`
	End          *int64 `json:"end_time,omitzero"`
	Artifacts    string `json:"artifact_uri"`
	Lifecycle    string `json:"lifecycle_stage"`
}

type runData struct {
	Metrics []metric `json:"metrics,omitzero"`
	Params  []pair   `json:"params,omitzero"`
	Tags    []pair   `json:"tags,omitzero"`
}

type run struct {
	Info    runInfo    `json:"info"`
	Data    runData    `json:"data"`
	Inputs  runInputs  `json:"inputs"`
	Outputs runOutputs `json:"outputs"`
}

type runAnswer struct {
	Run run `json:"run"`
}

// runOf returns a run in the format of responses. location is the artifact location of the
// run's experiment, or "" if the server stores the artifacts.
func runOf(r *runs.IterationRecord, location string) run {
	id := compact(r.ID)
	out := run{Info: runInfo{ID: id, UUID: id, ExperimentID: r.ExperimentID, Name: r.Name, Status: statusNames[r.Status],
		Start: int64(r.CreatedDate), End: (*int64)(r.EndDate), Artifacts: runArtifacts(r.ExperimentID, r.ID), Lifecycle: active}}
	if r.Deleted {
		out.Info.Lifecycle = deleted
	}
	if location != "" {
		out.Info.Artifacts = location + "/" + id + "/artifacts"
	}
	parent := ""
	if r.ParentIterationID != nil {
		parent = compact(*r.ParentIterationID)
	}
	out.Info.UserID, _ = userOf(r)
	out.Data.Metrics = slices.Grow(out.Data.Metrics, len(r.Latest))
	for _, l := range r.Latest {
		out.Data.Metrics = append(out.Data.Metrics, metric{l.Key, l.Value, int64(l.At), int64(l.Step)})
	}
	out.Data.Params = pairsOf(r.Parameters)
	out.Data.Tags = tagsOf(r, parent)
	out.Inputs = inputsOf(r.Datasets)
	out.Inputs.Models, out.Outputs = modelsOf(r.Models)
	return out
}

// runRef identifies a run by run_id, or by run_uuid as MLflow 1.x does.
type runRef struct {
	ID   text `json:"run_id"`
	UUID text `json:"run_uuid"`
}

// id returns the store's id of the run.
func (r runRef) id() (string, error) {
	id := r.ID
	if id == "" {
		id = r.UUID
	}
	return expand(string(id)), need("run_id", string(id))
}

type newRun struct {
	ExperimentID text    `json:"experiment_id"`
	UserID       text    `json:"user_id"`
	Name         text    `json:"run_name"`
	Start        integer `json:"start_time"`
	Tags         []tag   `json:"tags"`
}

func (c *call) createRun(in newRun) (out runAnswer, err error) {
	if in.ExperimentID == "" {
		in.ExperimentID = defaultExperimentID
	}
	experiment, err := c.experimentByID(string(in.ExperimentID), true)
	if err != nil {
		return out, err
	}
	f, err := c.sortTags(experiment, in.Tags)
	if err != nil {
		return out, err
	}
	n := runs.NewIteration{ParentIterationID: f.parent, Properties: f.properties, Snapshot: f.snapshot}
	if n.Name, err = newName(string(in.Name), f.name); err != nil {
		return out, err
	}
	if f.notes != nil {
		n.Notes = *f.notes
	}
	if in.Start.n > 0 {
		n.CreatedDate = new(scalar.Time(in.Start.n))
	}
	if in.UserID != "" && !hasProperty(n.Properties, tagUser) {
		n.Properties = append(n.Properties, domain.Property{Key: tagUser, Value: cut(string(in.UserID), maxTag)})
	}
	created, err := c.db.Runs.CreateIteration(c.ctx, c.actor, experiment, n)
	if err != nil && domain.AsError(err).Field == "created_date" {
		// A client with a wrong clock must still be able to log its run.
		n.CreatedDate = nil
		created, err = c.db.Runs.CreateIteration(c.ctx, c.actor, experiment, n)
	}
	if err != nil {
		return out, c.activeExperiment(experiment, err)
	}
	return c.readRun(created.ID)
}

// newName returns the name of a new run from the field run_name or the tag mlflow.runName. It
// returns nil if both are empty; the store then chooses a name.
func newName(name string, inTag *string) (*string, error) {
	switch {
	case inTag == nil || strings.TrimSpace(*inTag) == "":
		if strings.TrimSpace(name) == "" {
			return nil, nil
		}
		return &name, nil
	case name != "" && name != *inTag:
		return nil, domain.Invalid("run_name", "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different values (run_name='%s', mlflow.runName='%s').", name, *inTag)
	}
	return inTag, nil
}

func hasProperty(all []domain.Property, key string) bool {
	for _, p := range all {
		if p.Key == key {
			return true
		}
	}
	return false
}

func (c *call) run(in runRef) (out runAnswer, err error) {
	id, err := in.id()
	if err != nil {
		return out, err
	}
	return c.readRun(id)
}

// readRun returns a response with the current state of a run.
func (c *call) readRun(id string) (out runAnswer, err error) {
	err = c.held(domain.WithTrash(c.ctx), func(v *store.View) error {
		r, err := v.Runs.IterationRecord(id)
		if err != nil {
			return err
		}
		locations, err := v.Runs.PropertyOf([]string{r.ExperimentID}, tagLocation)
		out.Run = runOf(&r, locations[r.ExperimentID])
		return err
	})
	return out, err
}

type runUpdate struct {
	runRef
	Status status  `json:"status"`
	End    integer `json:"end_time"`
	Name   text    `json:"run_name"`
}

type runInfoAnswer struct {
	Info runInfo `json:"run_info"`
}

func (c *call) updateRun(in runUpdate) (out runInfoAnswer, err error) {
	id, err := in.id()
	if err != nil {
		return out, err
	}
	p := runs.IterationPatch{Status: in.Status.IterationStatus, Reopen: true}
	// A client that resumes a run also sends the run's previous end time.
	if in.End.n > 0 && (p.Status == nil || *p.Status != domain.Running) {
		p.EndDate = new(scalar.Time(in.End.n))
	}
	if strings.TrimSpace(string(in.Name)) != "" {
		p.Name = (*string)(&in.Name)
	}
	if err := c.db.Runs.UpdateIteration(c.ctx, c.actor, id, p); err != nil {
		return out, c.activeRun(id, err)
	}
	r, err := c.readRun(id)
	out.Info = r.Run.Info
	return out, err
}

type runSearch struct {
	ExperimentIDs texts   `json:"experiment_ids"`
	Filter        text    `json:"filter"`
	ViewType      view    `json:"run_view_type"`
	MaxResults    integer `json:"max_results"`
	OrderBy       texts   `json:"order_by"`
	PageToken     text    `json:"page_token"`
}

type runPage struct {
	Runs      []run  `json:"runs,omitzero"`
	NextToken string `json:"next_page_token,omitzero"`
}

func (c *call) searchRuns(in runSearch) (out runPage, err error) {
	var q runs.RecordQuery
	if q.Page, err = requestedPage(in.MaxResults, in.PageToken, domain.MaxLimit, runs.MaxRecords); err != nil {
		return out, err
	}
	if q.Filter, err = runFilter(string(in.Filter)); err != nil {
		return out, err
	}
	if q.Sort, err = runOrder(in.OrderBy); err != nil {
		return out, err
	}
	for _, id := range in.ExperimentIDs {
		id, err := c.experimentByID(id, false)
		if err != nil && !isNotFound(err) {
			return out, err
		}
		q.Experiments = append(q.Experiments, id)
	}
	q.Trash = in.ViewType.trash()
	err = c.held(c.ctx, func(v *store.View) error {
		l, err := v.Runs.IterationRecords(q)
		if err != nil {
			return err
		}
		locations, err := v.Runs.PropertyOf(q.Experiments, tagLocation)
		out.Runs = slices.Grow([]run(nil), len(l.Data))
		for i := range l.Data {
			out.Runs = append(out.Runs, runOf(&l.Data[i], locations[l.Data[i].ExperimentID]))
			l.Data[i] = runs.IterationRecord{} // free the memory: the response has a copy
		}
		out.NextToken = pageToken(l.Offset, len(l.Data), l.Total)
		return err
	})
	return out, err
}
