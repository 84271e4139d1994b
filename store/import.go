package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"tracker/store/json"
	"tracker/store/transfer"
)

// Importer returns the sink through which actor imports runs. It needs create in
// the projects. A project or experiment that does not exist is made.
func (db *DB) Importer(actor Actor) transfer.Sink { return importer{db, actor} }

type importer struct {
	db    *DB
	actor Actor
}

// Files returns the states of source files, by id. A run in the trash counts as
// deleted.
func (im importer) Files(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]transfer.File, error) {
	return read(ctx, im.db, func(tx *tx) (map[uuid.UUID]transfer.File, error) {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		rows, err := tx.Rows(`SELECT source.id, source.path, source.size, source.fingerprint, source.position, source.state,
				iif(iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL AND project.deleted_date IS NULL,
					coalesce(iteration.id, ?1), ?1)
			FROM source
			LEFT JOIN iteration ON iteration.num = source.iteration_num
			LEFT JOIN experiment ON experiment.id = iteration.experiment_id
			LEFT JOIN project ON project.id = experiment.project_id
			WHERE source.id IN (SELECT value FROM json_each(?2))`, uuid.Nil.String(), string(list))
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		found := map[uuid.UUID]transfer.File{}
		for rows.Next() {
			var f transfer.File
			if err := rows.Scan(&f.ID, &f.Path, &f.Size, &f.Fingerprint, &f.Position, &f.State, &f.RunID); err != nil {
				return nil, err
			}
			found[f.ID] = f
		}
		return found, errors.Join(rows.Err(), rows.Close())
	})
}

// Write writes the batches in one transaction. A batch that the rules refuse is
// left out, and its outcome says why.
func (im importer) Write(ctx context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	return write(ctx, im.db, im.actor, func(tx *tx) ([]transfer.Outcome, error) {
		outcomes := make([]transfer.Outcome, len(batches))
		for i, b := range batches {
			var err error
			if outcomes[i], err = tx.importBatch(b); err != nil {
				return nil, fmt.Errorf("the run %q: %w", b.Run.Name, err)
			}
		}
		return outcomes, nil
	})
}

// imported is a run that a batch is written to.
type imported struct {
	iterationState
	created Time
}

func (tx *tx) importBatch(b *transfer.Batch) (out transfer.Outcome, err error) {
	it, err := tx.importedRun(b, &out)
	if err != nil || out.Refused != "" {
		return out, err
	}
	for _, f := range b.Files {
		if err := tx.checkUnread(f); err != nil {
			return out, err
		}
	}
	for _, p := range b.Parameters {
		id := transfer.ID("parameter", it.id, p.Key)
		n, err := tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, it.num, p.Key, id, p.Value)
		if err != nil {
			return out, err
		}
		out.Parameters += int(n)
	}
	for _, tag := range b.Tags {
		n, err := tx.Exec(`INSERT INTO tag (id, iteration_num, value, created_date) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, transfer.ID("tag", it.id, tag), it.num, tag, it.created)
		if err != nil {
			return out, err
		}
		out.Tags += int(n)
	}
	for _, p := range b.Properties {
		n, err := tx.Exec(`INSERT INTO property (iteration_num, key, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, it.num, p.Key, p.Value)
		if err != nil {
			return out, err
		}
		out.Tags += int(n)
	}
	uses := make([]DatasetUse, len(b.Datasets))
	for i, d := range b.Datasets {
		uses[i] = DatasetUse{Name: d.Name, Digest: d.Digest, SourceType: d.SourceType, Source: d.Source, Schema: d.Schema,
			Profile: d.Profile, Context: d.Context, Tags: []Property{}}
	}
	if err := firstError(checkDatasets(uses), tx.addDatasets(it.iterationRef, uses)); err != nil {
		return out, err
	}
	if c := b.Code; c != nil {
		_, err := tx.Exec(`INSERT INTO snapshot
			(iteration_num, id, git_sha, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			it.num, transfer.ID("snapshot", it.id), c.GitSHA, c.GitRemote, c.GitDiff, c.Entrypoint, c.Command, c.Hostname,
			c.Runtime, c.Dependencies, it.created)
		if err != nil {
			return out, err
		}
	}
	if err := tx.importSeries(it, b, &out); err != nil {
		return out, err
	}
	for _, f := range b.Files {
		_, err := tx.Exec(`INSERT INTO source (id, iteration_num, path, size, fingerprint, position, state, updated_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET
				iteration_num = excluded.iteration_num,
				path          = excluded.path,
				size          = excluded.size,
				fingerprint   = excluded.fingerprint,
				position      = excluded.position,
				state         = excluded.state,
				updated_date  = excluded.updated_date`,
			f.ID, it.num, f.Path, f.Size, f.Fingerprint, f.Position, f.State, tx.now)
		if err != nil {
			return out, err
		}
	}
	tx.noteIteration(it.iterationRef)
	return out, tx.noteParent(it.num)
}

// checkUnread fails when another import has read a source file further since this
// one looked.
func (tx *tx) checkUnread(f transfer.File) error {
	var now transfer.File
	var stamp uint64
	err := tx.Row(`SELECT size, position, fingerprint, state FROM source WHERE id = ?`, f.ID).Scan(&now.Size, &now.Position, &now.Fingerprint, &now.State)
	if err == nil {
		stamp = now.Stamp()
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if stamp != f.Before {
		return Errorf(CodeConflict, "Another import of the same files is running; wait until it has ended, and import again.")
	}
	return nil
}

// importSeries writes the points of a batch, and the status and times of the run.
func (tx *tx) importSeries(it imported, b *transfer.Batch, out *transfer.Outcome) error {
	for _, s := range b.Series { // before all others are added: it reads the tables
		if s.DropFrom == nil {
			continue
		}
		n, err := tx.points().DeleteFrom(it.num, s.Key, *s.DropFrom)
		if err != nil {
			return err
		}
		out.Dropped += int(n)
	}
	latest := it.created
	for _, s := range b.Series {
		samples := make([]NewMetric, len(s.Steps))
		for i := range samples {
			samples[i] = NewMetric{Key: s.Key, Value: s.Values[i], Step: &s.Steps[i], RecordedAt: &s.Times[i]}
			latest = max(latest, s.Times[i])
		}
		if err := checkKey(s.Key); err != nil {
			return err
		}
		if err := tx.points().AppendAll(it.num, samples, tx.now); err != nil {
			return err
		}
		out.Points += len(samples)
	}
	var ended *Time
	status := it.status
	if b.End && it.status == Running {
		status, ended = IterationStatus(b.Run.Status), b.Run.Ended
		if ended == nil {
			ended = &latest
		}
		if err := oneOf("status", status, iterationStatuses...); err != nil {
			return err
		}
		latest = max(latest, *ended)
	}
	_, err := tx.Exec(`UPDATE iteration SET
			status        = ?,
			end_date      = coalesce(?, end_date),
			error_message = iif(?, ?, error_message),
			last_seen     = max(last_seen, ?)
		WHERE num = ?`, status, ended, ended != nil, b.Run.Error, min(latest, tx.now), it.num)
	return err
}

// importedRun returns the run of a batch. It makes one that does not exist, with
// its experiment and project.
func (tx *tx) importedRun(b *transfer.Batch, out *transfer.Outcome) (it imported, err error) {
	r := &b.Run
	it.iterationState, err = tx.allowIteration(tx.actor, r.ID.String(), rightCreate)
	if err == nil {
		err = tx.Row(`SELECT created_date FROM iteration WHERE num = ?`, it.num).Scan(&it.created)
		return it, err
	}
	if AsError(err).Code != CodeNotFound {
		return it, err
	}
	deleted, err := tx.has(`SELECT 1 FROM iteration WHERE id = ?`, r.ID) // in the trash
	for _, f := range b.Files {
		if err == nil && !deleted {
			deleted, err = tx.has(`SELECT 1 FROM source WHERE id = ? AND iteration_num IS NULL`, f.ID)
		}
	}
	if err != nil {
		return it, err
	}
	if deleted {
		out.Refused = "The run was imported before and then deleted here; it is not imported again."
		return it, nil
	}
	experimentID, err := tx.importedExperiment(r)
	if err != nil {
		return it, err
	}
	id := r.ID.String()
	n := NewIteration{ID: &id, Notes: r.Notes}
	if r.Name != "" {
		n.Name = &r.Name
	}
	if err := checkNameAndText(n.Name, "notes", &n.Notes); err != nil {
		return it, err
	}
	if r.Parent != nil {
		there, err := tx.has(`SELECT 1 FROM iteration WHERE id = ? AND experiment_id = ? AND deleted_date IS NULL`, *r.Parent, experimentID)
		if err != nil {
			return it, err
		}
		if there {
			n.ParentIterationID = new(r.Parent.String())
		} else {
			out.OrphanOf = r.Parent.String()
		}
	}
	if _, err := tx.insertIteration(experimentID, n); err != nil {
		return it, err
	}
	if _, err := tx.Exec(`UPDATE iteration SET created_date = ?, last_seen = ? WHERE id = ?`, r.Created, min(r.Created, tx.now), id); err != nil {
		return it, err
	}
	out.Created = true
	it.created = r.Created
	it.iterationState, err = tx.allowIteration(tx.actor, id, rightCreate)
	return it, err
}

// importedExperiment returns the id of the experiment of a run. That is the one
// that an import made for the name, whatever it is called now, else one that has
// the name, else a new one.
func (tx *tx) importedExperiment(r *transfer.Run) (string, error) {
	if err := checkName("experiment", r.Experiment); err != nil {
		return "", err
	}
	projectID, err := tx.importedProject(r.Project)
	if err != nil {
		return "", err
	}
	return tx.firstOr("experiment", transfer.ID("experiment", projectID, r.Experiment).String(), func(id string) error {
		_, err := tx.Exec(`INSERT INTO experiment (id, project_id, name, description, status, created_date) VALUES (?, ?, ?, '', ?, ?)`,
			id, projectID, r.Experiment, InProgress, tx.now)
		return err
	}, `SELECT id FROM experiment WHERE deleted_date IS NULL AND project_id = ?3 AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`,
		r.Experiment, projectID)
}

// importedProject returns the id of the project with a name, as importedExperiment
// does.
func (tx *tx) importedProject(name string) (string, error) {
	if err := checkName("project", name); err != nil {
		return "", err
	}
	projectID, err := tx.firstOr("project", transfer.ID("project", name).String(), func(id string) error {
		_, err := tx.Exec(`INSERT INTO project (id, name, description, created_date) VALUES (?, ?, '', ?)`, id, name, tx.now)
		if err == nil && !tx.actor.system {
			_, err = tx.insertPermission(Permission{UserID: tx.actor.UserID, ProjectID: id, Create: true, Read: true, Update: true, Delete: true})
		}
		return err
	}, `SELECT id FROM project WHERE deleted_date IS NULL AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`, name)
	if err != nil {
		return "", err
	}
	return projectID, tx.allowProject(tx.actor, projectID, rightCreate)
}

// firstOr returns the id that a query finds for id and args. When there is none it
// inserts a record into the table, with id unless that of a record in the trash.
func (tx *tx) firstOr(table, id string, insert func(id string) error, query string, args ...any) (string, error) {
	var found string
	err := tx.Row(query, append([]any{id}, args...)...).Scan(&found)
	if !errors.Is(err, sql.ErrNoRows) {
		return found, err
	}
	taken, err := tx.has(`SELECT 1 FROM `+table+` WHERE id = ?`, id)
	if err == nil && taken {
		id, err = newID()
	}
	if err != nil {
		return "", err
	}
	return id, insert(id)
}

// has reports whether a query finds a row.
func (tx *tx) has(query string, args ...any) (bool, error) {
	var one int
	err := tx.Row(query, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
