// Package record copies records from one database to another. A record is a project,
// experiment, iteration, logged model, artifact version, report, model or model version. A
// record is copied with all its rows, points and artifacts.
//
// Kinds holds the SQL statements that read and write the rows of each kind of record. The
// statements use ids instead of row numbers. The fingerprint of a record is a hash of its
// content. The fingerprint of a record is the same in all databases that have the record, because
// the content contains no row numbers.
//
// A Copier inserts new records. It replaces records that have changed only in the source. It
// reports records that have changed in both databases and leaves these records unchanged. If a
// copy is interrupted, the next copy finishes the work.
//
// The target checks the rights of the user in each write transaction. A function passed by the
// caller checks the text values of each record, because the source database might be untrusted.
package record

import (
	"database/sql"
	"errors"
	"fmt"

	"tracker/store/points"
)

// Tx is a transaction that reads and writes records.
type Tx struct {
	*points.Tx
	// Check returns an error if a column with the given TextKind does not accept text.
	Check func(kind TextKind, text string) error
}

// Ref identifies a record.
type Ref struct {
	Kind *Kind
	ID   string
	// Context is set if the record is copied only because other records need it. An existing
	// record with Context is left unchanged.
	Context bool
}

// String returns the kind and the id of a record, separated by a slash.
func (r Ref) String() string { return r.Kind.Name + "/" + r.ID }

// SizeError reports that a record can't be copied, because its rows in Table are too large.
type SizeError struct{ Table string }

func (e *SizeError) Error() string {
	return fmt.Sprintf("A record has more than %d MiB in the table %s.", maxRecord>>20, e.Table)
}

// Home is the location of a record.
type Home struct {
	ProjectID string
	Parent    string // id of the container; "" for a project
	Name      string
	Deleted   bool // the record or its container is in the trash
}

// Home returns the location of a record. It returns sql.ErrNoRows if the record does not exist.
func (tx Tx) Home(ref Ref) (h Home, err error) {
	err = tx.Row(ref.Kind.Home, ref.ID).Scan(&h.ProjectID, &h.Parent, &h.Name, &h.Deleted)
	return h, err
}

// Path returns the names of a record's containers and the name of the record, separated by
// slashes.
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

// Num returns the row number of an iteration. It returns sql.ErrNoRows if the iteration does
// not exist.
func (tx Tx) Num(id string) (num int64, err error) {
	err = tx.Row(`SELECT num FROM iteration WHERE id = ?`, id).Scan(&num)
	return num, err
}

// maxRecord is the maximum size in bytes of a record's values in one table.
const maxRecord = 512 << 20

// Rows reads the rows of one part of a record and checks their text values. It returns a
// *SizeError if the rows are larger than maxRecord.
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

// writeRows writes the rows of one part of the record with the given id. rows is a result of
// Rows.
func (tx Tx) writeRows(p *Part, id string, rows [][]any) error {
	for _, row := range rows {
		if _, err := tx.Exec(p.Write, append([]any{id}, row...)...); err != nil {
			return err
		}
	}
	return nil
}
