package mlflow

import (
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
)

// dataset is a dataset in a request or response.
type dataset struct {
	Name       text `json:"name"`
	Digest     text `json:"digest"`
	SourceType text `json:"source_type"`
	Source     text `json:"source"`
	Schema     text `json:"schema,omitzero"`
	Profile    text `json:"profile,omitzero"`
}

type datasetInput struct {
	Tags    []tag   `json:"tags,omitzero"`
	Dataset dataset `json:"dataset"`
}

type runInputs struct {
	Datasets []datasetInput `json:"dataset_inputs,omitzero"`
	Models   []modelInput   `json:"model_inputs,omitzero"`
}

func inputsOf(all []runs.DatasetUse) (in runInputs) {
	for _, d := range all {
		input := datasetInput{Dataset: dataset{text(d.Name), text(d.Digest), text(d.SourceType), text(d.Source), text(d.Schema), text(d.Profile)}}
		if d.Context != nil {
			input.Tags = append(input.Tags, tag{tagContext, text(*d.Context)})
		}
		for _, t := range d.Tags {
			input.Tags = append(input.Tags, tag{text(t.Key), text(t.Value)})
		}
		in.Datasets = append(in.Datasets, input)
	}
	return in
}

type inputLog struct {
	runRef
	Datasets []datasetInput `json:"datasets"`
	Models   []modelUse     `json:"models"`
}

func (c *call) logInputs(in inputLog) error {
	id, err := in.id()
	if err != nil {
		return err
	}
	var l runs.IterationLog
	if l.Models, err = modelUses(registry.InputModel, in.Models); err != nil {
		return err
	}
	for _, input := range in.Datasets {
		d := input.Dataset
		for _, field := range []struct {
			name  string
			value text
		}{{"name", d.Name}, {"digest", d.Digest}, {"source_type", d.SourceType}, {"source", d.Source}} {
			if err := need(field.name, string(field.value)); err != nil {
				return err
			}
		}
		use := runs.DatasetUse{Name: string(d.Name), Digest: string(d.Digest), SourceType: string(d.SourceType),
			Source: string(d.Source), Schema: string(d.Schema), Profile: string(d.Profile), Tags: []domain.Property{}}
		for _, t := range input.Tags {
			if t.Key == tagContext {
				use.Context = (*string)(&t.Value)
			} else {
				use.Tags = setProperty(use.Tags, string(t.Key), string(t.Value))
			}
		}
		l.Datasets = append(l.Datasets, use)
	}
	return c.activeRun(id, c.db.Runs.LogIteration(c.ctx, c.actor, id, l))
}
