package record

import (
	"database/sql"
	"errors"

	"tracker/store/scalar"
	"tracker/store/transfer"
)

// States of a row of table source that has the fingerprint of a record when it was
// copied here.
const (
	copied  = "archive"
	copying = "archive, not finished"
)

// Note is the state of a record when it was copied here.
type Note struct {
	Fingerprint string // when it was copied; "" for one that never was
	Unfinished  bool   // its copying was begun and not finished
}

func noteID(ref Ref) string { return transfer.ID("archive", ref.Kind.Name, ref.ID).String() }

// Note returns the note of a record, the zero value when there is none.
func (tx Tx) Note(ref Ref) (n Note, err error) {
	var state string
	err = tx.Row(`SELECT fingerprint, state FROM source WHERE id = ?`, noteID(ref)).Scan(&n.Fingerprint, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return Note{}, nil
	}
	n.Unfinished = state == copying
	return n, err
}

// SetNote replaces the note of a record.
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
