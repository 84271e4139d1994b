package store

import (
	"encoding/hex"
	"slices"

	"github.com/google/uuid"

	"tracker/store/json"
	"tracker/store/record"
)

// archived returns the records that q selects in the order in which they are copied,
// and the scope of the archive: project, experiment or runs.
func (tx *tx) archived(actor Actor, q ArchiveQuery) (refs []record.Ref, scope string, err error) {
	switch {
	case q.ProjectID != "":
		if err := tx.allowProject(actor, q.ProjectID, rightRead); err != nil {
			return nil, "", err
		}
		refs, err = tx.records().OfProject(q.ProjectID)
		if err == nil && q.Records != nil {
			var missing string
			if refs, missing = record.Only(refs, q.Records); missing != "" {
				err = Invalid("records", "The project has no record %q.", truncate(missing))
			}
		}
		return refs, "project", err
	case q.ExperimentID != "" && q.Filter == "":
		e, err := tx.allowExperiment(actor, q.ExperimentID, rightRead)
		if err != nil {
			return nil, "", err
		}
		refs, err = tx.records().OfExperiment(e.projectID, q.ExperimentID)
		return refs, "experiment", err
	case q.ExperimentID != "":
		v := &View{tx: tx, actor: actor}
		for {
			l, err := v.Iterations(q.ExperimentID, IterationQuery{Filter: q.Filter, Sort: "created", Page: Page{Limit: MaxLimit, Offset: len(q.IterationIDs)}})
			if err != nil {
				return nil, "", err
			}
			for _, it := range l.Data {
				q.IterationIDs = append(q.IterationIDs, it.ID)
			}
			if len(l.Data) == 0 || len(q.IterationIDs) >= l.Total {
				break
			}
		}
	}
	refs, err = tx.recordsOfRuns(actor, q.IterationIDs)
	return refs, "runs", err
}

// recordsOfRuns returns runs, in the order of their numbers, with what holds them.
func (tx *tx) recordsOfRuns(actor Actor, ids []string) (refs []record.Ref, err error) {
	for chunk := range slices.Chunk(ids, MaxLimit) {
		if _, err := tx.allowIterations(actor, chunk, rightRead); err != nil {
			return nil, err
		}
	}
	refs, err = tx.records().OfRuns(ids)
	if err == nil && len(refs) == 0 {
		err = Invalid("iteration_ids", "No run is selected; name at least one, or a filter that finds one.")
	}
	return refs, err
}

// records returns the transaction as package record uses it. Texts are checked as those
// of the API are.
func (tx *tx) records() record.Tx { return record.Tx{Tx: tx.points(), Check: checkColumn} }

// checkColumn fails unless a column may have a text.
func checkColumn(c record.Column, s string) error {
	switch c {
	case record.Name:
		return checkName("name", s)
	case record.Key:
		return checkKey(s)
	case record.Short:
		return checkShort("type", s)
	case record.Text:
		return checkText("text", s)
	case record.Long:
		if len(s) > maxProfile {
			return Invalid("text", "text must have at most %d bytes, not %d.", maxProfile, len(s))
		}
	case record.ID:
		if id, err := uuid.Parse(s); err != nil || id.String() != s {
			return Invalid("id", "%q is not a UUID.", truncate(s))
		}
	case record.ModelID:
		if hexed, err := hex.DecodeString(s[min(len(s), 2):]); len(s) != 34 || s[:2] != "m-" || err != nil || len(hexed) != 16 {
			return Invalid("id", "%q is not the id of a logged model.", truncate(s))
		}
	case record.JSON:
		var any any
		if len(s) > maxProfile || json.Unmarshal([]byte(s), &any) != nil {
			return Invalid("json", "json must be JSON.")
		}
	case record.ContentType:
		return checkContentType(s)
	case record.FileName:
		return checkArtifactName(s)
	}
	return nil // the columns are STRICT
}

func truncate(s string) string {
	if len(s) > 80 {
		return s[:80]
	}
	return s
}
