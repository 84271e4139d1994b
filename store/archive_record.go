package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
)

// kindOf returns the kind of record with a name, nil when there is none.
func kindOf(name string) *recordKind {
	for _, k := range recordKinds {
		if k.name == name {
			return k
		}
	}
	return nil
}

// maxRecord bounds the values that a record has in one table, in bytes.
const maxRecord = 512 << 20

// rowsOf returns the rows that a record has in a part, checked.
func (tx *tx) rowsOf(p *recordPart, id string) ([][]any, error) {
	rows, err := tx.Rows(p.read, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]any
	size := 0
	for rows.Next() {
		row, into := make([]any, len(p.columns)), make([]any, len(p.columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, v := range row {
			if err := p.columns[i](v); err != nil {
				return nil, fmt.Errorf("in the table %s: %w", p.name, err)
			}
			if s, ok := v.(string); ok {
				size += len(s)
			}
			size += 16
		}
		if size > maxRecord {
			return nil, Invalid("archive", "A record has more than %d MiB in the table %s.", maxRecord>>20, p.name)
		}
		all = append(all, row)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// archivedArtifact is an artifact as it is copied.
type archivedArtifact struct {
	ID          string `db:"id"`
	Name        string `db:"name"`
	Description string `db:"description"`
	ContentType string `db:"content_type"`
	CreatedDate Time   `db:"created_date"`
	UpdatedDate Time   `db:"updated_date"`
	Hash        string `db:"hash"`
	Size        int64  `db:"size_bytes"`
}

// eachArtifact calls fn with the artifacts of a record, the oldest first.
func (tx *tx) eachArtifact(k *recordKind, id string, fn func(archivedArtifact) error) error {
	if k.artifacts == "" {
		return nil
	}
	rows, err := tx.Rows(`SELECT resource.id, name, description, content_type, created_date, updated_date, hash, size_bytes
		FROM resource JOIN blob ON blob.id = blob_id AND deleting = 0
		WHERE deleted_date IS NULL AND `+k.artifacts+` ORDER BY resource.num`, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a archivedArtifact
		if err := rows.StructScan(&a); err != nil {
			return err
		}
		if err := firstError(anID(a.ID), aFile(a.Name), aText(a.Description), aMedium(a.ContentType)); err != nil {
			return fmt.Errorf("in the table resource: %w", err)
		}
		if err := fn(a); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// fingerprint returns a hash of what a record is. It is the same in two databases
// that have the same record.
func (tx *tx) fingerprint(k *recordKind, id string) (string, error) {
	sum := sha256.New()
	put := func(line []byte) {
		_, _ = sum.Write(binary.AppendUvarint(nil, uint64(len(line))))
		_, _ = sum.Write(line)
	}
	for i := range k.parts {
		p := &k.parts[i]
		rows, err := tx.rowsOf(p, id)
		if err != nil {
			return "", err
		}
		var lines []string
		for _, row := range rows {
			line := appendValues(nil, row[:p.content]...)
			if len(line) > 0 {
				lines = append(lines, string(line))
			}
		}
		slices.Sort(lines) // two databases may list them in another order
		put([]byte(p.name))
		for _, line := range lines {
			put([]byte(line))
		}
	}
	var lines []string
	err := tx.eachArtifact(k, id, func(a archivedArtifact) error {
		lines = append(lines, string(appendValues(nil, a.ID, a.Name, a.Description, a.ContentType, int64(a.CreatedDate), a.Hash)))
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.Sort(lines)
	put([]byte("resource"))
	for _, line := range lines {
		put([]byte(line))
	}
	if k.name == "iteration" {
		if err := tx.pointsInto(id, put); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// pointsInto calls put with each metric of an iteration and each of its points.
func (tx *tx) pointsInto(id string, put func([]byte)) error {
	num, err := tx.numOf(id)
	if err != nil {
		return err
	}
	keys, err := tx.points().Keys(num)
	if err != nil {
		return err
	}
	var line []byte
	for _, key := range keys {
		put([]byte(key))
		c, err := tx.points().Cursor(num, key)
		if err != nil {
			return err
		}
		for c.Next() {
			line = binary.BigEndian.AppendUint64(line[:0], uint64(c.Step))
			line = binary.BigEndian.AppendUint64(line, uint64(c.At))
			bits := math.Float64bits(float64(c.Value))
			if math.IsNaN(float64(c.Value)) {
				bits = math.Float64bits(math.NaN())
			}
			put(binary.BigEndian.AppendUint64(line, bits))
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// numOf returns the number of an iteration.
func (tx *tx) numOf(id string) (num int64, err error) {
	err = tx.Row(`SELECT num FROM iteration WHERE id = ?`, id).Scan(&num)
	return num, orNotFound(err, "iteration")
}

// appendValues appends values so that different ones give different bytes.
func appendValues(to []byte, values ...any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			to = append(to, 0)
		case int64:
			to = binary.BigEndian.AppendUint64(append(to, 1), uint64(v))
		case float64:
			to = binary.BigEndian.AppendUint64(append(to, 2), math.Float64bits(v))
		case string:
			to = append(binary.AppendUvarint(append(to, 3), uint64(len(v))), v...)
		default:
			to = fmt.Appendf(append(to, 4), "%T %v", v, v)
		}
	}
	return to
}

// home is where a record belongs.
type home struct {
	projectID string
	parent    string // id of what holds it
	name      string
	deleted   bool
}

func (tx *tx) homeOf(ref recordRef) (h home, err error) {
	err = tx.Row(ref.kind.home, ref.id).Scan(&h.projectID, &h.parent, &h.name, &h.deleted)
	return h, orNotFound(err, ref.kind.name)
}

// pathOf returns the names of a record and of what holds it, with slashes between.
func (tx *tx) pathOf(ref recordRef) (string, error) {
	h, err := tx.homeOf(ref)
	if err != nil || h.parent == "" {
		return h.name, err
	}
	for _, kind := range []string{"project", "experiment", "model"} {
		above, err := tx.pathOf(recordRef{kind: kindOf(kind), id: h.parent})
		if err == nil {
			return above + "/" + h.name, nil
		}
		if AsError(err).Code != CodeNotFound {
			return "", err
		}
	}
	return h.name, nil
}
