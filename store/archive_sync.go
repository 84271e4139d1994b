package store

import (
	"context"
	"errors"
	"io"
	"os"
)

// RecordState is a record of a project with its fingerprint.
type RecordState struct {
	Record      string `json:"record"`      // kind/id
	Fingerprint string `json:"fingerprint"` // the same in two databases that have the same record
}

// maxStates is the size of the largest page of states: each of them reads its record,
// with its points.
const maxStates = 100

// Records lists the records of a project with their fingerprints: containers come before
// their contents. A page has at most 100. Needs read.
func (db *DB) Records(ctx context.Context, actor Actor, projectID string, p Page) (List[RecordState], error) {
	return read(ctx, db, func(tx *tx) (l List[RecordState], err error) {
		if err := tx.allowProject(actor, projectID, rightRead); err != nil {
			return l, err
		}
		refs, err := tx.records().OfProject(projectID)
		if err != nil {
			return l, err
		}
		p = p.clamp()
		p.Limit = min(p.Limit, maxStates)
		l = List[RecordState]{Data: []RecordState{}, Total: len(refs), Limit: p.Limit, Offset: p.Offset}
		from := min(p.Offset, len(refs))
		for _, ref := range refs[from:min(from+p.Limit, len(refs))] {
			fingerprint, err := tx.records().Fingerprint(ref.Kind, ref.ID)
			if err != nil {
				return l, err
			}
			l.Data = append(l.Data, RecordState{ref.String(), fingerprint})
		}
		return l, nil
	})
}

// AllRecords returns the fingerprints of all records of a project, and the records in
// their order.
func (db *DB) AllRecords(ctx context.Context, actor Actor, projectID string) (order []string, states map[string]string, err error) {
	states = map[string]string{}
	for {
		l, err := db.Records(ctx, actor, projectID, Page{Limit: maxStates, Offset: len(order)})
		if err != nil {
			return nil, nil, err
		}
		for _, s := range l.Data {
			order = append(order, s.Record)
			states[s.Record] = s.Fingerprint
		}
		if len(l.Data) == 0 || len(order) >= l.Total {
			return order, states, nil
		}
	}
}

// Synced returns the fingerprints that records had when they were last the same here
// and in the database of a peer. Records without a known one are left out.
func (db *DB) Synced(ctx context.Context, peer string, records []string) (map[string]string, error) {
	return read(ctx, db, func(tx *tx) (map[string]string, error) {
		base := map[string]string{}
		for _, record := range records {
			fingerprint, err := tx.records().Synced(peer, record)
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

// SetSynced records that records are the same here and in the database of a peer.
func (db *DB) SetSynced(ctx context.Context, peer string, states map[string]string) error {
	return change(ctx, db, System, func(tx *tx) error {
		for record, fingerprint := range states {
			if err := tx.records().SetSynced(peer, record, fingerprint, tx.now); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReceiveArchive is ImportArchive for an archive that body gives. An error of body is
// returned unchanged.
func (db *DB) ReceiveArchive(ctx context.Context, actor Actor, body io.Reader, o ArchiveImport) (*ArchiveResult, error) {
	if limit := db.opts.MaxUpload; limit > 0 {
		body = &limitedReader{r: body, limit: limit}
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
	r, err := db.ImportArchive(ctx, actor, f.Name(), o)
	if r != nil {
		r.Path = ""
	}
	return r, err
}
