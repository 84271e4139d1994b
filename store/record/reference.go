package record

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// A reference in a State is a string with two or three fields, separated by spaces. The first
// field is the name of the part. The second field is the target, as kind/id. If the part has
// columns besides the target, the third field is a hash of the rows.

// parentPart is the name of the part that refers to the parent of a run. A user can remove this
// kind of reference while both runs exist. Other kinds of references can't be removed while
// both records exist.
const parentPart = "parent"

// target returns the record to which the reference refers, as kind/id.
func target(reference string) string {
	_, rest, _ := strings.Cut(reference, " ")
	record, _, _ := strings.Cut(rest, " ")
	return record
}

// slot returns the slot of a reference. A record has at most one reference in each slot.
func slot(reference string) string {
	part, _, _ := strings.Cut(reference, " ")
	if part == parentPart {
		return part
	}
	return part + " " + target(reference)
}

// references returns the references in the given rows of a part, sorted.
func (p *Part) references(rows [][]any) []string {
	about := map[string][][]any{}
	for _, row := range rows {
		for _, r := range p.References {
			if id, ok := row[r.Column].(string); ok && !r.Owner {
				record := r.Kind + "/" + id
				about[record] = append(about[record], row)
			}
		}
	}
	var all []string
	for record, rows := range about {
		reference := p.Name + " " + record
		if p.Link && len(p.Columns) > 1 {
			sum := sha256.New()
			putSorted(sum, p.Name, rows, func(row []any) []any { return row })
			reference += " " + hex.EncodeToString(sum.Sum(nil)[:6])
		}
		all = append(all, reference)
	}
	slices.Sort(all)
	return all
}

// withoutReferences returns the content of the given row without references.
func (p *Part) withoutReferences(row []any) []any {
	if p.Link {
		return nil
	}
	row = slices.Clone(row[:p.Content])
	for _, r := range p.References {
		if !r.Owner {
			row[r.Column] = nil
		}
	}
	return row
}

// Targets returns the records and artifacts to which the record refers, as kind/id.
func (s State) Targets() []string {
	all := make([]string, len(s.References))
	for i, r := range s.References {
		all[i] = target(r)
	}
	return all
}

// Noted returns the string that is stored for a state that two databases share. It contains the
// hash of the content and the hashes of some references. A reference is included if has(target)
// is true. Only an included reference can later count as removed.
func (s State) Noted(has func(record string) bool) string {
	var hashes []string
	for _, r := range s.References {
		if has(target(r)) {
			hashes = append(hashes, hashOf(r))
		}
	}
	if hashes == nil {
		return s.Content
	}
	return s.Content + " " + strings.Join(hashes, ",")
}

func hashOf(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return hex.EncodeToString(sum[:6])
}

// Changes compares two states of a record with their last common state. It reports which of the
// two states has changed. If neither state has changed, the states are equal.
//
// base describes the last common state. base is a result of State.Noted, a fingerprint from an
// earlier version of the program, or "" if the common state is unknown. If only one state
// contains a reference, this counts as a change only if shared(target) is true. shared(record)
// reports whether both databases contain a record.
func Changes(from, to State, base string, shared func(record string) bool) (fromChanged, toChanged bool) {
	if from.Fingerprint == to.Fingerprint {
		return false, false
	}
	content, hashes, _ := strings.Cut(base, " ")
	unchanged := func(s State) bool { return base != "" && (s.Fingerprint == base || s.Content == content) }
	if from.Content == "" || to.Content == "" { // one state is from an earlier version of the program
		return !unchanged(from), !unchanged(to)
	}
	if from.Content != to.Content {
		fromChanged, toChanged = !unchanged(from), !unchanged(to)
	}
	known := map[string]bool{}
	for _, h := range strings.Split(hashes, ",") {
		known[h] = true
	}
	inFrom, inTo, slots := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range from.References {
		inFrom[r] = true
	}
	for _, r := range to.References {
		inTo[r], slots[slot(r)] = true, true
		if base == to.Fingerprint {
			known[hashOf(r)] = true
		}
	}
	for _, r := range from.References {
		// Earlier versions of the program also noted references that the copy had omitted.
		if base == from.Fingerprint && slots[slot(r)] {
			known[hashOf(r)] = true
		}
	}
	compare := func(a []string, inB map[string]bool, aChanged, bChanged *bool) {
		for _, r := range a {
			switch {
			case inB[r] || !shared(target(r)):
			case !known[hashOf(r)]:
				*aChanged = true
			case slot(r) == parentPart:
				*bChanged = true
			}
		}
	}
	compare(from.References, inTo, &fromChanged, &toChanged)
	compare(to.References, inFrom, &toChanged, &fromChanged)
	return fromChanged, toChanged
}

// Has reports whether a record or artifact exists and is not in the trash. The format of record
// is kind/id.
func (tx Tx) Has(record string) (bool, error) {
	kind, id, _ := strings.Cut(record, "/")
	if kind == "resource" {
		var there bool
		err := tx.Row(`SELECT EXISTS (SELECT 1 FROM resource WHERE id = ? AND deleted_date IS NULL)`, id).Scan(&there)
		return there, err
	}
	at := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == kind })
	if at < 0 {
		return false, nil
	}
	h, err := tx.Home(Ref{Kind: Kinds[at], ID: id})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && !h.Deleted, err
}

// Needs returns the records and artifacts to which a record refers, as kind/id. If the record
// refers to an artifact of a run, the result also contains the run.
func (tx Tx) Needs(ref Ref) (all []string, err error) {
	for i := range ref.Kind.Parts {
		p := &ref.Kind.Parts[i]
		if len(p.References) == 0 {
			continue
		}
		rows, err := tx.Rows(p, ref.ID)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			for _, r := range p.References {
				id, ok := row[r.Column].(string)
				if !ok {
					continue
				}
				all = append(all, r.Kind+"/"+id)
				if r.Kind != "resource" {
					continue
				}
				var runs []string
				err := tx.Select(&runs, `SELECT iteration.id FROM resource JOIN iteration ON iteration.num = iteration_num WHERE resource.id = ?`, id)
				if err != nil {
					return nil, err
				}
				for _, run := range runs {
					all = append(all, "iteration/"+run)
				}
			}
		}
	}
	return all, nil
}
