package files

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"path"
	"slices"
	"strings"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Artifact is a named file in an experiment. IterationID is the iteration that made the file,
// or nil.
type Artifact struct {
	ID           string           `json:"id" db:"id"`
	ExperimentID string           `json:"experiment_id" db:"experiment_id"`
	IterationID  *string          `json:"iteration_id" db:"iteration_id"`
	Name         string           `json:"name" db:"name"`
	Description  string           `json:"description" db:"description"`
	Backend      artifact.Backend `json:"backend" db:"backend"`
	URI          string           `json:"uri" db:"-"`
	SizeBytes    int64            `json:"size_bytes" db:"size_bytes"`
	ContentHash  string           `json:"content_hash" db:"content_hash"` // SHA-256 in lowercase hex
	ContentType  string           `json:"content_type" db:"content_type"`
	domain.Creator
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate scalar.Time `json:"updated_date" db:"updated_date"`
}

func (r Artifact) TextBytes() int { return len(r.Description) }

// ArtifactQuery selects artifacts of an experiment.
type ArtifactQuery struct {
	domain.Page
	Name        string  // text that the name must contain, ignoring case; "" for all artifacts
	IterationID *string // id of an iteration; nil for all artifacts
	// WithoutVersions omits the files of artifact versions that the iteration logged with a W&B
	// client. These files are in folders named NAME:vN.
	WithoutVersions bool
}

// DefaultContentType is the default content type of artifacts.
const DefaultContentType = "application/octet-stream"

const artifactColumns = `
	resource.id,
	resource.experiment_id,
	iteration.id AS iteration_id,
	resource.name,
	resource.description,
	blob.backend,
	blob.size_bytes,
	blob.hash AS content_hash,
	resource.content_type,
	resource.created_date,
	resource.created_by,
	resource.created_key,
	resource.updated_date`

// Artifacts returns the artifacts of an experiment, oldest first. It requires the right to
// read.
func (v *View) Artifacts(experimentID string, q ArtifactQuery) (domain.List[Artifact], error) {
	want := domain.RightRead
	if q.IterationID != nil && v.tx.Actor.Scope.Only == domain.ScopeLog {
		if _, err := v.tx.AllowIteration(v.tx.Actor, *q.IterationID, domain.RightRead); err != nil {
			return domain.List[Artifact]{}, err
		}
		want = domain.RightFind
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, want); err != nil {
		return domain.List[Artifact]{}, err
	}
	from := domain.ResourceFrom + `WHERE resource.experiment_id = ? AND ` + v.tx.Found("resource", "iteration") + ` AND ` + search.Contains(`resource.name`)
	args := []any{experimentID, q.Name}
	if q.IterationID != nil {
		from += ` AND iteration.id = ?`
		args = append(args, *q.IterationID)
	}
	if q.WithoutVersions {
		from += ` AND substr(resource.name, 1, instr(resource.name, '/') - 1) NOT IN (
			SELECT artifact_version.collection || ':v' || artifact_version.version FROM artifact_version
			JOIN iteration ON iteration.num = artifact_version.iteration_num
			WHERE iteration.id = ? AND artifact_version.state = 'COMMITTED')`
		args = append(args, q.IterationID)
	}
	l, err := domain.PageOf[Artifact](v.tx, q.Page, artifactColumns, from, `resource.num`, args...)
	for i := range l.Data {
		l.Data[i].URI = v.tx.DB.Artifacts.URI(l.Data[i].Backend, l.Data[i].ContentHash)
	}
	return l, err
}

// Artifacts calls View.Artifacts on a new snapshot.
func (db *DB) Artifacts(ctx context.Context, actor domain.Actor, experimentID string, q ArtifactQuery) (domain.List[Artifact], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Artifact], error) { return v.Artifacts(experimentID, q) })
}

// MaxMade is the maximum number of artifacts that MadeArtifacts returns.
const MaxMade = 20_000

// MadeArtifacts returns the artifacts of the given iterations, oldest first. If there are more
// than MaxMade artifacts, it returns the newest MaxMade artifacts and sets more. It ignores
// iterations that do not exist. It requires the right to read.
func (v *View) MadeArtifacts(iterationIDs []string) (all []Artifact, more bool, err error) {
	states, err := v.tx.AllowExisting(v.tx.Actor, iterationIDs, domain.RightRead)
	if err != nil {
		return nil, false, err
	}
	err = v.tx.Select(&all, `SELECT `+artifactColumns+` `+domain.ResourceFrom+`
		WHERE resource.iteration_num IN (SELECT value FROM json_each(?)) AND `+v.tx.Found("resource")+`
		ORDER BY resource.num DESC LIMIT ?`, sqlite.JSON(domain.NumsOf(states)), MaxMade+1)
	if more = len(all) > MaxMade; more {
		all = all[:MaxMade]
	}
	slices.Reverse(all)
	return all, more, err
}

// Artifact returns an artifact without its bytes. It requires the right to read.
func (v *View) Artifact(id string) (r Artifact, err error) {
	if _, err := v.tx.AllowArtifact(v.tx.Actor, id, domain.RightRead); err != nil {
		return r, err
	}
	err = v.tx.Get(&r, `SELECT `+artifactColumns+` `+domain.ResourceFrom+`WHERE resource.id = ?`, id)
	if err == nil {
		r.URI = v.tx.DB.Artifacts.URI(r.Backend, r.ContentHash)
	}
	return r, err
}

// Artifact calls View.Artifact on a new snapshot.
func (db *DB) Artifact(ctx context.Context, actor domain.Actor, id string) (Artifact, error) {
	return view(ctx, db, actor, func(v *View) (Artifact, error) { return v.Artifact(id) })
}

// OpenArtifact returns an artifact and a reader of its bytes. The caller must close the reader.
// If all bytes are read in order, the reader checks their hash. It returns an error instead of
// the last bytes if the hash is wrong. OpenArtifact requires the right to read.
func (db *DB) OpenArtifact(ctx context.Context, actor domain.Actor, id string) (Artifact, io.ReadSeekCloser, error) {
	for moves := 0; ; moves++ {
		r, err := db.Artifact(ctx, actor, id)
		if err != nil {
			return r, nil, err
		}
		content, err := db.base.Artifacts.Open(ctx, r.Backend, blob.Blob{Hash: r.ContentHash, Size: r.SizeBytes})
		if errors.Is(err, blob.ErrNotFound) && moves < artifact.MaxMoves {
			continue // the artifact was removed, replaced or moved after db.Artifact
		}
		if err != nil {
			return r, nil, AsError(err)
		}
		return r, artifactReader{content}, nil
	}
}

// artifactReader reads the bytes of an artifact. It converts read errors with AsError.
type artifactReader struct{ io.ReadSeekCloser }

func (r artifactReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	return n, AsError(err)
}

// DeleteArtifact moves an artifact to the trash. If Options.TrashAge is 0, DeleteArtifact
// deletes the artifact with PurgeArtifact. It requires the right to delete.
func (db *DB) DeleteArtifact(ctx context.Context, actor domain.Actor, id string) error {
	check := func(tx *domain.Tx) (domain.ResourceState, error) {
		r, err := tx.AllowArtifact(actor, id, domain.RightDelete)
		if err != nil {
			return r, err
		}
		return r, registry.RefuseIfArtifactVersioned(tx, r.Num)
	}
	if db.base.Options.TrashAge == 0 {
		return PurgeArtifact(ctx, db, actor, func(tx *domain.Tx) (domain.ResourceState, error) {
			r, err := check(tx)
			if err == nil {
				err = tx.AuditTrashed(domain.ActionDelete, domain.TrashedArtifact, id, "permanently")
			}
			return r, err
		})
	}
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		if _, err := check(tx); err != nil {
			return err
		}
		return tx.Discard(domain.TrashedArtifact, id)
	})
}

// PurgeArtifact deletes the artifact that check returns. It first hides the record. If no other
// artifact uses the bytes, PurgeArtifact deletes the bytes. Finally it deletes the record. If
// the bytes can't be deleted, PurgeArtifact makes the artifact visible again.
func PurgeArtifact(ctx context.Context, db *DB, actor domain.Actor, check func(*domain.Tx) (domain.ResourceState, error)) error {
	deletion, err := domain.WriteKind(ctx, db.base, sqlite.Change|sqlite.Freeing, actor, func(tx *domain.Tx) (*artifact.Deletion, error) {
		r, err := check(tx)
		if err != nil {
			return nil, err
		}
		deletion, err := db.base.Artifacts.BeginDelete(tx.Tx, r.BlobID, r.Num)
		if err == nil && deletion == nil {
			_, err = tx.Exec(`DELETE FROM resource WHERE num = ?`, r.Num)
		}
		return deletion, err
	})
	if err != nil || deletion == nil {
		return err
	}
	return AsError(deletion.Finish(ctx))
}

// CheckArtifactName checks that s is a file name or a relative path such as
// images/sample_10.png. A path must not leave its folder.
func CheckArtifactName(s string) error {
	if err := domain.CheckName("name", s); err != nil {
		return err
	}
	if strings.Contains(s, `\`) {
		return domain.Invalid("name", `name must not have a backslash; separate folders with a slash.`)
	}
	for segment := range strings.SplitSeq(s, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return domain.Invalid("name", `name must be like model.bin or images/1.png: no slash at either end, no double slash, and no part that is "." or "..".`)
		}
	}
	return nil
}

// CheckContentType checks that s is a media type such as image/png.
func CheckContentType(s string) error {
	media, _, err := mime.ParseMediaType(s)
	plain := len(s) <= domain.MaxName
	for _, c := range []byte(s) {
		plain = plain && c >= ' ' && c <= '~'
	}
	if kind, name, ok := strings.Cut(media, "/"); err != nil || !plain || !ok || kind == "" || name == "" {
		return domain.Invalid("content_type", "content_type must be a media type like image/png or text/csv; charset=utf-8.")
	}
	return nil
}

// weightEnds are the extensions of files that hold trained models.
var weightEnds = []string{".pt", ".pth", ".ckpt", ".safetensors", ".onnx", ".keras", ".h5", ".gguf", ".joblib"}

// IsCheckpoint reports whether a file holds a trained model according to its name.
func IsCheckpoint(name string) bool { return slices.Contains(weightEnds, path.Ext(name)) }

// ArtifactsByID returns the artifacts with the given ids in the order of ids. It omits ids without
// an artifact. It requires the right to read the experiment of each artifact.
func (v *View) ArtifactsByID(ids []string) (all []Artifact, err error) {
	err = v.tx.Select(&all, `SELECT `+artifactColumns+` `+domain.ResourceFrom+`WHERE resource.id IN (SELECT value FROM json_each(?)) AND `+
		v.tx.Found("resource", "iteration"), sqlite.JSON(ids))
	if err != nil {
		return nil, err
	}
	allowed := map[string]bool{}
	place := map[string]int{}
	for i, id := range ids {
		place[id] = i
	}
	for i := range all {
		a := &all[i]
		if !allowed[a.ExperimentID] {
			if _, err := v.tx.AllowExperiment(v.tx.Actor, a.ExperimentID, domain.RightRead); err != nil {
				return nil, err
			}
			allowed[a.ExperimentID] = true
		}
		a.URI = v.tx.DB.Artifacts.URI(a.Backend, a.ContentHash)
	}
	slices.SortFunc(all, func(a, b Artifact) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return all, nil
}
