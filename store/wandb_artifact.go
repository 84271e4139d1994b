package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracker/store/json"
	"tracker/store/search"
	"tracker/store/transfer"
)

// WandbArtifact is a version of an artifact as W&B's clients know it.
type WandbArtifact struct {
	Num          int64              `db:"num"`
	ID           string             `db:"id"`
	ExperimentID string             `db:"experiment_id"`
	ProjectID    string             `db:"project_id"`
	Project      string             `db:"project"`      // its name
	IterationID  string             `db:"iteration_id"` // of the run that logged it
	Collection   string             `db:"collection"`
	Version      int64              `db:"version"`
	Type         string             `db:"type"`
	Digest       string             `db:"digest"`
	Description  string             `db:"description"`
	Metadata     string             `db:"metadata"` // JSON
	State        WandbArtifactState `db:"state"`
	Size         int64              `db:"size"` // of all files, in bytes
	Files        int64              `db:"files"`
	CreatedDate  Time               `db:"created_date"`
	UpdatedDate  Time               `db:"updated_date"`
	Aliases      Strings            `db:"aliases"` // once it is committed
}

// WandbArtifactState is the state of a version.
type WandbArtifactState string

// The states of a version. A pending one is not found by its name.
const (
	WandbPending   WandbArtifactState = "PENDING"
	WandbCommitted WandbArtifactState = "COMMITTED"
	WandbDeleted   WandbArtifactState = "DELETED"
)

// Folder returns the name of the folder with the files of a version.
func (a *WandbArtifact) Folder() string { return fmt.Sprintf("%s:v%d", a.Collection, a.Version) }

// File returns the name of the artifact that is a file of a version.
func (a *WandbArtifact) File(name string) string { return transfer.FitPath(a.Folder() + "/" + name) }

// WandbLatest is the alias of the newest version of a collection.
const WandbLatest = "latest"

const wandbArtifactColumns = `
	wandb_artifact.num,
	wandb_artifact.id,
	wandb_artifact.experiment_id,
	experiment.project_id,
	project.name AS project,
	iteration.id AS iteration_id,
	wandb_artifact.collection,
	wandb_artifact.version,
	wandb_artifact.type,
	wandb_artifact.digest,
	wandb_artifact.description,
	wandb_artifact.metadata,
	wandb_artifact.state,
	wandb_artifact.size,
	wandb_artifact.files,
	wandb_artifact.created_date,
	wandb_artifact.updated_date,
	(SELECT json_group_array(alias) FROM
		(SELECT alias FROM wandb_alias WHERE artifact_num = wandb_artifact.num ORDER BY alias)) AS aliases
	FROM wandb_artifact
	JOIN iteration ON iteration.num = wandb_artifact.iteration_num AND iteration.deleted_date IS NULL
	JOIN experiment ON experiment.id = wandb_artifact.experiment_id AND experiment.deleted_date IS NULL
	JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL `

// NewWandbArtifact is what CreateWandbArtifact takes.
type NewWandbArtifact struct {
	IterationID string
	Collection  string
	Type        string
	Digest      string
	ClientID    string
	Description string
	Metadata    string
	Aliases     []string
}

// CreateWandbArtifact begins a version of a collection. One that is committed with this
// digest is returned instead, and gets the aliases; so is a pending one that the same
// client has begun. Needs create.
func (db *DB) CreateWandbArtifact(ctx context.Context, actor Actor, n NewWandbArtifact) (WandbArtifact, error) {
	err := firstError(
		checkName("name", n.Collection), checkShort("type", n.Type), checkShort("digest", n.Digest), checkShort("clientID", n.ClientID),
		checkText("description", n.Description), checkText("metadata", n.Metadata), checkWandbAliases(n.Aliases))
	if err == nil && strings.ContainsAny(n.Collection, "/:") {
		err = Invalid("name", "The name of an artifact must have neither a slash nor a colon.")
	}
	if err != nil {
		return WandbArtifact{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (a WandbArtifact, err error) {
		it, err := tx.allowIteration(actor, n.IterationID, rightCreate)
		if err != nil {
			return a, err
		}
		aliases, err := json.Marshal(slices.Concat(n.Aliases))
		if err != nil {
			return a, err
		}
		err = tx.Get(&a, `SELECT `+wandbArtifactColumns+`
			WHERE wandb_artifact.experiment_id = ? AND wandb_artifact.collection = ? AND wandb_artifact.digest = ?
			AND (wandb_artifact.state = 'COMMITTED' OR wandb_artifact.state = 'PENDING' AND wandb_artifact.client_id = ? AND wandb_artifact.iteration_num = ?)
			ORDER BY wandb_artifact.state, wandb_artifact.version DESC LIMIT 1`,
			it.experimentID, n.Collection, n.Digest, n.ClientID, it.num)
		if err == nil {
			if a.State == WandbCommitted {
				err = tx.setWandbAliases(&a, append(n.Aliases, WandbLatest))
			}
			return a, err
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return a, err
		}
		id, err := newID()
		if err != nil {
			return a, err
		}
		_, err = tx.Exec(`INSERT INTO wandb_artifact
			(id, experiment_id, iteration_num, collection, version, type, digest, client_id, aliases, description, metadata, state, created_date, updated_date)
			VALUES (?, ?, ?, ?, (SELECT coalesce(max(version) + 1, 0) FROM wandb_artifact WHERE experiment_id = ? AND collection = ?),
				?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, it.experimentID, it.num, n.Collection, it.experimentID, n.Collection,
			n.Type, n.Digest, n.ClientID, string(aliases), n.Description, n.Metadata, WandbPending, tx.now, tx.now)
		if err != nil {
			return a, err
		}
		return tx.wandbArtifact(id)
	})
}

func checkWandbAliases(all []string) error {
	if len(all) > MaxLimit {
		return Invalid("aliases", "Give up to %d aliases.", MaxLimit)
	}
	for _, a := range all {
		if err := checkName("alias", a); err != nil {
			return err
		}
	}
	return nil
}

// setWandbAliases gives a version aliases, which it takes from other versions.
func (tx *tx) setWandbAliases(a *WandbArtifact, aliases []string) error {
	for _, alias := range aliases {
		_, err := tx.Exec(`INSERT INTO wandb_alias (experiment_id, collection, alias, artifact_num) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET artifact_num = excluded.artifact_num`, a.ExperimentID, a.Collection, alias, a.Num)
		if err != nil {
			return err
		}
		if !slices.Contains(a.Aliases, alias) {
			a.Aliases = append(a.Aliases, alias)
		}
	}
	return nil
}

func (tx *tx) wandbArtifact(id string) (a WandbArtifact, err error) {
	err = tx.Get(&a, `SELECT `+wandbArtifactColumns+`WHERE wandb_artifact.id = ?`, id)
	return a, orNotFound(err, "artifact")
}

// allowWandbArtifact is wandbArtifact for an actor who must have the right in its
// project.
func (tx *tx) allowWandbArtifact(actor Actor, id string, want right) (WandbArtifact, error) {
	a, err := tx.wandbArtifact(id)
	if err == nil {
		err = tx.allow(actor, a.ProjectID, want)
	}
	return a, err
}

// WandbArtifact returns a version by its id; also by the id that a client has made up
// for it. Needs read, or create for one that is pending.
func (db *DB) WandbArtifact(ctx context.Context, actor Actor, id string) (WandbArtifact, error) {
	return read(ctx, db, func(tx *tx) (a WandbArtifact, err error) {
		err = tx.Get(&a, `SELECT `+wandbArtifactColumns+`WHERE wandb_artifact.id = ?1 OR wandb_artifact.client_id = ?1 AND ?1 <> ''
			ORDER BY wandb_artifact.num DESC LIMIT 1`, id)
		if err := orNotFound(err, "artifact"); err != nil {
			return a, err
		}
		want := rightRead
		if a.State == WandbPending {
			want = rightCreate
		}
		return a, tx.allow(actor, a.ProjectID, want)
	})
}

// WandbEntry is a file in the manifest of a version.
type WandbEntry struct {
	Name string
	MD5  string // base64
	Ref  string // the address of a file that is not kept here, "" for one that is
	Size int64
}

// CommitWandbArtifact ends a version with the files of its manifest. Those that were not
// sent are taken from other versions with the same MD5, so it needs read as well as
// create. INVALID_PAYLOAD when one is found nowhere.
func (db *DB) CommitWandbArtifact(ctx context.Context, actor Actor, id string, entries []WandbEntry) (WandbArtifact, error) {
	return write(ctx, db, actor, func(tx *tx) (a WandbArtifact, err error) {
		if a, err = tx.allowWandbArtifact(actor, id, rightCreate); err == nil {
			err = tx.allow(actor, a.ProjectID, rightRead)
		}
		if err != nil || a.State == WandbCommitted {
			return a, err
		}
		if a.State == WandbDeleted {
			return a, Errorf(CodeConflict, "The artifact was deleted; log it again.")
		}
		at, err := tx.allowTree(actor, Tree{IterationID: a.IterationID}, rightCreate)
		if err != nil {
			return a, err
		}
		for _, e := range entries {
			a.Size += e.Size
			a.Files++
			if e.Ref != "" {
				continue
			}
			if err := tx.adoptFile(actor, &a, at, e); err != nil {
				return a, err
			}
			if _, err := tx.Exec(`INSERT INTO wandb_file (artifact_num, name, md5) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, a.Num, e.Name, e.MD5); err != nil {
				return a, err
			}
		}
		var text string
		if err := tx.Row(`SELECT aliases FROM wandb_artifact WHERE num = ?`, a.Num).Scan(&text); err != nil {
			return a, err
		}
		var aliases []string
		if err := json.Unmarshal([]byte(text), &aliases); err != nil {
			return a, err
		}
		if err := tx.setWandbAliases(&a, append(aliases, WandbLatest)); err != nil {
			return a, err
		}
		a.State, a.UpdatedDate = WandbCommitted, tx.now
		_, err = tx.Exec(`UPDATE wandb_artifact SET state = ?, size = ?, files = ?, updated_date = ? WHERE num = ?`,
			a.State, a.Size, a.Files, tx.now, a.Num)
		return a, err
	})
}

// adoptFile makes sure that a version has a file.
func (tx *tx) adoptFile(actor Actor, a *WandbArtifact, at tree, e WandbEntry) error {
	name := a.File(e.Name)
	_, err := tx.file(at, name)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	rows, err := tx.Rows(`SELECT wandb_artifact.collection, wandb_artifact.version, wandb_artifact.iteration_num, wandb_file.name
		FROM wandb_file
		JOIN wandb_artifact ON wandb_artifact.num = wandb_file.artifact_num
		WHERE wandb_file.md5 = ? AND wandb_artifact.experiment_id = ? LIMIT 100`, e.MD5, a.ExperimentID)
	if err != nil {
		return err
	}
	defer rows.Close()
	type place struct {
		num  int64
		name string
	}
	var places []place
	for rows.Next() {
		var other WandbArtifact
		var num int64
		var file string
		if err := rows.Scan(&other.Collection, &other.Version, &num, &file); err != nil {
			return err
		}
		places = append(places, place{num, other.File(file)})
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, p := range places {
		var blobID int64
		var contentType string
		err := tx.Row(`SELECT resource.blob_id, resource.content_type `+resourceFrom+`
			WHERE resource.iteration_num = ? AND resource.name = ? AND resource.deleted_date IS NULL
			ORDER BY resource.num DESC LIMIT 1`, p.num, p.name).Scan(&blobID, &contentType)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = tx.insertArtifact(actor, a.ExperimentID, NewArtifact{Name: name, IterationID: a.IterationID, ContentType: contentType}, blobID)
		return err
	}
	return Invalid("manifest", "The file %s of the artifact has not arrived; log the artifact again.", quote(e.Name))
}

// WandbArtifactQuery selects versions that are committed.
type WandbArtifactQuery struct {
	ProjectID   string // "" with an iteration
	Collection  string // "" for all
	Type        string // "" for all
	IterationID string // that logged them; "" for all
	UsedBy      string // id of an iteration that uses them; "" for all
}

// MaxWandbArtifacts bounds the versions that are listed at once.
const MaxWandbArtifacts = 100_000

// WandbArtifacts lists versions, the newest first. Needs read.
func (db *DB) WandbArtifacts(ctx context.Context, actor Actor, q WandbArtifactQuery) ([]WandbArtifact, error) {
	return read(ctx, db, func(tx *tx) ([]WandbArtifact, error) {
		var where search.SQL
		where.Add(`WHERE wandb_artifact.state = 'COMMITTED'`)
		if q.ProjectID != "" {
			if err := tx.allowProject(actor, q.ProjectID, rightRead); err != nil {
				return nil, err
			}
			where.Add(` AND experiment.project_id = ?`, q.ProjectID)
		}
		if q.Collection != "" {
			where.Add(` AND wandb_artifact.collection = ?`, q.Collection)
		}
		if q.Type != "" {
			where.Add(` AND wandb_artifact.type = ?`, q.Type)
		}
		if q.IterationID != "" {
			it, err := tx.allowIteration(actor, q.IterationID, rightRead)
			if err != nil {
				return nil, err
			}
			where.Add(` AND wandb_artifact.iteration_num = ?`, it.num)
		}
		if q.UsedBy != "" {
			it, err := tx.allowIteration(actor, q.UsedBy, rightRead)
			if err != nil {
				return nil, err
			}
			where.Add(` AND wandb_artifact.num IN (SELECT artifact_num FROM wandb_artifact_use WHERE iteration_num = ?)`, it.num)
		}
		page := append(where.Args, MaxWandbArtifacts)
		const order = ` ORDER BY wandb_artifact.num DESC LIMIT ?`
		var size int64
		err := tx.Row(`SELECT coalesce(sum(octet_length(description) + octet_length(metadata) + ?), 0) FROM (SELECT `+wandbArtifactColumns+where.String()+order+`)`,
			append([]any{wandbArtifactBytes}, page...)...).Scan(&size)
		if err == nil {
			err = Take(tx.Context(), size)
		}
		if err != nil {
			return nil, err
		}
		all := []WandbArtifact{}
		err = tx.Select(&all, `SELECT `+wandbArtifactColumns+where.String()+order, page...)
		return all, err
	})
}

// wandbArtifactBytes is what a version takes beside its long texts.
const wandbArtifactBytes = 1000

// WandbArtifactUsers returns the ids of the iterations that use a version. Needs read.
func (db *DB) WandbArtifactUsers(ctx context.Context, actor Actor, id string) (ids []string, err error) {
	return read(ctx, db, func(tx *tx) (ids []string, err error) {
		a, err := tx.allowWandbArtifact(actor, id, rightRead)
		if err != nil {
			return nil, err
		}
		err = tx.Select(&ids, `SELECT iteration.id FROM wandb_artifact_use
			JOIN iteration ON iteration.num = wandb_artifact_use.iteration_num AND iteration.deleted_date IS NULL
			WHERE wandb_artifact_use.artifact_num = ? ORDER BY iteration.num LIMIT ?`, a.Num, MaxLimit)
		return ids, err
	})
}

// UseWandbArtifact records that an iteration uses a version. Needs create for the
// iteration and read for the version.
func (db *DB) UseWandbArtifact(ctx context.Context, actor Actor, id, iterationID string) (WandbArtifact, error) {
	return write(ctx, db, actor, func(tx *tx) (WandbArtifact, error) {
		a, err := tx.allowWandbArtifact(actor, id, rightRead)
		if err != nil {
			return a, err
		}
		it, err := tx.allowIteration(actor, iterationID, rightCreate)
		if err != nil {
			return a, err
		}
		_, err = tx.Exec(`INSERT INTO wandb_artifact_use (artifact_num, iteration_num) VALUES (?, ?) ON CONFLICT DO NOTHING`, a.Num, it.num)
		return a, err
	})
}

// WandbArtifactPatch is what UpdateWandbArtifact changes; nil leaves a field as it is.
type WandbArtifactPatch struct {
	Description *string
	Metadata    *string
	Aliases     []string // all of them; nil leaves them
	Add         []string // aliases
	Remove      []string // aliases
}

// UpdateWandbArtifact changes a version. Needs update.
func (db *DB) UpdateWandbArtifact(ctx context.Context, actor Actor, id string, p WandbArtifactPatch) (WandbArtifact, error) {
	err := firstError(checkWandbAliases(p.Aliases), checkWandbAliases(p.Add))
	for field, text := range map[string]*string{"description": p.Description, "metadata": p.Metadata} {
		if text != nil && err == nil {
			err = checkText(field, *text)
		}
	}
	if err != nil {
		return WandbArtifact{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (WandbArtifact, error) {
		a, err := tx.allowWandbArtifact(actor, id, rightUpdate)
		if err != nil {
			return a, err
		}
		if _, err := tx.Exec(`UPDATE wandb_artifact SET
				description  = coalesce(?, description),
				metadata     = coalesce(?, metadata),
				updated_date = ?
			WHERE num = ?`, p.Description, p.Metadata, tx.now, a.Num); err != nil {
			return a, err
		}
		remove := p.Remove
		if p.Aliases != nil {
			for _, old := range a.Aliases {
				if !slices.Contains(p.Aliases, old) {
					remove = append(remove, old)
				}
			}
		}
		for _, alias := range remove {
			if _, err := tx.Exec(`DELETE FROM wandb_alias WHERE artifact_num = ? AND alias = ?`, a.Num, alias); err != nil {
				return a, err
			}
		}
		if err := tx.setWandbAliases(&a, append(slices.Concat(p.Aliases), p.Add...)); err != nil {
			return a, err
		}
		return tx.wandbArtifact(id)
	})
}

// DeleteWandbArtifact deletes a version: its files go to the trash. Its number is not
// given again. CONFLICT when it has an alias other than latest and withAliases is not set.
// Needs delete.
func (db *DB) DeleteWandbArtifact(ctx context.Context, actor Actor, id string, withAliases bool) (WandbArtifact, error) {
	var a WandbArtifact
	err := db.discard(ctx, actor, func(tx *tx) (err error) {
		if a, err = tx.allowWandbArtifact(actor, id, rightDelete); err != nil {
			return err
		}
		for _, alias := range a.Aliases {
			if alias != WandbLatest && !withAliases {
				return Errorf(CodeConflict, "The artifact has the alias %s; remove it first, or delete the artifact with its aliases.", quote(alias))
			}
		}
		var ids []string
		err = tx.Select(&ids, `SELECT resource.id FROM resource JOIN iteration ON iteration.num = resource.iteration_num
			WHERE iteration.id = ? AND resource.name >= ? AND resource.name < ? AND resource.deleted_date IS NULL`,
			a.IterationID, a.Folder()+"/", a.Folder()+"0")
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := tx.discard(TrashedArtifact, id); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`DELETE FROM wandb_alias WHERE artifact_num = ?`, a.Num); err != nil {
			return err
		}
		a.State = WandbDeleted
		_, err = tx.Exec(`UPDATE wandb_artifact SET state = 'DELETED', updated_date = ? WHERE num = ?`, tx.now, a.Num)
		return err
	})
	return a, err
}
