// Package imports stores data from the files of other tools: runs with points and artifacts,
// experiments and models. Readers of these files pass the data to this package, which implements
// transfer.Sink.
//
// A batch and the read positions in its source files are written in one transaction. After a user
// has deleted an imported record, the package does not import it again.
package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/sqlite"
	"tracker/store/transfer"
)

// DB has the methods that open their own transactions.
type DB struct {
	base   *domain.DB
	runs   *runs.DB
	files  *files.DB
	models *registry.DB
}

// New returns a DB that imports into base.
func New(base *domain.DB, runs *runs.DB, files *files.DB, models *registry.DB) *DB {
	return &DB{base, runs, files, models}
}

// Sink returns a sink for imports by actor. The actor needs the right to create in existing
// projects. The sink creates missing projects and experiments.
func (db *DB) Sink(actor domain.Actor) transfer.Sink { return importer{db, actor} }

type importer struct {
	*DB
	actor domain.Actor
}

// Files returns the recorded states of source files by id. A state without a RunID means that
// the run was deleted or is in the trash.
func (im importer) Files(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]transfer.File, error) {
	return domain.Read(ctx, im.base, func(tx *domain.Tx) (map[uuid.UUID]transfer.File, error) {
		found := map[uuid.UUID]transfer.File{}
		rows, err := tx.Rows(`SELECT source.id, source.path, source.size, source.fingerprint, source.position, source.state,
				iif(iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL AND project.deleted_date IS NULL,
					coalesce(iteration.id, ?1), ?1),
				coalesce(project.id, ''), coalesce(project.name, '')
			FROM source
			LEFT JOIN iteration ON iteration.num = source.iteration_num
			LEFT JOIN experiment ON experiment.id = iteration.experiment_id
			LEFT JOIN project ON project.id = experiment.project_id
			WHERE source.id IN (SELECT value FROM json_each(?2))`, uuid.Nil.String(), sqlite.JSON(ids))
		err = sqlite.Each(rows, err, func() error {
			var f transfer.File
			if err := rows.Scan(&f.ID, &f.Path, &f.Size, &f.Fingerprint, &f.Position, &f.State, &f.RunID, &f.ProjectID, &f.Project); err != nil {
				return err
			}
			found[f.ID] = f
			return nil
		})
		return found, err
	})
}

// Write writes the batches in one transaction. It returns an outcome for each batch. If Write
// rejects a batch, its outcome holds the reason. If Write returns an error, no batch was written.
func (im importer) Write(ctx context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	return domain.Write(ctx, im.base, im.actor, func(tx *domain.Tx) ([]transfer.Outcome, error) {
		outcomes := make([]transfer.Outcome, len(batches))
		for i, b := range batches {
			var err error
			if outcomes[i], err = importBatch(tx, b); err != nil {
				return nil, fmt.Errorf("the run %q: %w", b.Run.Name, err)
			}
		}
		return outcomes, nil
	})
}

// imported is the run that receives a batch.
type imported struct {
	domain.IterationState
	created scalar.Time
}

func importBatch(tx *domain.Tx, b *transfer.Batch) (out transfer.Outcome, err error) {
	it, err := importedRun(tx, b, &out)
	if err != nil || out.Refused != "" {
		return out, err
	}
	for _, f := range b.Files {
		if err := checkUnread(tx, f); err != nil {
			return out, err
		}
	}
	for _, p := range b.Parameters {
		id := transfer.ID("parameter", it.ID, p.Key)
		n, err := tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, it.Num, p.Key, id, p.Value)
		if err != nil {
			return out, err
		}
		out.Parameters += int(n)
	}
	for _, tag := range b.Tags {
		n, err := tx.Exec(`INSERT INTO tag (id, iteration_num, value, created_date) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, transfer.ID("tag", it.ID, tag), it.Num, tag, it.created)
		if err != nil {
			return out, err
		}
		out.Tags += int(n)
	}
	for _, p := range b.Properties {
		// A text of the summary is the last value, which can differ if the run was continued.
		n, err := tx.Exec(`INSERT INTO property (iteration_num, key, value) VALUES (?, ?, ?)
			ON CONFLICT (iteration_num, key) WHERE iteration_num IS NOT NULL
			DO UPDATE SET value = excluded.value WHERE key > ? AND key < ? AND value <> excluded.value`,
			it.Num, p.Key, p.Value, scalar.SummaryPrefix, scalar.AfterSummary)
		if err != nil {
			return out, err
		}
		out.Tags += int(n)
	}
	uses := make([]runs.DatasetUse, len(b.Datasets))
	for i, d := range b.Datasets {
		uses[i] = runs.DatasetUse{Name: d.Name, Digest: d.Digest, SourceType: d.SourceType, Source: d.Source, Schema: d.Schema,
			Profile: d.Profile, Context: d.Context, Tags: []domain.Property{}}
	}
	if err := domain.FirstError(runs.CheckDatasets(uses), runs.AddDatasets(tx, it.IterationRef, uses)); err != nil {
		return out, err
	}
	if c := b.Code; c != nil {
		_, err := tx.Exec(`INSERT INTO snapshot
			(iteration_num, id, git_sha, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			it.Num, transfer.ID("snapshot", it.ID), c.GitSHA, c.GitRemote, c.GitDiff, c.Entrypoint, c.Command, c.Hostname,
			c.Runtime, c.Dependencies, it.created)
		if err != nil {
			return out, err
		}
	}
	if err := importSeries(tx, it, b, &out); err != nil {
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
			f.ID, it.Num, f.Path, f.Size, f.Fingerprint, f.Position, f.State, tx.Now)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// checkUnread returns CONFLICT if another import has changed the recorded state of the source
// file since f was read.
func checkUnread(tx *domain.Tx, f transfer.File) error {
	var now transfer.File
	var stamp uint64
	err := tx.Row(`SELECT size, position, fingerprint, state FROM source WHERE id = ?`, f.ID).Scan(&now.Size, &now.Position, &now.Fingerprint, &now.State)
	if err == nil {
		stamp = now.Stamp()
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if stamp != f.Before {
		return domain.Errorf(domain.CodeConflict, "Another import of the same files is running; wait until it has ended, and import again.")
	}
	return nil
}

// openAhead is the number of series that one query reads from the database.
const openAhead = 256

// importSeries writes the points of a batch. It also sets the status and times of the run.
func importSeries(tx *domain.Tx, it imported, b *transfer.Batch, out *transfer.Outcome) error {
	for _, s := range b.Series { // DeleteFrom must precede all added points of the transaction
		if s.DropFrom == nil || out.Created {
			continue
		}
		n, err := tx.Points().DeleteFrom(it.Num, s.Key, *s.DropFrom)
		if err != nil {
			return err
		}
		out.Dropped += int(n)
	}
	latest := it.created
	for i, s := range b.Series {
		if i%openAhead == 0 {
			var keys []string
			for _, next := range b.Series[i:min(i+openAhead, len(b.Series))] {
				keys = append(keys, next.Key)
			}
			if err := tx.Points().OpenAhead(it.Num, keys); err != nil {
				return err
			}
		}
		samples := make([]points.Sample, len(s.Steps))
		for i := range samples {
			samples[i] = points.Sample{Key: s.Key, Value: s.Values[i], Step: &s.Steps[i], RecordedAt: &s.Times[i]}
			latest = max(latest, s.Times[i])
		}
		if err := domain.CheckKey(s.Key); err != nil {
			return err
		}
		if err := tx.Points().AppendAll(it.Num, samples, tx.Now); err != nil {
			return err
		}
		out.Points += len(samples)
	}
	if status := domain.IterationStatus(b.Run.Status); b.End && it.Status == domain.Running && status != domain.Running {
		if err := domain.OneOf("status", status, runs.IterationStatuses...); err != nil {
			return err
		}
		ended := latest
		if b.Run.Ended != nil {
			ended = *b.Run.Ended
		}
		err := runs.SetEnd(tx, it.IterationRef, runs.End{Status: status, Message: b.Run.Error, Date: &ended, Given: b.Run.Ended != nil})
		if err != nil {
			return err
		}
		latest = max(latest, ended)
	}
	_, err := tx.Exec(`UPDATE iteration SET last_seen = max(last_seen, ?) WHERE num = ?`, min(latest, tx.Now), it.Num)
	return err
}

// importedRun returns the run of a batch. If the run does not exist, importedRun creates the
// run, its experiment and its project.
func importedRun(tx *domain.Tx, b *transfer.Batch, out *transfer.Outcome) (it imported, err error) {
	r := &b.Run
	it.IterationState, err = tx.AllowIteration(tx.Actor, r.ID.String(), domain.RightCreate)
	if err == nil {
		err = tx.Row(`SELECT created_date FROM iteration WHERE num = ?`, it.Num).Scan(&it.created)
		return it, err
	}
	if domain.AsError(err).Code != domain.CodeNotFound {
		return it, err
	}
	deleted, err := tx.Has(`SELECT 1 FROM iteration WHERE id = ?`, r.ID) // not found by AllowIteration, so in the trash
	for _, f := range b.Files {
		if err == nil && !deleted {
			deleted, err = tx.Has(`SELECT 1 FROM source WHERE id = ? AND iteration_num IS NULL`, f.ID)
		}
	}
	if err != nil {
		return it, err
	}
	if (r.Deleted || r.ExperimentDeleted) && tx.DB.Options.TrashAge <= 0 {
		out.Refused = "The run is deleted in its source. It is left out, because this database has no trash."
		return it, nil
	}
	if deleted {
		out.Refused = "The run was imported before and then deleted here; it is not imported again."
		return it, nil
	}
	experimentID, err := importedExperiment(tx, r)
	if errors.Is(err, transfer.ErrDeleted) {
		out.Refused = "The experiment of the run was imported before and is in the trash here, or was deleted; the run is left out."
		return it, nil
	}
	if err != nil {
		return it, err
	}
	id := r.ID.String()
	n := runs.NewIteration{ID: &id, Notes: r.Notes}
	if r.Name != "" {
		n.Name = &r.Name
	}
	if err := domain.CheckNameAndText(n.Name, "notes", &n.Notes); err != nil {
		return it, err
	}
	if r.Parent != nil {
		there, err := tx.Has(`SELECT 1 FROM iteration WHERE id = ? AND experiment_id = ? AND deleted_date IS NULL`, *r.Parent, experimentID)
		if err != nil {
			return it, err
		}
		if there {
			n.ParentIterationID = new(r.Parent.String())
		} else {
			out.OrphanOf = r.Parent.String()
		}
	}
	if _, err := runs.InsertIteration(tx, experimentID, n); err != nil {
		return it, err
	}
	if _, err := tx.Exec(`UPDATE iteration SET created_date = ?, last_seen = ? WHERE id = ?`, r.Created, min(r.Created, tx.Now), id); err != nil {
		return it, err
	}
	if r.Deleted && !r.ExperimentDeleted {
		if err := trashLater(tx, id); err != nil {
			return it, err
		}
	}
	out.Created = true
	it.created = r.Created
	it.IterationState, err = tx.AllowIteration(tx.Actor, id, domain.RightCreate)
	return it, err
}

// importedExperiment returns the id of a run's experiment. It prefers the experiment that an
// earlier import created for the name, even if that experiment was renamed. The second choice is an
// existing experiment with the name. The third choice is a new experiment.
//
// An experiment that was deleted in the source is separate from other experiments with the same
// name. importedExperiment returns transfer.ErrDeleted if the deleted experiment was imported
// before and is in the trash or was purged here.
func importedExperiment(tx *domain.Tx, r *transfer.Run) (string, error) {
	if err := domain.CheckName("experiment", r.Experiment); err != nil {
		return "", err
	}
	projectID, err := importedProject(tx, r.Project)
	if err != nil {
		return "", err
	}
	insert := func(id string) error { return tx.InsertExperiment(id, projectID, r.Experiment, "") }
	if r.ExperimentDeleted {
		id := transfer.ID("deleted experiment", projectID, r.Experiment).String()
		live, err := tx.Has(`SELECT 1 FROM experiment WHERE id = ? AND deleted_date IS NULL`, id)
		if err != nil || live {
			return id, err
		}
		return id, domain.FirstError(trashLater(tx, id), insert(id))
	}
	return tx.FirstOr("experiment", transfer.ID("experiment", projectID, r.Experiment).String(), insert, `SELECT id FROM experiment WHERE deleted_date IS NULL AND project_id = ?3 AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`,
		r.Experiment, projectID)
}

// importedProject returns the id of the project with the given name. It finds or creates the
// project in the same way as importedExperiment.
func importedProject(tx *domain.Tx, name string) (string, error) {
	if err := domain.CheckName("project", name); err != nil {
		return "", err
	}
	projectID, err := tx.FirstOr("project", transfer.ID("project", name).String(), func(id string) error {
		_, err := tx.Exec(`INSERT INTO project (id, name, description, created_date, created_by, created_key)
			VALUES (?, ?, '', ?, `+domain.CreatorValues+`)`, id, name, tx.Now, tx.Actor.CreatorID(), tx.Actor.Key)
		if err == nil && !tx.Actor.IsSystem() {
			_, err = tx.InsertPermission(domain.Permission{UserID: tx.Actor.UserID, ProjectID: id, Create: true, Read: true, Update: true, Delete: true})
		}
		return err
	}, `SELECT id FROM project WHERE deleted_date IS NULL AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`, name)
	if err != nil {
		return "", err
	}
	return projectID, tx.AllowProject(tx.Actor, projectID, domain.RightCreate)
}
