package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
)

// Fingerprint returns a hash of the content of a record. It is the same in two databases
// that have the same record.
func (tx Tx) Fingerprint(k *Kind, id string) (string, error) {
	sum := sha256.New()
	put := func(line []byte) {
		_, _ = sum.Write(binary.AppendUvarint(nil, uint64(len(line))))
		_, _ = sum.Write(line)
	}
	for i := range k.Parts {
		p := &k.Parts[i]
		rows, err := tx.Rows(p, id)
		if err != nil {
			return "", err
		}
		var lines []string
		for _, row := range rows {
			line := appendValues(nil, row[:p.Content]...)
			if len(line) > 0 {
				lines = append(lines, string(line))
			}
		}
		slices.Sort(lines) // two databases may list them in another order
		put([]byte(p.Name))
		for _, line := range lines {
			put([]byte(line))
		}
	}
	var lines []string
	err := tx.eachArtifact(k, id, func(a Artifact) error {
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
	if k.Name == "iteration" {
		if err := tx.pointsInto(id, put); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// pointsInto calls put with the name of each metric of an iteration and with each point.
func (tx Tx) pointsInto(id string, put func([]byte)) error {
	num, err := tx.Num(id)
	if err != nil {
		return err
	}
	keys, err := tx.Keys(num)
	if err != nil {
		return err
	}
	var line []byte
	for _, key := range keys {
		put([]byte(key))
		c, err := tx.Cursor(num, key)
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
