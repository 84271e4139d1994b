package archive

import (
	"encoding/hex"
	"slices"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/json"
	"tracker/store/record"
	"tracker/store/runs"
)

// selection holds the records to export.
type selection struct {
	refs   []record.Ref // sorted in the order of copying
	scope  string       // scope of the archive: project, experiment or runs
	needed map[string]bool
}

// archived returns the records that q selects, including referenced records.
func archived(tx *domain.Tx, actor domain.Actor, q Query) (s selection, err error) {
	s.refs, s.scope, err = selected(tx, actor, q)
	if err != nil || q.Records == nil {
		return s, err
	}
	wanted := map[string]bool{}
	for _, w := range q.Records {
		wanted[w] = true
	}
	s.needed = map[string]bool{}
	for _, name := range q.Context {
		s.needed[name] = true
	}
	for _, ref := range s.refs {
		if !wanted[ref.String()] {
			continue
		}
		needs, err := records(tx).Needs(ref)
		if err != nil {
			return s, err
		}
		for _, name := range needs {
			s.needed[name] = true
		}
	}
	var missing string
	if s.refs, missing = record.Only(s.refs, q.Records, s.needed); missing != "" {
		err = domain.Invalid("records", "The project has no record %q.", truncate(missing))
	}
	return s, err
}

// selected returns the records selected by q and the scope of the archive. It ignores
// q.Records.
func selected(tx *domain.Tx, actor domain.Actor, q Query) (refs []record.Ref, scope string, err error) {
	switch {
	case q.ProjectID != "":
		if err := tx.AllowProject(actor, q.ProjectID, domain.RightRead); err != nil {
			return nil, "", err
		}
		refs, err = records(tx).OfProject(q.ProjectID)
		return refs, "project", err
	case q.ExperimentID != "" && q.Filter == "":
		e, err := tx.AllowExperiment(actor, q.ExperimentID, domain.RightRead)
		if err != nil {
			return nil, "", err
		}
		refs, err = records(tx).OfExperiment(e.ProjectID, q.ExperimentID)
		return refs, "experiment", err
	case q.ExperimentID != "":
		for {
			l, err := runs.In(tx).Iterations(q.ExperimentID, runs.IterationQuery{Filter: q.Filter, Sort: "created", Page: domain.Page{Limit: domain.MaxLimit, Offset: len(q.IterationIDs)}})
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
	refs, err = recordsOfRuns(tx, actor, q.IterationIDs)
	return refs, "runs", err
}

// recordsOfRuns returns the runs with the given ids, sorted by number, and the records that
// contain these runs.
func recordsOfRuns(tx *domain.Tx, actor domain.Actor, ids []string) (refs []record.Ref, err error) {
	for chunk := range slices.Chunk(ids, domain.MaxLimit) {
		if _, err := tx.AllowIterations(actor, chunk, domain.RightRead); err != nil {
			return nil, err
		}
	}
	refs, err = records(tx).OfRuns(ids)
	if err == nil && len(refs) == 0 {
		err = domain.Invalid("iteration_ids", "No run is selected; name at least one, or set a filter that matches one.")
	}
	return refs, err
}

// records returns tx as a transaction of package record that checks text values with checkColumn.
func records(tx *domain.Tx) record.Tx { return record.Tx{Tx: tx.Points(), Check: checkColumn} }

// checkColumn returns an error if a column of kind c does not accept the text s.
func checkColumn(c record.TextKind, s string) error {
	switch c {
	case record.Name:
		return domain.CheckName("name", s)
	case record.Key:
		return domain.CheckKey(s)
	case record.Short:
		return domain.CheckShort("type", s)
	case record.Text:
		return domain.CheckText("text", s)
	case record.Long:
		if len(s) > runs.MaxProfile {
			return domain.Invalid("text", "text must have at most %d bytes, not %d.", runs.MaxProfile, len(s))
		}
	case record.ID:
		if id, err := uuid.Parse(s); err != nil || id.String() != s {
			return domain.Invalid("id", "%q is not a UUID.", truncate(s))
		}
	case record.ModelID:
		if hexed, err := hex.DecodeString(s[min(len(s), 2):]); len(s) != 34 || s[:2] != "m-" || err != nil || len(hexed) != 16 {
			return domain.Invalid("id", "%q is not the id of a logged model.", truncate(s))
		}
	case record.JSON:
		var any any
		if len(s) > runs.MaxProfile || json.Unmarshal([]byte(s), &any) != nil {
			return domain.Invalid("json", "json must be JSON.")
		}
	case record.ContentType:
		return files.CheckContentType(s)
	case record.FileName:
		return files.CheckArtifactName(s)
	}
	return nil // SQLite checks the type, because the tables are STRICT
}

func truncate(s string) string {
	if len(s) > 80 {
		return s[:80]
	}
	return s
}
