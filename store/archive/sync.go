package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/record"
)

// RecordState holds the name and the state of a record.
type RecordState struct {
	Record string `json:"record"` // name of the record: kind/id
	record.State
}

// These are the limits of a page of record states. They are low because each state is computed from
// the whole record, including its points.
const (
	maxStates     = 100
	maxReferences = 50_000
)

// Records lists the records of a project with their states. A parent record comes before the
// records that it contains. A page has at most 100 records, or fewer if the records have many
// references. The actor needs the right to read.
func (db *DB) Records(ctx context.Context, actor domain.Actor, projectID string, p domain.Page) (domain.List[RecordState], error) {
	return db.records(ctx, actor, projectID, p, func(string) bool { return true })
}

// records is like Records. It computes only the states of the records for which needed returns
// true. The other states are empty.
func (db *DB) records(ctx context.Context, actor domain.Actor, projectID string, p domain.Page, needed func(name string) bool) (domain.List[RecordState], error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (l domain.List[RecordState], err error) {
		if err := tx.AllowProject(actor, projectID, domain.RightRead); err != nil {
			return l, err
		}
		refs, err := records(tx).OfProject(projectID)
		if err != nil {
			return l, err
		}
		p = p.Clamp()
		p.Limit = min(p.Limit, maxStates)
		l = domain.List[RecordState]{Data: []RecordState{}, Total: len(refs), Limit: p.Limit, Offset: p.Offset}
		from := min(p.Offset, len(refs))
		references := 0
		for _, ref := range refs[from:min(from+p.Limit, len(refs))] {
			r := RecordState{Record: ref.String()}
			if needed(r.Record) {
				if r.State, err = records(tx).State(ref.Kind, ref.ID); err != nil {
					return l, err
				}
			}
			l.Data = append(l.Data, r)
			if references += len(r.References); references > maxReferences {
				break
			}
		}
		return l, nil
	})
}

// AllRecords returns all records of a project, with the states of the records for which needed
// returns true. order holds the record names, sorted like the result of Records.
func (db *DB) AllRecords(ctx context.Context, actor domain.Actor, projectID string, needed func(name string) bool) (order []string, states map[string]RecordState, err error) {
	states = map[string]RecordState{}
	for {
		l, err := db.records(ctx, actor, projectID, domain.Page{Limit: maxStates, Offset: len(order)}, needed)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range l.Data {
			order = append(order, s.Record)
			states[s.Record] = s
		}
		if len(l.Data) == 0 || len(order) >= l.Total {
			return order, states, nil
		}
	}
}

// Synced returns the fingerprints that SetSynced stored for the given peer and record names.
// Records without a stored fingerprint are omitted.
func (db *DB) Synced(ctx context.Context, peer string, names []string) (map[string]string, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (map[string]string, error) {
		base := map[string]string{}
		for _, record := range names {
			fingerprint, err := records(tx).Synced(peer, record)
			if err != nil {
				return nil, err
			}
			if fingerprint != "" {
				base[record] = fingerprint
			}
		}
		return base, nil
	})
}

// SetSynced stores the fingerprints of records that are equal in this database and in the
// peer's database.
func (db *DB) SetSynced(ctx context.Context, peer string, notes map[string]string) error {
	return domain.Change(ctx, db.base, domain.System, func(tx *domain.Tx) error {
		for record, note := range notes {
			if err := records(tx).SetSynced(peer, record, note, tx.Now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Receive reads an archive from body and imports it like Import. Read errors of body are
// returned unchanged.
func (db *DB) Receive(ctx context.Context, actor domain.Actor, body io.Reader, o ImportOptions) (*Result, error) {
	if limit := db.base.Options.MaxUpload; limit > 0 {
		body = files.LimitReader(body, limit)
	}
	f, err := db.ScratchFile()
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, body)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	r, err := db.Import(ctx, actor, f.Name(), o)
	if r != nil {
		r.Path = ""
	}
	return r, err
}

// Part is one part of an archive that is uploaded in several requests.
type Part struct {
	ID   string // UUID of the archive, chosen by the sender
	From int64  // offset of the part in the archive, in bytes
	Size int64  // size of the part, in bytes
	All  int64  // size of the whole archive, in bytes
	Body io.Reader
}

// ReceivePart appends a part of an archive to a file next to the database. After the last part, it
// imports the archive like Import and returns the result. For every earlier part, the result is
// nil. The sender must send the parts in order, and can send a part twice. An incomplete file can
// be removed when no part has arrived for scratchAge.
func (db *DB) ReceivePart(ctx context.Context, actor domain.Actor, p Part, o ImportOptions) (*Result, error) {
	if uuid.Validate(p.ID) != nil {
		return nil, domain.Invalid("upload", "upload must be a UUID that the client chooses for the archive, not %q.", truncate(p.ID))
	}
	if p.From < 0 || p.Size <= 0 || p.All-p.Size < p.From {
		return nil, domain.Invalid("Content-Range", "Content-Range must be the range of the part, such as bytes 0-999999/5000000.")
	}
	if err := db.files.CheckSize(p.All); err != nil {
		return nil, err
	}
	db.removeScratch()
	path := filepath.Join(filepath.Dir(db.base.Kernel.Path()), scratchPrefix+actor.UserID+p.ID+".zip")
	if err := writePart(path, p); err != nil || p.From+p.Size < p.All {
		return nil, err
	}
	defer os.Remove(path)
	r, err := db.Import(ctx, actor, path, o)
	if r != nil {
		r.Path = ""
	}
	return r, err
}

// writePart writes a part to the file at path and truncates the file after the part. It returns
// CONFLICT if bytes before the part are missing.
func writePart(path string, p Part) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	there, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if there < p.From {
		return &domain.Error{Code: domain.CodeConflict, Field: "Content-Range",
			Message: fmt.Sprintf("%d bytes of the archive have arrived; send the part that begins there.", there)}
	}
	err = f.Truncate(p.From)
	if err == nil {
		_, err = f.Seek(p.From, io.SeekStart)
	}
	if err == nil {
		_, err = io.CopyN(f, p.Body, p.Size)
	}
	if errors.Is(err, io.EOF) {
		err = domain.Invalid("Content-Range", "The part has fewer bytes than its Content-Range.")
	}
	return errors.Join(err, f.Close())
}
