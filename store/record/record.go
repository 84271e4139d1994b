// Package record copies records from one database to another: a project, experiment,
// iteration, logged model, artifact version, report, model or model version, each with
// all rows that belong to it, its points and its artifacts.
//
// Kinds holds, for each kind, the statements that read and write its rows, with ids in
// place of numbers. The fingerprint of a record is a hash of its content that does not
// depend on numbers, so it is equal in two databases that have the same record. A Copier
// inserts new records and replaces records that have changed only in the source. It
// reports records that have changed in both databases and leaves them unchanged. The next
// copy finishes a copy that was interrupted.
//
// Rights are checked by the target, in the transaction that writes. The texts of a record
// are checked by a function of the caller, because a database may come from elsewhere.
package record

import (
	"database/sql"
	"errors"
	"fmt"

	"tracker/store/points"
)

// Tx is a transaction on the records.
type Tx struct {
	*points.Tx
	// Check returns an error if a column does not accept a text.
	Check func(kind TextKind, text string) error
}

// Ref names a record.
type Ref struct {
	Kind *Kind
	ID   string
	// Context is set if the record is only copied because other records need it. It is
	// copied if it does not exist, and otherwise left unchanged.
	Context bool
}

// String returns the kind and the id of a record, separated by a slash.
func (r Ref) String() string { return r.Kind.Name + "/" + r.ID }

// SizeError reports a record that is too large to be copied.
type SizeError struct{ Table string }

func (e *SizeError) Error() string {
	return fmt.Sprintf("A record has more than %d MiB in the table %s.", maxRecord>>20, e.Table)
}

// Home holds the location of a record.
type Home struct {
	ProjectID string
	Parent    string // id of its container, "" for a project
	Name      string
	Deleted   bool // it or its container is in the trash
}

// Home returns the location of a record, or sql.ErrNoRows.
func (tx Tx) Home(ref Ref) (h Home, err error) {
	err = tx.Row(ref.Kind.Home, ref.ID).Scan(&h.ProjectID, &h.Parent, &h.Name, &h.Deleted)
	return h, err
}

// Path returns the names of the containers of a record and of the record, separated by slashes.
func (tx Tx) Path(ref Ref) (string, error) {
	h, err := tx.Home(ref)
	if err != nil || h.Parent == "" {
		return h.Name, err
	}
	for _, k := range []*Kind{projectKind, experimentKind, modelKind} {
		above, err := tx.Path(Ref{Kind: k, ID: h.Parent})
		if err == nil {
			return above + "/" + h.Name, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return "", err
		}
	}
	return h.Name, nil
}

// Num returns the number of an iteration, or sql.ErrNoRows.
func (tx Tx) Num(id string) (num int64, err error) {
	err = tx.Row(`SELECT num FROM iteration WHERE id = ?`, id).Scan(&num)
	return num, err
}

// maxRecord is the maximum size of the values of a record in one table, in bytes.
const maxRecord = 512 << 20

// Rows returns the rows of a part of a record, checked.
func (tx Tx) Rows(p *Part, id string) ([][]any, error) {
	rows, err := tx.Tx.Rows(p.read, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]any
	size := 0
	for rows.Next() {
		row, into := make([]any, len(p.Columns)), make([]any, len(p.Columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, v := range row {
			s, ok := v.(string)
			if !ok {
				continue
			}
			if err := tx.Check(p.Columns[i].Text, s); err != nil {
				return nil, fmt.Errorf("in the table %s: %w", p.Name, err)
			}
			size += len(s)
		}
		size += 16 * len(row)
		if size > maxRecord {
			return nil, &SizeError{p.Name}
		}
		all = append(all, row)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// writeRows writes rows that Rows has returned to the record with an id.
func (tx Tx) writeRows(p *Part, id string, rows [][]any) error {
	for _, row := range rows {
		if _, err := tx.Exec(p.Write, append([]any{id}, row...)...); err != nil {
			return err
		}
	}
	return nil
}
