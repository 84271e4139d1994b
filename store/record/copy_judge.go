package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// verdict is the decision whether the target's record stays as it is, or the record is inserted
// or replaced.
type verdict int

const (
	keep verdict = iota
	insert
	replace
)

// judge decides whether to copy a record. It returns an error if the user may not write the
// record.
func (c *Copier) judge(ctx context.Context, ref Ref) (v verdict, state State, err error) {
	if c.Fresh {
		if c.State != nil && !ref.Context {
			if state, err = c.state(ref); err != nil {
				return 0, state, err
			}
			c.State(ref, state)
		}
		return insert, state, nil
	}
	from, err := c.From.Home(ref)
	if err != nil {
		return 0, state, err
	}
	if state, err = c.state(ref); err != nil {
		return 0, state, err
	}
	var (
		here      Home
		exists    bool
		homeless  bool // the container does not exist or is in the trash
		note      Note
		mayUpdate error

		changedHere, changedThere bool
	)
	err = c.To.Read(ctx, func(tx TargetTx) error {
		to := tx.Records()
		var err error
		here, err = to.Home(ref)
		if errors.Is(err, sql.ErrNoRows) {
			there, err := c.mayInsert(tx, ref, from)
			homeless = !there
			return err
		}
		if err != nil {
			return err
		}
		exists = true
		mayUpdate = tx.AllowUpdate(here.ProjectID)
		if mayUpdate != nil {
			if err := tx.AllowCreate(here.ProjectID); err != nil {
				return err
			}
		}
		if ref.Context || here.Deleted {
			return nil
		}
		if note, err = to.Note(ref); err != nil {
			return err
		}
		now, err := to.State(ref.Kind, ref.ID)
		if err != nil {
			return err
		}
		var failed error
		changedThere, changedHere = Changes(state, now, c.base(ref, note), func(record string) bool {
			has, err := c.fromHas(record)
			if err == nil && has {
				has, err = c.toHas(to, record)
			}
			failed = errors.Join(failed, err)
			return has
		})
		return failed
	})
	if err != nil {
		return 0, state, err
	}
	switch {
	case !exists && c.Base != nil && c.Base(ref) != "":
		return keep, state, c.leaveOut(ref, "It was copied before and has been deleted since; it is not copied again.")
	case homeless:
		return keep, state, c.leaveOut(ref, "Its container is missing or in the trash; restore it, or copy it as well.")
	case !exists:
		return insert, state, nil
	case here.Deleted:
		return keep, state, c.leaveOut(ref, "It is in the trash; restore it first.")
	case here.Parent != from.Parent:
		return keep, state, c.leaveOut(ref, "Another record has the same id in a different place; this one is not copied.")
	case ref.Context:
		return keep, state, nil
	case note.Unfinished && (note.Fingerprint == state.Content || note.Fingerprint == state.Fingerprint), changedThere && !changedHere:
		return replace, state, mayUpdate
	case !changedThere:
		if ref.Kind == iterationKind {
			c.Result.Unchanged++
		}
		return keep, state, nil
	}
	return keep, state, c.leaveOut(ref, "It was changed on both sides; nothing was overwritten.")
}

// state returns the state of a record in From. It stores the points of a run in c.read.
func (c *Copier) state(ref Ref) (State, error) {
	c.read.begin(ref.ID)
	return c.From.state(ref.Kind, ref.ID, c.read.add)
}

// base returns the fingerprint of a record at the time when the record was last equal in both
// databases.
func (c *Copier) base(ref Ref, n Note) string {
	if c.Base != nil {
		return c.Base(ref)
	}
	return n.Fingerprint
}

// toHas reports whether To will contain a record or artifact after the copy. The format of
// record is kind/id.
func (c *Copier) toHas(to Tx, record string) (bool, error) {
	has, err := to.Has(record)
	ref, copied := c.copied[record]
	if err != nil || has || !copied || c.Base != nil && c.Base(ref) != "" {
		return has, err
	}
	_, err = to.Home(ref)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return false, err // the record is in the trash if err is nil
}

// fromHas reports whether the source database contains a record or artifact. The format of
// record is kind/id.
func (c *Copier) fromHas(record string) (bool, error) {
	if c.Peer != nil && c.Peer(record) {
		return true, nil
	}
	return c.From.Has(record)
}

// mayInsert returns an error if the user may not add the record. The result there reports whether
// the record's project and container exist. A dry run does not check for containers, because the
// copy might insert them.
func (c *Copier) mayInsert(tx TargetTx, ref Ref, from Home) (there bool, err error) {
	if ref.Kind == projectKind {
		return true, tx.AllowCreate("")
	}
	if c.DryRun {
		err := tx.Records().Row(`SELECT EXISTS (SELECT 1 FROM project WHERE id = ?)`, from.ProjectID).Scan(&there)
		if err == nil && !there {
			return true, tx.AllowCreate("")
		}
		if err != nil {
			return false, err
		}
	}
	if there, err = mayAdd(tx, from.ProjectID); err != nil || !there || c.DryRun {
		return there, err
	}
	if there, err = tx.Records().hasContainer(from); err != nil || !there {
		return there, err
	}
	return c.hasOwners(tx.Records(), ref)
}

// hasOwners reports whether the target database has every owner of the given record, that is,
// every record that it can't exist without.
func (c *Copier) hasOwners(to Tx, ref Ref) (there bool, err error) {
	for i := range ref.Kind.Parts {
		p := &ref.Kind.Parts[i]
		for _, r := range p.References {
			if !r.Owner {
				continue
			}
			rows, err := c.From.Rows(p, ref.ID)
			if err != nil {
				return false, err
			}
			for _, row := range rows {
				id, _ := row[r.Column].(string)
				if there, err := to.Has(r.Kind + "/" + id); err != nil || !there {
					return there, err
				}
			}
		}
	}
	return true, nil
}

// mayAdd returns an error if the user may not add records to a project. there is false if the
// project does not exist or is in the trash.
func mayAdd(tx TargetTx, projectID string) (there bool, err error) {
	err = tx.Records().Row(`SELECT EXISTS (SELECT 1 FROM project WHERE id = ? AND deleted_date IS NULL)`, projectID).Scan(&there)
	if err == nil && there {
		err = tx.AllowCreate(projectID)
	}
	return there, err
}

// hasContainer reports whether the container of a record exists in the record's project. A
// container in the trash does not count.
func (tx Tx) hasContainer(h Home) (there bool, err error) {
	err = tx.Row(`SELECT EXISTS (
		SELECT 1 FROM project WHERE id = ?1 AND id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM experiment WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM model WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL)`, h.Parent, h.ProjectID).Scan(&there)
	return there, err
}

// leaveOut adds ref, which is not copied, to the conflicts. It adds the reason to the result.
func (c *Copier) leaveOut(ref Ref, reason string) error {
	name, err := c.From.Path(ref)
	if ref.Kind == iterationKind {
		c.Result.LeftOut++
	}
	c.Conflicts = append(c.Conflicts, ref.String())
	c.Result.Lose(name, "%s", reason)
	return err
}

// allowed returns an error if verdict v no longer applies to the record, or if the user may not
// write the record.
func (c *Copier) allowed(tx TargetTx, ref Ref, from Home, v verdict) error {
	here, err := tx.Records().Home(ref)
	switch {
	case err == nil && (v == insert || here.Deleted || here.Parent != from.Parent), errors.Is(err, sql.ErrNoRows) && v == replace:
		return errRace
	case err == nil:
		return tx.AllowUpdate(here.ProjectID)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	case ref.Kind == projectKind:
		return nil
	}
	there, err := mayAdd(tx, from.ProjectID)
	if err == nil && there {
		there, err = tx.Records().hasContainer(from)
	}
	if err == nil && !there {
		err = &ConflictError{fmt.Sprintf("The container of the record %q does not exist or is in the trash; restore it, or copy it as well.", from.Name)}
	}
	return err
}

// allowContent returns an error if points or artifacts may no longer be added to a record that
// was written before.
func allowContent(tx TargetTx, ref Ref) error {
	here, err := tx.Records().Home(ref)
	if errors.Is(err, sql.ErrNoRows) || err == nil && here.Deleted {
		return errRace
	}
	if err != nil {
		return err
	}
	there, err := mayAdd(tx, here.ProjectID)
	if err == nil && !there {
		err = errRace
	}
	return err
}
