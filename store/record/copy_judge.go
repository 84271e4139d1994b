package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// verdict is the decision about a record.
type verdict int

const (
	keep verdict = iota
	insert
	replace
)

// judge decides what is to be done with a record, and checks that it may be done.
func (c *Copier) judge(ctx context.Context, ref Ref) (v verdict, fingerprint string, err error) {
	if c.Fresh {
		return insert, "", nil
	}
	from, err := c.From.Home(ref)
	if err != nil {
		return 0, "", err
	}
	if fingerprint, err = c.From.Fingerprint(ref.Kind, ref.ID); err != nil {
		return 0, "", err
	}
	var (
		here      Home
		exists    bool
		homeless  bool   // its container is not there
		now       string // its fingerprint
		note      Note
		mayUpdate error
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
		now, err = to.Fingerprint(ref.Kind, ref.ID)
		return err
	})
	if err != nil {
		return 0, "", err
	}
	base := note.Fingerprint
	if c.Base != nil {
		base = c.Base(ref)
	}
	switch {
	case !exists && base != "" && c.Base != nil:
		return keep, "", c.leaveOut(ref, "It was copied before and has been deleted since; it is not copied again.")
	case homeless:
		return keep, "", c.leaveOut(ref, "Its container is missing or in the trash; restore it, or copy it as well.")
	case !exists:
		return insert, fingerprint, nil
	case here.Deleted:
		return keep, "", c.leaveOut(ref, "It is in the trash; restore it first.")
	case here.Parent != from.Parent:
		return keep, "", c.leaveOut(ref, "A record in another place has its id; it is not copied.")
	case ref.Context:
		return keep, "", nil
	case note.Unfinished && note.Fingerprint == fingerprint, now == base && now != fingerprint:
		return replace, fingerprint, mayUpdate
	case now == fingerprint, fingerprint == base:
		if ref.Kind == iterationKind {
			c.Result.Unchanged++
		}
		return keep, "", nil
	}
	return keep, "", c.leaveOut(ref, "It was changed on both sides; nothing was overwritten.")
}

// mayInsert fails unless the record may be added. there is false when its project or its
// container is not there; a dry run does not look for those that it would have copied.
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
	return tx.Records().hasContainer(from)
}

// mayAdd fails unless records may be added to a project. there is false when it does not
// exist or is in the trash.
func mayAdd(tx TargetTx, projectID string) (there bool, err error) {
	err = tx.Records().Row(`SELECT EXISTS (SELECT 1 FROM project WHERE id = ? AND deleted_date IS NULL)`, projectID).Scan(&there)
	if err == nil && there {
		err = tx.AllowCreate(projectID)
	}
	return there, err
}

// hasContainer reports whether the container of a record is there, in its project.
func (tx Tx) hasContainer(h Home) (there bool, err error) {
	err = tx.Row(`SELECT EXISTS (
		SELECT 1 FROM project WHERE id = ?1 AND id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM experiment WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM model WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL)`, h.Parent, h.ProjectID).Scan(&there)
	return there, err
}

// leaveOut notes that a record was not copied.
func (c *Copier) leaveOut(ref Ref, reason string) error {
	name, err := c.From.Path(ref)
	if ref.Kind == iterationKind {
		c.Result.LeftOut++
	}
	c.Conflicts = append(c.Conflicts, ref.String())
	c.Result.Lose(name, "%s", reason)
	return err
}

// allowed fails unless the record may be written now, as it was judged.
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

// allowContent fails unless parts may be added to a record that was written.
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
