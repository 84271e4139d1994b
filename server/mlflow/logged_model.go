package mlflow

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
)

type loggedModelInfo struct {
	ID           string `json:"model_id"`
	ExperimentID string `json:"experiment_id"`
	Name         string `json:"name"`
	Created      int64  `json:"creation_timestamp_ms"`
	Updated      int64  `json:"last_updated_timestamp_ms"`
	Artifacts    string `json:"artifact_uri"`
	Status       string `json:"status"`
	Type         string `json:"model_type,omitzero"`
	RunID        string `json:"source_run_id,omitzero"`
	Tags         []pair `json:"tags,omitempty"`
}

type loggedModelData struct {
	Params  []pair              `json:"params,omitempty"`
	Metrics []loggedModelMetric `json:"metrics,omitempty"`
}

type loggedModel struct {
	Info loggedModelInfo `json:"info"`
	Data loggedModelData `json:"data"`
}

type loggedModelMetric struct {
	Key           string       `json:"key"`
	Value         scalar.Value `json:"value"`
	Timestamp     int64        `json:"timestamp"`
	Step          int64        `json:"step"`
	DatasetName   string       `json:"dataset_name,omitzero"`
	DatasetDigest string       `json:"dataset_digest,omitzero"`
	ModelID       string       `json:"model_id"`
	RunID         string       `json:"run_id"`
}

type loggedModelAnswer struct {
	Model loggedModel `json:"model"`
}

// modelStatuses maps the protocol's names and numbers to statuses of a logged model.
var modelStatuses = map[string]registry.LoggedModelStatus{
	"LOGGED_MODEL_PENDING": registry.LoggedModelPending, "1": registry.LoggedModelPending,
	"LOGGED_MODEL_READY": registry.LoggedModelReady, "2": registry.LoggedModelReady,
	"LOGGED_MODEL_UPLOAD_FAILED": registry.LoggedModelFailed, "3": registry.LoggedModelFailed,
}

var modelStatusNames = map[registry.LoggedModelStatus]string{
	registry.LoggedModelPending: "LOGGED_MODEL_PENDING",
	registry.LoggedModelReady:   "LOGGED_MODEL_READY",
	registry.LoggedModelFailed:  "LOGGED_MODEL_UPLOAD_FAILED",
}

// loggedModelOf returns a logged model for a response. location is the artifact location of the
// model's experiment, or "" if the server stores the artifacts.
func loggedModelOf(m registry.DescribedModel, location string) loggedModel {
	info := loggedModelInfo{
		ID:           m.ID,
		ExperimentID: m.ExperimentID,
		Name:         m.Name,
		Created:      int64(m.CreatedDate),
		Updated:      int64(m.UpdatedDate),
		Artifacts:    artifactFolder(m.ExperimentID, location, strings.TrimSuffix(registry.LoggedModelFolder(m.ID), "/")),
		Status:       modelStatusNames[m.Status],
		Type:         m.Type,
		Tags:         pairsOf(m.Properties),
	}
	if m.IterationID != nil {
		info.RunID = compact(*m.IterationID)
	}
	var data loggedModelData
	for _, key := range slices.Sorted(maps.Keys(m.Params)) {
		data.Params = append(data.Params, pair{key, m.Params[key]})
	}
	for _, p := range m.Metrics {
		data.Metrics = append(data.Metrics, loggedModelMetric{
			Key:           p.Key,
			Value:         p.Value,
			Timestamp:     int64(p.RecordedAt),
			Step:          int64(p.Step),
			DatasetName:   p.DatasetName,
			DatasetDigest: p.DatasetDigest,
			ModelID:       m.ID,
			RunID:         compact(p.IterationID),
		})
	}
	return loggedModel{info, data}
}

// describeModel returns the logged model with the given id.
func (c *call) describeModel(id string) (out loggedModel, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		all, err := c.describeModels(v, []string{id})
		if err == nil && len(all) == 0 {
			err = domain.Errorf(domain.CodeNotFound, "Logged model with ID '%s' not found.", id)
		}
		if err == nil {
			out = all[0]
		}
		return err
	})
	return out, err
}

// describeModels returns the logged models with the given ids, in the format of responses.
func (c *call) describeModels(v *store.View, ids []string) ([]loggedModel, error) {
	all, err := v.Models.LoggedModels(ids)
	if err != nil {
		return nil, err
	}
	experiments := map[string]bool{}
	for _, m := range all {
		experiments[m.ExperimentID] = true
	}
	locations, err := v.Runs.PropertyOf(slices.Collect(maps.Keys(experiments)), tagLocation)
	if err != nil {
		return nil, err
	}
	out := make([]loggedModel, len(all))
	for i, m := range all {
		out[i] = loggedModelOf(m, locations[m.ExperimentID])
	}
	return out, nil
}

type newLoggedModel struct {
	ExperimentID text  `json:"experiment_id"`
	Name         text  `json:"name"`
	Type         text  `json:"model_type"`
	RunID        text  `json:"source_run_id"`
	Params       []tag `json:"params"`
	Tags         []tag `json:"tags"`
}

func (c *call) createLoggedModel(in newLoggedModel) (out loggedModelAnswer, err error) {
	if err := need("experiment_id", string(in.ExperimentID)); err != nil {
		return out, err
	}
	if strings.ContainsAny(string(in.Name), `/:.%"'`) {
		return out, domain.Invalid("name", "Invalid model name (%q) provided: it must not have / : . %% \" or '.", in.Name)
	}
	n := registry.NewLoggedModel{Name: string(in.Name), Type: string(in.Type)}
	if n.Name == "" {
		n.Name = "model-" + strconv.Itoa(100+rand.IntN(900))
	}
	if in.RunID != "" {
		n.IterationID = expand(string(in.RunID))
	}
	if n.Params, err = modelParams(in.Params); err != nil {
		return out, err
	}
	if n.Properties, err = modelTags(in.Tags); err != nil {
		return out, err
	}
	experiment, err := c.experimentByID(string(in.ExperimentID), true)
	if err != nil {
		return out, err
	}
	created, err := c.db.Models.CreateLoggedModel(c.ctx, c.actor, experiment, n)
	if err != nil {
		if domain.AsError(err).Field == "iteration_id" {
			err = domain.Invalid("source_run_id", "There is no run %s in the project of the experiment, or it is deleted.", in.RunID)
		}
		return out, c.activeExperiment(experiment, err)
	}
	out.Model, err = c.describeModel(created.ID)
	return out, err
}

func modelParams(params []tag) (all []domain.Property, err error) {
	for _, p := range params {
		if err := checkKey(string(p.Key)); err != nil {
			return nil, err
		}
		all = append(all, domain.Property{Key: string(p.Key), Value: cut(string(p.Value), maxParam)})
	}
	return all, nil
}

// modelTags converts the tags of a logged model to properties. If a tag is repeated, its last
// value is used.
func modelTags(tags []tag) (all []domain.Property, err error) {
	for _, t := range tags {
		if err := checkKey(string(t.Key)); err != nil {
			return nil, err
		}
		if n := utf8.RuneCountInString(string(t.Value)); n > maxRegistryTag {
			return nil, domain.Invalid("value", "The value of the tag %q has %d characters; the maximum is %d.", t.Key, n, maxRegistryTag)
		}
		all = setProperty(all, string(t.Key), string(t.Value))
	}
	return all, nil
}

func (c *call) loggedModel(empty) (out loggedModelAnswer, err error) {
	out.Model, err = c.describeModel(c.vars["model_id"])
	return out, err
}

type loggedModelStatus struct {
	Status text `json:"status"`
}

func (c *call) finishLoggedModel(in loggedModelStatus) (out loggedModelAnswer, err error) {
	if err := need("status", string(in.Status)); err != nil {
		return out, err
	}
	status, ok := modelStatuses[string(in.Status)]
	if !ok {
		return out, domain.Invalid("status", "Unknown model status: %s; use LOGGED_MODEL_PENDING, LOGGED_MODEL_READY and LOGGED_MODEL_UPLOAD_FAILED.", in.Status)
	}
	id := c.vars["model_id"]
	if err := c.db.Models.SetLoggedModelStatus(c.ctx, c.actor, id, status); err != nil {
		return out, err
	}
	out.Model, err = c.describeModel(id)
	return out, err
}

func (c *call) deleteLoggedModel(empty) error {
	return c.db.Models.DeleteLoggedModel(c.ctx, c.actor, c.vars["model_id"])
}

type tagList struct {
	Tags []tag `json:"tags"`
}

func (c *call) setLoggedModelTags(in tagList) error {
	all, err := modelTags(in.Tags)
	if err != nil {
		return err
	}
	return c.db.Runs.SetProperties(c.ctx, c.actor, runs.LoggedModelProperty, c.vars["model_id"], all)
}

func (c *call) deleteLoggedModelTag(empty) error {
	return c.db.Runs.DeleteProperty(c.ctx, c.actor, runs.LoggedModelProperty, c.vars["model_id"], c.vars["key"])
}

type paramList struct {
	Params []tag `json:"params"`
}

func (c *call) addLoggedModelParams(in paramList) error {
	all, err := modelParams(in.Params)
	if err != nil {
		return err
	}
	return c.db.Models.AddLoggedModelParams(c.ctx, c.actor, c.vars["model_id"], all)
}

// modelUse names a logged model that a run used or created.
type modelUse struct {
	ModelID text    `json:"model_id"`
	Step    integer `json:"step"`
}

// modelUses converts the logged models in a request to records of the store.
func modelUses(role registry.LoggedModelRole, models []modelUse) ([]registry.LoggedModelUse, error) {
	var uses []registry.LoggedModelUse
	for _, m := range models {
		if err := need("model_id", string(m.ModelID)); err != nil {
			return nil, err
		}
		uses = append(uses, registry.LoggedModelUse{Role: role, ModelID: string(m.ModelID), Step: scalar.Step(m.Step.n)})
	}
	return uses, nil
}

type outputLog struct {
	runRef
	Models []modelUse `json:"models"`
}

func (c *call) logOutputs(in outputLog) error {
	id, err := in.id()
	if err != nil {
		return err
	}
	uses, err := modelUses(registry.OutputModel, in.Models)
	if err != nil {
		return err
	}
	return c.activeRun(id, c.db.Runs.LogIteration(c.ctx, c.actor, id, runs.IterationLog{Models: uses}))
}

// In a response, modelInput is a logged model that a run used, and modelOutput is one that a run
// created.
type modelInput struct {
	ModelID string `json:"model_id"`
}

type modelOutput struct {
	ModelID string `json:"model_id"`
	Step    int64  `json:"step"`
}

type runOutputs struct {
	Models []modelOutput `json:"model_outputs,omitzero"`
}

func modelsOf(uses []registry.LoggedModelUse) (inputs []modelInput, out runOutputs) {
	for _, u := range uses {
		if u.Role == registry.InputModel {
			inputs = append(inputs, modelInput{u.ModelID})
		} else {
			out.Models = append(out.Models, modelOutput{u.ModelID, int64(u.Step)})
		}
	}
	return inputs, out
}
