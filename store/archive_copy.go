package store

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/record"
	"tracker/store/sqlite"
	"tracker/store/transfer"
)

// copier copies records from a snapshot of one database to another database.
type copier struct {
	src   record.Tx
	dst   *DB
	actor Actor // in dst
	// fresh is set when dst was empty: every record is new, and no note of what it
	// was like is kept.
	fresh  bool
	dryRun bool
	// noArtifacts leaves artifacts out.
	noArtifacts bool
	// base returns the fingerprint that a record had in dst when src was last the
	// same; "" when that is not known.
	base func(ref record.Ref) string
	// claim puts the bytes of an artifact in place. Its function use returns the id
	// of the blob in the transaction that inserts the record; release ends a claim
	// that was not used.
	claim  func(ctx context.Context, hash string, size int64) (use useBlob, release func(), err error)
	result *transfer.Result
	// progress is called after each record; nil is fine.
	progress func()

	conflicts []string        // records that were left alone, as kind/id
	written   []writtenRecord // whose late parts are to be written
}

// useBlob returns the id of a blob that is in place, in the transaction that inserts
// the record of an artifact.
type useBlob func(*tx) (int64, error)

type writtenRecord struct {
	record.Ref
	fingerprint string
}

// verdict is what is to be done with a record.
type verdict int

const (
	keepRecord verdict = iota
	insertRecord
	replaceRecord
)

// lateRecords is the number of records whose late parts are written in one
// transaction.
const lateRecords = 200

// copy copies records, those that hold others first.
func (c *copier) copy(ctx context.Context, refs []record.Ref) error {
	for _, ref := range refs {
		if err := c.record(ctx, ref); err != nil {
			return err
		}
		if c.progress != nil {
			c.progress()
		}
	}
	for len(c.written) > 0 {
		n := min(len(c.written), lateRecords)
		if err := c.late(ctx, c.written[:n]); err != nil {
			return err
		}
		c.written = c.written[n:]
	}
	return ctx.Err()
}

func (c *copier) record(ctx context.Context, ref record.Ref) error {
	if err := checkColumn(ref.Kind.ID(), ref.ID); err != nil {
		return err
	}
	v, fingerprint, err := c.judge(ctx, ref)
	if err != nil {
		return err
	}
	if run := ref.Kind.Name == "iteration"; run {
		c.result.Found++
		switch v {
		case insertRecord:
			c.result.Created++
		case replaceRecord:
			c.result.Grown++
		}
	}
	if v == keepRecord {
		return nil
	}
	if c.dryRun {
		return c.count(ref)
	}
	err = c.write(ctx, ref, fingerprint, v)
	if sqlite.IsDuplicate(err) {
		return c.leaveOut(ref, "Another record has the name, number or id of a part of it; nothing was changed.")
	}
	if err == nil {
		c.written = append(c.written, writtenRecord{ref, fingerprint})
	}
	return err
}

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
		homeless  bool // what would hold it is not there
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
		return keepRecord, "", c.leaveOut(ref, "What would hold it is missing or in the trash.")
	case !s.exists:
		return insertRecord, fingerprint, nil
	case s.Deleted:
		return keepRecord, "", c.leaveOut(ref, "It is in the trash; restore it first.")
	case s.Parent != from.Parent:
		return keepRecord, "", c.leaveOut(ref, "Something else has its id.")
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

// mayInsert fails unless the actor may add the record: to make a project is allowed
// to every user.
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

// count notes what a dry run would copy.
func (c *copier) count(ref record.Ref) error {
	if ref.Kind.Name == "iteration" {
		num, err := c.src.Num(ref.ID)
		if err != nil {
			return err
		}
		var parameters, tags int
		err = c.src.Row(`SELECT
				(SELECT count(*) FROM parameter WHERE iteration_num = ?1),
				(SELECT count(*) FROM tag WHERE iteration_num = ?1)`, num).Scan(&parameters, &tags)
		if err != nil {
			return err
		}
		c.result.Parameters += parameters
		c.result.Tags += tags
		err = c.src.Walk(num, func(string, Step, Value, Time) error {
			c.result.Points++
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.src.EachArtifact(ref.Kind, ref.ID, func(a record.Artifact) error {
		c.result.Artifacts++
		c.result.Bytes += a.Size
		return nil
	})
}

// write writes a record with its points and artifacts, but for its late parts.
func (c *copier) write(ctx context.Context, ref record.Ref, fingerprint string, v verdict) error {
	rows := make([][][]any, len(ref.Kind.Parts))
	for i := range ref.Kind.Parts {
		p := &ref.Kind.Parts[i]
		if p.Late {
			continue
		}
		var err error
		if rows[i], err = c.src.Rows(p, ref.ID); err != nil {
			return err
		}
	}
	from, err := c.src.Home(ref)
	if err != nil {
		return err
	}
	var drop map[string]record.Divergence
	if ref.Kind.Name == "iteration" && v == replaceRecord {
		if drop, err = c.different(ctx, ref.ID); err != nil {
			return err
		}
	}
	dropped, err := write(ctx, c.dst, c.actor, func(tx *tx) (dropped int, err error) {
		if !c.fresh {
			if err := c.allowed(tx, ref, from, v); err != nil {
				return 0, err
			}
		}
		if len(drop) > 0 {
			if dropped, err = tx.records().DropPoints(ref.ID, drop); err != nil {
				return 0, err
			}
		}
		for i := range ref.Kind.Parts {
			p := &ref.Kind.Parts[i]
			if p.Late && v == insertRecord {
				continue
			}
			if p.Clear != "" && v == replaceRecord {
				if _, err := tx.Exec(p.Clear, ref.ID); err != nil {
					return 0, err
				}
			}
			if err := tx.records().WriteRows(p, ref.ID, rows[i]); err != nil {
				return 0, err
			}
		}
		return dropped, firstError(c.note(tx, ref, record.Note{Fingerprint: fingerprint, Unfinished: true}), tx.noteCopied(ref))
	})
	if err != nil {
		return err
	}
	c.result.Dropped += dropped
	if ref.Kind.Name == "iteration" {
		for i, p := range ref.Kind.Parts {
			switch p.Name {
			case "parameter":
				c.result.Parameters += len(rows[i])
			case "tag":
				c.result.Tags += len(rows[i])
			}
		}
		if err := c.points(ctx, ref.ID, drop); err != nil {
			return err
		}
	}
	return c.artifacts(ctx, ref, v)
}

// allowed fails unless the actor may write the record now. A new project is the
// actor's.
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

// allowContainer fails unless what is to hold a record is there, in its project.
func (c *copier) allowContainer(tx *tx, from record.Home) error {
	var one int
	err := tx.Row(`SELECT 1 FROM project WHERE id = ?1 AND id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM experiment WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM model WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL`, from.Parent, from.ProjectID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return Errorf(CodeConflict, "What holds the record %q is not there.", from.Name)
	}
	return err
}

// note records what a record was like when it was copied.
func (c *copier) note(tx *tx, ref record.Ref, n record.Note) error {
	if c.fresh {
		return nil
	}
	return tx.records().SetNote(ref, n, tx.now)
}

// noteCopied records the change for those who look at the run. A new project is
// its maker's.
func (tx *tx) noteCopied(ref record.Ref) error {
	switch ref.Kind.Name {
	case "project":
		if tx.actor.system {
			return nil
		}
		there, err := tx.has(`SELECT 1 FROM user_permission WHERE user_id = ? AND project_id = ?`, tx.actor.UserID, ref.ID)
		if err != nil || there {
			return err
		}
		if admin, err := tx.user(tx.actor); err != nil || admin.IsAdmin {
			return err
		}
		_, err = tx.insertPermission(Permission{UserID: tx.actor.UserID, ProjectID: ref.ID, Create: true, Read: true, Update: true, Delete: true})
		return err
	case "iteration":
		num, err := tx.records().Num(ref.ID)
		if err != nil {
			return err
		}
		return tx.noteNumbered(&num)
	}
	return nil
}

// late writes the late parts of records, and that they are copied.
func (c *copier) late(ctx context.Context, written []writtenRecord) error {
	type lateRows struct {
		writtenRecord
		part *record.Part
		rows [][]any
	}
	var all []lateRows
	for _, w := range written {
		for i := range w.Kind.Parts {
			p := &w.Kind.Parts[i]
			if !p.Late {
				continue
			}
			rows, err := c.src.Rows(p, w.ID)
			if err != nil {
				return err
			}
			all = append(all, lateRows{w, p, rows})
		}
	}
	return change(ctx, c.dst, c.actor, func(tx *tx) error {
		for _, l := range all {
			err := tx.records().WriteRows(l.part, l.ID, l.rows)
			if sqlite.IsDuplicate(err) {
				return Errorf(CodeConflict, "Two records have the same %s.", l.part.Name)
			}
			if err != nil {
				return err
			}
		}
		for _, w := range written {
			if err := c.note(tx, w.Ref, record.Note{Fingerprint: w.fingerprint}); err != nil {
				return err
			}
		}
		return nil
	})
}
