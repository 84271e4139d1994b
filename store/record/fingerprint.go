package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"

	"tracker/store/points"
)

// State holds hashes of a record for comparison with another database.
type State struct {
	// Fingerprint is a hash of the content and the references of a record. Two databases with
	// the same record have the same fingerprint.
	Fingerprint string `json:"fingerprint"`
	// Content is a hash of the content without the references. Content is "" in a state from an
	// earlier version of the program.
	Content string `json:"content"`
	// References lists the references of the record. Another database might lack the target of a
	// reference. A reference consists of the name of a part and the target as kind/id. If the
	// part has several columns, a hash of the rows follows.
	References []string `json:"references,omitzero"`
}

// State returns the state of the record with the given kind and id.
func (tx Tx) State(k *Kind, id string) (s State, err error) {
	return tx.state(k, id, func(points.Copy) error { return nil })
}

// state is like State and calls each with each point of a run, metric by metric.
func (tx Tx) state(k *Kind, id string, each func(points.Copy) error) (s State, err error) {
	whole, content := sha256.New(), sha256.New()
	for i := range k.Parts {
		p := &k.Parts[i]
		rows, err := tx.Rows(p, id)
		if err != nil {
			return s, err
		}
		if p.Optional && len(rows) == 0 {
			continue
		}
		s.References = append(s.References, p.references(rows)...)
		putSorted(whole, p.Name, rows, func(row []any) []any { return row[:p.Content] })
		putSorted(content, p.Name, rows, p.withoutReferences)
	}
	var artifacts [][]any
	err = tx.eachArtifact(k, id, func(a Artifact) error {
		artifacts = append(artifacts, []any{a.ID, a.Name, a.Description, a.ContentType, int64(a.CreatedDate), a.Hash})
		return nil
	})
	if err != nil {
		return s, err
	}
	sums := []hash.Hash{whole}
	if len(s.References) > 0 {
		sums = append(sums, content)
	}
	for _, sum := range sums {
		putSorted(sum, "resource", artifacts, func(row []any) []any { return row })
	}
	if k == iterationKind {
		err := tx.pointsInto(id, func(lines []byte) {
			for _, sum := range sums {
				_, _ = sum.Write(lines)
			}
		}, each)
		if err != nil {
			return s, err
		}
	}
	s.Fingerprint = hex.EncodeToString(whole.Sum(nil)[:16])
	s.Content = s.Fingerprint
	if len(s.References) > 0 {
		s.Content = hex.EncodeToString(content.Sum(nil)[:16])
	}
	return s, nil
}

// putLine adds a line and its length to a hash.
func putLine(sum hash.Hash, line []byte) {
	_, _ = sum.Write(appendLine(nil, line))
}

// appendLine appends the length of a line and the line to a slice.
func appendLine(to, line []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(line))), line...)
}

// putSorted adds the rows of a part to a hash. It sorts the rows, because the order of rows
// differs between databases.
func putSorted(sum hash.Hash, name string, rows [][]any, content func([]any) []any) {
	var lines []string
	for _, row := range rows {
		if line := appendValues(nil, content(row)...); len(line) > 0 {
			lines = append(lines, string(line))
		}
	}
	slices.Sort(lines)
	putLine(sum, []byte(name))
	for _, line := range lines {
		putLine(sum, []byte(line))
	}
}

// hashedBytes is the approximate number of bytes that pointsInto passes to put at once. Hashing
// many short strings one by one would be slow.
const hashedBytes = 4096

// pointsInto calls put with the lines of the metrics of an iteration: the name of each metric,
// followed by the metric's points. It also calls each with each point.
func (tx Tx) pointsInto(id string, put func([]byte), each func(points.Copy) error) error {
	num, err := tx.Num(id)
	if err != nil {
		return err
	}
	keys, err := tx.Keys(num)
	if err != nil {
		return err
	}
	var line, lines []byte
	begun := 0 // number of metrics whose names are in lines or were put
	err = tx.Walk(num, func(p points.Copy) error {
		for begun == 0 || keys[begun-1] != p.Key {
			lines = appendLine(lines, []byte(keys[begun]))
			begun++
		}
		line = binary.BigEndian.AppendUint64(line[:0], uint64(p.Step))
		line = binary.BigEndian.AppendUint64(line, uint64(p.At))
		bits := math.Float64bits(float64(p.Value))
		if math.IsNaN(float64(p.Value)) {
			bits = math.Float64bits(math.NaN())
		}
		line = binary.BigEndian.AppendUint64(line, bits)
		if lines = appendLine(lines, line); len(lines) >= hashedBytes {
			put(lines)
			lines = lines[:0]
		}
		return each(p)
	})
	for ; err == nil && begun < len(keys); begun++ {
		lines = appendLine(lines, []byte(keys[begun]))
	}
	put(lines)
	return err
}

// appendValues appends an encoding of values to a slice. Different values have different
// encodings.
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
