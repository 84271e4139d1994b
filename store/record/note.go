package record

import (
	"database/sql"
	"errors"

	"tracker/store/scalar"
	"tracker/store/transfer"
)

// These are the values of the state column in the rows of the source table that belong to copied
// records. The row of a record holds the fingerprint that the record had when it was copied to
// this database.
const (
	copied  = "archive"
	copying = "archive, not finished"
)

// Note describes a record at the time when it was copied to this database.
type Note struct {
	Fingerprint string // result of State.Noted; "" if the record was never copied
	Unfinished  bool   // the copy was started but not finished
}

func noteID(ref Ref) string { return transfer.ID("archive", ref.Kind.Name, ref.ID).String() }

// Note returns the note of a record. It returns the zero value if the record has no note.
func (tx Tx) Note(ref Ref) (n Note, err error) {
	var state string
	err = tx.Row(`SELECT fingerprint, state FROM source WHERE id = ?`, noteID(ref)).Scan(&n.Fingerprint, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return Note{}, nil
	}
	n.Unfinished = state == copying
	return n, err
}

// SetNote stores the note of a record and replaces an earlier note.
func (tx Tx) SetNote(ref Ref, n Note, now scalar.Time) error {
	state := copied
	if n.Unfinished {
		state = copying
	}
	_, err := tx.Exec(`INSERT INTO source (id, iteration_num, path, size, fingerprint, position, state, updated_date)
		VALUES (?1, (SELECT num FROM iteration WHERE id = ?2), ?3, 0, ?4, 0, ?5, ?6)
		ON CONFLICT (id) DO UPDATE SET
			iteration_num = excluded.iteration_num,
			fingerprint   = excluded.fingerprint,
			state         = excluded.state,
			updated_date  = excluded.updated_date`,
		noteID(ref), ref.ID, ref.Kind.Name, n.Fingerprint, state, now)
	return err
}

// synced is the value of the state column in the rows of the source table that Synced reads. The
// row of a record holds the fingerprint that the record had when it was last equal in this
// database and a peer.
const synced = "sync"

func syncID(peer, record string) string { return transfer.ID("sync", peer, record).String() }

// Synced returns the fingerprint that a record had when it was last equal in this database and a
// peer's database. The format of record is kind/id. The fingerprint is a result of State.Noted,
// or "" if it is unknown.
func (tx Tx) Synced(peer, record string) (fingerprint string, err error) {
	err = tx.Row(`SELECT fingerprint FROM source WHERE id = ?`, syncID(peer, record)).Scan(&fingerprint)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return fingerprint, err
}

// SetSynced records that a record is equal in this database and the database of a peer.
// fingerprint is the result of State.Noted.
func (tx Tx) SetSynced(peer, record, fingerprint string, now scalar.Time) error {
	_, err := tx.Exec(`INSERT INTO source (id, path, size, fingerprint, position, state, updated_date)
		VALUES (?, ?, 0, ?, 0, ?, ?)
		ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, updated_date = excluded.updated_date`,
		syncID(peer, record), peer+" "+record, fingerprint, synced, now)
	return err
}
