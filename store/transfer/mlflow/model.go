package mlflow

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// loggedModel is a logged model read from a database or a file store.
type loggedModel struct {
	id, experiment, name, kind, run, artifacts string
	status                                     any // 1 for pending, 2 for ready, 3 for failed
	created                                    any // Unix milliseconds
	deleted                                    bool
	experimentDeleted                          bool
	params, tags                               map[string]string
	uses                                       []transfer.ModelUse
	metrics                                    []transfer.ModelMetric
	path                                       string // location for messages about losses
}

// registered is a registered model read from a database or a file store.
type registered struct {
	name, description string
	created           any // Unix milliseconds
	tags              map[string]string
	aliases           map[string]int64 // version numbers by alias
	versions          []version
	path              string // location for messages about losses
}

// version is a version of a registered model.
type version struct {
	number                          int64
	created                         any // Unix milliseconds
	description, stage, source, run string
	tags                            map[string]string
}

// importModel imports a logged model with its files. It omits a deleted model of an experiment that
// is not deleted, because the trash can't hold a single model.
func (m loggedModel) importModel(ctx context.Context, im *transfer.Import, p *places, left *leftOut) error {
	if !im.Wanted(m.name, m.experiment) {
		return nil
	}
	if m.deleted && !m.experimentDeleted || m.experimentDeleted && !im.Deleted {
		left.models++
		return nil
	}
	hex := strings.TrimPrefix(m.id, "m-")
	if _, err := uuid.Parse(hex); err != nil || len(hex) != 32 || hex == m.id || strings.ToLower(hex) != hex {
		im.Lose(m.path, "The id of the logged model is not one of MLflow's; it is left out.")
		return nil
	}
	status, ok := wholeOf(m.status)
	if !ok || status < 1 || status > 3 {
		im.Lose(m.path, "The status of the logged model, %s, is not one of MLflow's; it is PENDING here.", shown(m.status))
	}
	to := transfer.LoggedModel{ID: m.id, Project: projectName, Experiment: m.experiment, Name: m.name, Type: m.kind, Ready: status == 2,
		Failed: status == 3, Trashed: m.experimentDeleted, RunID: runOf(m.run), Params: entriesOf(m.params), Properties: entriesOf(m.tags),
		Uses: m.uses, Metrics: m.metrics}
	if to.Name == "" {
		to.Name = m.id
	}
	to.Created = madeAt(im, m.path, "logged model", m.created)
	folder, problem := "", ""
	if !im.NoArtifacts {
		folder, problem = p.folder(m.artifacts, m.id, hex)
	}
	if problem != "" {
		im.Lose(m.path, "%s", problem)
	}
	return im.LoggedModel(ctx, to, m.path, folder)
}

var stages = map[string]string{"": "NONE", "None": "NONE", "Staging": "STAGING", "Production": "PRODUCTION", "Archived": "ARCHIVED"}

// importModel imports a registered model with its versions.
func (m registered) importModel(ctx context.Context, im *transfer.Import) error {
	if m.name == "" || !im.Wanted(m.name) {
		return nil
	}
	to := transfer.RegisteredModel{Project: projectName, Name: m.name, Description: m.description, Properties: entriesOf(m.tags)}
	to.Created = madeAt(im, m.path, "registered model", m.created)
	for _, v := range m.versions {
		stage, ok := stages[v.stage]
		if v.stage == "Deleted_Internal" {
			continue
		}
		if !ok {
			stage = "NONE"
			im.Lose(m.path, "The stage of the version %d, %q, is not one of MLflow's; it is NONE here.", v.number, v.stage)
		}
		nv := transfer.ModelVersion{Number: v.number, RunID: runOf(v.run), Source: v.source, Description: v.description, Stage: stage, Properties: entriesOf(v.tags)}
		if v.number < 1 || v.number > math.MaxInt32 || v.source == "" && v.run == "" {
			im.Lose(m.path, "The version %d has an invalid number or no source; it is left out.", v.number)
			continue
		}
		nv.Created = madeAt(im, m.path, fmt.Sprintf("version %d", v.number), v.created)
		for _, alias := range slices.Sorted(maps.Keys(m.aliases)) {
			if m.aliases[alias] == v.number {
				nv.Aliases = append(nv.Aliases, alias)
			}
		}
		to.Versions = append(to.Versions, nv)
	}
	return im.RegisteredModel(ctx, to, m.path)
}

func runOf(id string) *uuid.UUID {
	if id == "" {
		return nil
	}
	return new(runUUID(id))
}

func entriesOf(all map[string]string) []transfer.Parameter {
	list := make([]transfer.Parameter, 0, len(all))
	for _, key := range sorted(all) {
		list = append(list, transfer.Parameter{Key: key, Value: all[key]})
	}
	return list
}
