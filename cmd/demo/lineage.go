package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
)

// datasetName is the name of the artifact with the training data. All runs that registered models
// were made from use it.
const datasetName = "training-data"

// logVersions logs the artifacts of an experiment if versions of models are made from its runs: two
// versions of the training data, which the other runs use, and the weights of each of the runs. It
// stores the files of the weights in w.created, for createModel.
func (w *writer) logVersions(ctx context.Context, experimentID string, e experiment, models []model) error {
	var sources []string
	for _, m := range models {
		for _, v := range m.versions {
			for _, r := range e.runs {
				if r.name == v.run {
					sources = append(sources, m.name+"\n"+v.run)
				}
			}
		}
	}
	if len(sources) == 0 {
		return nil
	}
	data, err := w.logData(ctx, experimentID, e)
	if err != nil {
		return err
	}
	for i, r := range e.runs[1:] {
		if _, err := w.db.Collections.UseVersion(ctx, w.actor, data[min(1, i)], w.created[r.name].id); err != nil {
			return err
		}
	}
	for _, s := range sources {
		name, run, _ := strings.Cut(s, "\n")
		made := w.created[run]
		w.clock.set(made.end)
		weights := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32.32s", run))))
		content := make([]byte, 40_000)
		_, _ = weights.Read(content) // never returns an error
		if err := w.store(ctx, experimentID, made.id, "checkpoints/last.safetensors", "application/octet-stream", string(content)); err != nil {
			return err
		}
		version, err := w.db.Collections.LogVersion(ctx, w.actor, collections.NewVersion{IterationID: made.id, Collection: strings.ReplaceAll(name, " ", "-"), Type: "model",
			Aliases: []string{"best"}, Tags: []string{"float32"}, Metadata: fmt.Sprintf(`{"steps": %d, "format": "safetensors"}`, e.runs[0].steps)}, "checkpoints")
		if err != nil {
			return err
		}
		list, err := w.db.Collections.Files(ctx, w.actor, version.ID, domain.Page{Limit: 1})
		if err != nil {
			return err
		}
		made.weights = list.Data[0].ID
		w.created[run] = made
	}
	return nil
}

// logData logs two versions of the training data with the first run of an experiment. It returns
// their ids.
func (w *writer) logData(ctx context.Context, experimentID string, e experiment) (ids [2]string, err error) {
	first := w.created[e.runs[0].name]
	w.clock.set(w.start(e.runs[0]).Add(time.Second))
	const readme = "# Training data\n\nOne line per picture, with its class.\n"
	for i, rows := range []int{120, 180} {
		folder := fmt.Sprintf("%s%d", collections.StagingPrefix, i)
		var table strings.Builder
		table.WriteString("picture,class\n")
		for row := range rows {
			fmt.Fprintf(&table, "%04d.png,%d\n", row, row%43)
		}
		files := map[string]string{"train.csv": table.String(), "README.md": readme}
		if i == 1 {
			files["held-out.csv"] = "picture,class\n9001.png,7\n"
		}
		for name, content := range files {
			if err := w.store(ctx, experimentID, first.id, folder+"/"+name, "", content); err != nil {
				return ids, err
			}
		}
		aliases := [][]string{{"raw"}, {"clean"}}[i]
		made, err := w.db.Collections.LogVersion(ctx, w.actor, collections.NewVersion{IterationID: first.id, Collection: datasetName, Type: "dataset", Aliases: aliases,
			Tags: []string{"pictures"}, Description: "Pictures and their classes.", Metadata: fmt.Sprintf(`{"rows": %d, "classes": 43}`, rows)}, folder)
		if err != nil {
			return ids, err
		}
		ids[i] = made.ID
	}
	return ids, nil
}

// store creates an artifact of a run.
func (w *writer) store(ctx context.Context, experimentID, id, name, contentType, content string) error {
	got, err := w.db.Files.Receive(ctx, strings.NewReader(content), "")
	if err != nil {
		return err
	}
	defer got.Discard()
	_, err = w.db.Files.CreateArtifact(ctx, w.actor, experimentID, files.NewArtifact{Name: name, ContentType: contentType, IterationID: id}, got)
	return err
}
