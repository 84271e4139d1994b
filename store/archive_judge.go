package store

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/record"
)

// verdict is the decision about a record.
type verdict int

const (
	keepRecord verdict = iota
	insertRecord
	replaceRecord
)

// judge decides what is to be done with a record, and checks that the actor may.
func (c *copier) judge(ctx context.Context, ref record.Ref) (v verdict, fingerprint string, err error) {
	if c.fresh {
		return insertRecord, "", nil
	}
	from, err := c.src.Home(ref)
	if err != nil {
		return 0, "", err
	}
	type state struct {
		record.Home
		exists    bool
		now       string // its fingerprint
		note      record.Note
		homeless  bool // its container is not there
		mayUpdate error
	}
	if fingerprint, err = c.src.Fingerprint(ref.Kind, ref.ID); err != nil {
		return 0, "", err
	}
	s, err := read(ctx, c.dst, func(tx *tx) (s state, err error) {
		s.Home, err = tx.homeOf(ref)
		s.exists = err == nil
		if !s.exists {
			if AsError(err).Code != CodeNotFound {
				return s, err
			}
			err := c.mayInsert(tx, ref, from)
			s.homeless = err != nil && AsError(err).Code == CodeNotFound
			if s.homeless {
				err = nil
			}
			return s, err
		}
		s.mayUpdate = tx.allow(c.actor, s.ProjectID, rightUpdate)
		if err := tx.allow(c.actor, s.ProjectID, rightCreate); err != nil && s.mayUpdate != nil {
			return s, err
		}
		if ref.Context || s.Deleted {
			return s, nil
		}
		if s.note, err = tx.records().Note(ref); err != nil {
			return s, err
		}
		s.now, err = tx.records().Fingerprint(ref.Kind, ref.ID)
		return s, err
	})
	if err != nil {
		return 0, "", err
	}
	base := s.note.Fingerprint
	if c.base != nil {
		base = c.base(ref)
	}
	run := ref.Kind.Name == "iteration"
	switch {
	case !s.exists && base != "" && c.base != nil:
		return keepRecord, "", c.leaveOut(ref, "It was copied before and has been deleted since; it is not copied again.")
	case s.homeless:
		return keepRecord, "", c.leaveOut(ref, "Its container is missing or in the trash; restore it, or copy it as well.")
	case !s.exists:
		return insertRecord, fingerprint, nil
	case s.Deleted:
		return keepRecord, "", c.leaveOut(ref, "It is in the trash; restore it first.")
	case s.Parent != from.Parent:
		return keepRecord, "", c.leaveOut(ref, "A record in another place has its id; it is not copied.")
	case ref.Context:
		return keepRecord, "", nil
	case s.note.Unfinished && s.note.Fingerprint == fingerprint, s.now == base && s.now != fingerprint:
		return replaceRecord, fingerprint, s.mayUpdate
	case s.now == fingerprint, fingerprint == base:
		if run {
			c.result.Unchanged++
		}
		return keepRecord, "", nil
	}
	return keepRecord, "", c.leaveOut(ref, "It was changed on both sides; nothing was overwritten.")
}

// mayInsert fails unless the actor may add the record. Every user may make a project.
func (c *copier) mayInsert(tx *tx, ref record.Ref, from record.Home) error {
	if _, err := tx.user(c.actor); err != nil || ref.Kind.Name == "project" {
		return err
	}
	there, err := tx.has(`SELECT 1 FROM project WHERE id = ?`, from.ProjectID)
	if err != nil || c.dryRun && !there {
		return err
	}
	if err := tx.allowProject(c.actor, from.ProjectID, rightCreate); err != nil || c.dryRun {
		return err
	}
	if err := c.allowContainer(tx, from); err != nil && AsError(err).Code == CodeConflict {
		return notFound("project")
	} else {
		return err
	}
}

// leaveOut notes that a record was not copied.
func (c *copier) leaveOut(ref record.Ref, reason string) error {
	name, err := c.src.Path(ref)
	if ref.Kind.Name == "iteration" {
		c.result.LeftOut++
	}
	c.conflicts = append(c.conflicts, ref.String())
	c.result.Lose(name, "%s", reason)
	return err
}

// allowed fails unless the actor may write the record now.
func (c *copier) allowed(tx *tx, ref record.Ref, from record.Home, v verdict) error {
	now, err := tx.homeOf(ref)
	switch {
	case err == nil && v == insertRecord || err == nil && (now.Deleted || now.Parent != from.Parent):
		return Errorf(CodeConflict, "Somebody else is writing the same records; try again.")
	case err == nil:
		return tx.allow(c.actor, now.ProjectID, rightUpdate)
	case AsError(err).Code != CodeNotFound:
		return err
	case v == replaceRecord:
		return err
	case ref.Kind.Name != "project":
		if err := tx.allowProject(c.actor, from.ProjectID, rightCreate); err != nil {
			return err
		}
		return c.allowContainer(tx, from)
	}
	return nil
}

// allowContainer fails unless the container of a record is there, in its project.
func (c *copier) allowContainer(tx *tx, from record.Home) error {
	var one int
	err := tx.Row(`SELECT 1 FROM project WHERE id = ?1 AND id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM experiment WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM model WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL`, from.Parent, from.ProjectID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return Errorf(CodeConflict, "The container of the record %q does not exist or is in the trash; restore it, or copy it as well.", from.Name)
	}
	return err
}
