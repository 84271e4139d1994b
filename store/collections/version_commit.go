package collections

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// NewVersion holds the arguments of CreateVersion.
type NewVersion struct {
	IterationID string
	Collection  string
	Type        string
	Digest      string
	ClientID    string
	SharedID    string // id that all runs writing the same version share; "" if one run writes the version
	Description string
	Metadata    string
	Aliases     []string
	Tags        []string
	HistoryStep *int64 // see Version
	TTL         *int64 // in seconds; nil or 0 means that the version is kept
}

// CreateVersion returns a version in a collection, usually a new pending one, to which the client
// can add files. The actor needs the right to create.
//
// If a committed version has the same digest or client id, CreateVersion adds the aliases and tags
// to that version and returns it. If the same run has a pending version with the same digest and
// client id, CreateVersion returns that one. If several runs write the version, only a pending
// version with the same SharedID is reused.
func (db *DB) CreateVersion(ctx context.Context, actor domain.Actor, n NewVersion) (Version, error) {
	err := domain.FirstError(
		domain.CheckName("name", n.Collection), domain.CheckShort("type", n.Type), domain.CheckShort("digest", n.Digest), domain.CheckShort("clientID", n.ClientID), domain.CheckShort("distributedID", n.SharedID),
		domain.CheckText("description", n.Description), domain.CheckText("metadata", n.Metadata), checkAliases(n.Aliases), checkTags(n.Tags), checkTTL(n.TTL))
	if err == nil && strings.ContainsAny(n.Collection, "/:") {
		err = domain.Invalid("name", "The name of an artifact must not have a slash or a colon.")
	}
	if err != nil {
		return Version{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (a Version, err error) {
		it, err := tx.AllowIteration(actor, n.IterationID, domain.RightCreate)
		if err != nil {
			return a, err
		}
		aliases, err := json.Marshal(slices.Concat(n.Aliases))
		if err != nil {
			return a, err
		}
		if n.SharedID != "" {
			n.ClientID = sharedPrefix + n.SharedID
			err = tx.Get(&a, `SELECT `+versionColumns+versionFrom+`
				WHERE artifact_version.experiment_id = ? AND artifact_version.collection = ?
				AND artifact_version.state = 'PENDING' AND artifact_version.client_id = ?
				ORDER BY artifact_version.version DESC LIMIT 1`,
				it.ExperimentID, n.Collection, n.ClientID)
			if err == nil {
				return a, addToShared(tx, &a, n)
			}
		} else {
			err = tx.Get(&a, `SELECT `+versionColumns+versionFrom+`
				WHERE artifact_version.experiment_id = ? AND artifact_version.collection = ?
				AND (artifact_version.state = 'COMMITTED' AND (artifact_version.digest = ? OR artifact_version.client_id = ? AND ? <> '')
					OR artifact_version.state = 'PENDING' AND artifact_version.digest = ? AND artifact_version.client_id = ? AND artifact_version.iteration_num = ?)
				ORDER BY artifact_version.state, artifact_version.version DESC LIMIT 1`,
				it.ExperimentID, n.Collection, n.Digest, n.ClientID, n.ClientID, n.Digest, n.ClientID, it.Num)
		}
		if err == nil {
			if a.State == Committed {
				err = setAliases(tx, &a, append(n.Aliases, Latest))
			}
			if err == nil {
				err = addTags(tx, &a, n.Tags)
			}
			return a, err
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return a, err
		}
		id := domain.NewID()
		_, err = tx.Exec(`INSERT INTO artifact_version
			(id, experiment_id, iteration_num, collection, version, type, digest, client_id, aliases, description, metadata, state, history_step, ttl, created_date, updated_date,
				created_by, created_key)
			VALUES (?, ?, ?, ?, (SELECT coalesce(max(version) + 1, 0) FROM artifact_version WHERE experiment_id = ? AND collection = ?),
				?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, `+domain.CreatorValues+`)`,
			id, it.ExperimentID, it.Num, n.Collection, it.ExperimentID, n.Collection,
			n.Type, n.Digest, n.ClientID, string(aliases), n.Description, n.Metadata, Pending, n.HistoryStep, n.TTL, tx.Now, tx.Now,
			tx.Actor.CreatorID(), tx.Actor.Key)
		if err == nil {
			a, err = versionByID(tx, id)
		}
		if err == nil {
			err = addTags(tx, &a, n.Tags)
		}
		return a, err
	})
}

// sharedPrefix is the prefix of the column client_id for a version that several runs write.
const sharedPrefix = "shared/"

// addToShared merges the aliases, tags, description and metadata of n into version a, which several
// runs write.
func addToShared(tx *domain.Tx, a *Version, n NewVersion) error {
	aliases, err := pendingAliases(tx, a.Num)
	if err != nil {
		return err
	}
	for _, alias := range n.Aliases {
		if !slices.Contains(aliases, alias) {
			aliases = append(aliases, alias)
		}
	}
	if err := checkAliases(aliases); err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE artifact_version SET
			aliases      = ?1,
			description  = coalesce(nullif(?2, ''), description),
			metadata     = coalesce(nullif(?3, ''), metadata),
			updated_date = ?4
		WHERE num = ?5`, sqlite.JSON(slices.Concat(aliases)), n.Description, n.Metadata, tx.Now, a.Num)
	if err != nil {
		return err
	}
	return addTags(tx, a, n.Tags)
}

// pendingAliases returns the aliases that CommitVersion will set.
func pendingAliases(tx *domain.Tx, num int64) (aliases []string, err error) {
	var text string
	if err := tx.Row(`SELECT aliases FROM artifact_version WHERE num = ?`, num).Scan(&text); err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(text), &aliases)
	return aliases, err
}

// Entry describes a file in the manifest of an artifact version.
type Entry struct {
	Name string
	MD5  string // MD5 hash in base64; "" if it is unknown
	Ref  string // address of a file that is stored elsewhere; "" for a stored file
	Size int64
}

// maxCommitted is the maximum number of files that one transaction adds to a version. Other clients
// can write between the transactions.
const maxCommitted = 200

// Parts is the folder in which a pending version keeps the manifests of several writers.
const Parts = "wandb_manifest.parts"

// CommitVersion commits a version with the files in entries. A file that was not sent is taken
// from another version with the same MD5. CommitVersion returns INVALID_PAYLOAD if a file is not
// found. The actor needs the right to create and the right to read.
//
// If another call is committing the version, CommitVersion waits until that call ends. If
// CommitVersion is interrupted, the version stays pending, and a later call continues the commit.
//
// If the folder Parts contains manifests, the caller has joined them into entries. CommitVersion
// then deletes these manifests and computes the digest from entries.
func (db *DB) CommitVersion(ctx context.Context, actor domain.Actor, id string, entries []Entry) (a Version, err error) {
	leave, err := db.commits.enter(ctx, id)
	if err != nil {
		return a, err
	}
	defer leave()
	var size int64
	piece := make([]Entry, 0, maxCommitted)
	for i, e := range entries {
		size += e.Size
		if e.Ref == "" {
			piece = append(piece, e)
		}
		isLast := i == len(entries)-1
		for len(piece) == maxCommitted || isLast && len(piece) > 0 {
			n := 0
			a, err = domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (a Version, err error) {
				a, n, err = commitFiles(tx, actor, id, piece)
				return a, err
			})
			if err != nil || a.State == Committed {
				return a, err
			}
			piece = slices.Delete(piece, 0, n)
		}
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (a Version, err error) {
		a, at, err := allowCommit(tx, actor, id)
		if err != nil || a.State == Committed {
			return a, err
		}
		parts := files.Names{From: a.Folder() + "/" + Parts + "/", To: a.Folder() + "/" + Parts + "0"}
		isJoined, err := tx.Has(`SELECT 1 `+domain.ResourceFrom+`WHERE resource.iteration_num =
				(SELECT iteration_num FROM artifact_version WHERE num = ?)
			AND resource.name >= ? AND resource.name < ? AND resource.deleted_date IS NULL`, a.Num, parts.From, parts.To)
		if err != nil {
			return a, err
		}
		if isJoined {
			var from files.FileMark
			for more := true; more; {
				if from, more, err = files.DiscardFiles(tx, at, []files.Names{parts}, from); err != nil {
					return a, err
				}
			}
			a.Digest = digestOf(entries)
		}
		aliases, err := pendingAliases(tx, a.Num)
		if err != nil {
			return a, err
		}
		if err := setAliases(tx, &a, append(aliases, Latest)); err != nil {
			return a, err
		}
		a.State, a.Size, a.Files, a.UpdatedDate = Committed, size, int64(len(entries)), tx.Now
		_, err = tx.Exec(`UPDATE artifact_version SET state = ?, digest = ?, size = ?, files = ?, updated_date = ? WHERE num = ?`,
			a.State, a.Digest, a.Size, a.Files, tx.Now, a.Num)
		return a, err
	})
}

// digestOf computes the digest of a manifest as W&B's clients do. entries must be sorted by
// name.
func digestOf(entries []Entry) string {
	h := md5.New()
	io.WriteString(h, "wandb-artifact-manifest-v1\n") // never returns an error
	for _, e := range entries {
		fmt.Fprintf(h, "%s:%s\n", e.Name, e.MD5)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// commits tracks the versions that are being committed.
type commits struct {
	mu sync.Mutex
	of map[string]chan struct{} // by version id; a channel is closed when its commit ends
}

// enter waits until no other call is committing the version with the given id. It then marks
// the version until leave is called.
func (c *commits) enter(ctx context.Context, id string) (leave func(), err error) {
	for {
		c.mu.Lock()
		other := c.of[id]
		if other == nil {
			done := make(chan struct{})
			c.of[id] = done
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.of, id)
				c.mu.Unlock()
				close(done)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// allowCommit returns a version and the location of its files. It returns an error if actor may not
// commit the version or if the version was deleted. If the version is already committed, at is not
// set.
func allowCommit(tx *domain.Tx, actor domain.Actor, id string) (a Version, at files.TreePlace, err error) {
	if a, err = allowVersion(tx, actor, id, domain.RightCreate); err == nil {
		err = a.allow(tx, actor, domain.RightRead)
	}
	if err != nil || a.State == Committed {
		return a, at, err
	}
	if a.State == Deleted {
		return a, at, domain.Errorf(domain.CodeConflict, "The artifact was deleted; log it again.")
	}
	at, err = files.AllowTree(tx, actor, files.Tree{IterationID: a.IterationID}, domain.RightCreate)
	return a, at, err
}

// commitFiles adds the first n files in entries to a version, as many as one transaction is allowed
// to add.
func commitFiles(tx *domain.Tx, actor domain.Actor, id string, entries []Entry) (a Version, n int, err error) {
	a, at, err := allowCommit(tx, actor, id)
	if err != nil || a.State == Committed {
		return a, 0, err
	}
	full := domain.Part()
	for n < len(entries) && (n == 0 || !full()) {
		e := entries[n]
		if err := adoptFile(tx, actor, &a, at, e); err != nil {
			return a, n, err
		}
		n++
		if e.MD5 == "" {
			continue
		}
		if _, err := tx.Exec(`INSERT INTO artifact_file (artifact_num, name, md5) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, a.Num, e.Name, e.MD5); err != nil {
			return a, n, err
		}
	}
	return a, n, nil
}

// adoptFile adds the file e to version a if the version lacks it, using the bytes of another
// version's file with the same MD5. It returns INVALID_PAYLOAD if there is no such file.
func adoptFile(tx *domain.Tx, actor domain.Actor, a *Version, at files.TreePlace, e Entry) error {
	name := a.File(e.Name)
	_, err := files.FileNamed(tx, at, name)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	adopted := false
	err = eachPlace(tx, a.ProjectID, e.MD5, func(p place) (bool, error) {
		var blobID int64
		var contentType string
		err := tx.Row(`SELECT resource.blob_id, resource.content_type `+domain.ResourceFrom+`
			WHERE resource.iteration_num = ? AND resource.name = ? AND resource.deleted_date IS NULL
			ORDER BY resource.num DESC LIMIT 1`, p.iteration.Num, p.name).Scan(&blobID, &contentType)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err == nil {
			adopted = true
			_, err = files.InsertArtifact(tx, actor, a.ExperimentID, files.NewArtifact{Name: name, IterationID: a.IterationID, ContentType: contentType}, blobID)
		}
		return true, err
	})
	if err == nil && !adopted {
		err = domain.Invalid("manifest", "The file %s of the artifact has not arrived; log the artifact again.", scalar.Quote(e.Name))
	}
	return err
}
