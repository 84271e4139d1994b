package store

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/sqlite"
	"tracker/store/transfer"
)

// copied and copying are the states of a row of table source that says what a
// record was like when it was copied here, and that its copying was not finished.
const (
	copied  = "archive"
	copying = "archive, not finished"
)

// recordRef names a record.
type recordRef struct {
	kind *recordKind
	id   string
	// context is set for a record that is there since others need it: it is copied
	// where it does not exist, and left alone otherwise.
	context bool
}

// copier copies records from a snapshot of one database to another database.
type copier struct {
	src   *tx
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
	base func(ref recordRef) string
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
	recordRef
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
func (c *copier) copy(ctx context.Context, refs []recordRef) error {
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

func (c *copier) record(ctx context.Context, ref recordRef) error {
	if err := ref.kind.checkID(ref.id); err != nil {
		return err
	}
	v, fingerprint, err := c.judge(ctx, ref)
	if err != nil {
		return err
	}
	if run := ref.kind.name == "iteration"; run {
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
func (c *copier) judge(ctx context.Context, ref recordRef) (v verdict, fingerprint string, err error) {
	if c.fresh {
		return insertRecord, "", nil
	}
	from, err := c.src.homeOf(ref)
	if err != nil {
		return 0, "", err
	}
	type state struct {
		home
		exists     bool
		now, then  string // its fingerprint, and that of when it was copied
		unfinished bool
		homeless   bool // what would hold it is not there
		mayUpdate  error
	}
	if fingerprint, err = c.src.fingerprint(ref.kind, ref.id); err != nil {
		return 0, "", err
	}
	s, err := read(ctx, c.dst, func(tx *tx) (s state, err error) {
		s.home, err = tx.homeOf(ref)
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
		s.mayUpdate = tx.allow(c.actor, s.projectID, rightUpdate)
		if err := tx.allow(c.actor, s.projectID, rightCreate); err != nil && s.mayUpdate != nil {
			return s, err
		}
		if ref.context || s.deleted {
			return s, nil
		}
		var note string
		err = tx.Row(`SELECT fingerprint, state FROM source WHERE id = ?`, noteID(ref)).Scan(&s.then, &note)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return s, err
		}
		s.unfinished = note == copying
		s.now, err = tx.fingerprint(ref.kind, ref.id)
		return s, err
	})
	if err != nil {
		return 0, "", err
	}
	base := s.then
	if c.base != nil {
		base = c.base(ref)
	}
	run := ref.kind.name == "iteration"
	switch {
	case !s.exists && base != "" && c.base != nil:
		return keepRecord, "", c.leaveOut(ref, "It was copied before and has been deleted since; it is not copied again.")
	case s.homeless:
		return keepRecord, "", c.leaveOut(ref, "What would hold it is missing or in the trash.")
	case !s.exists:
		return insertRecord, fingerprint, nil
	case s.deleted:
		return keepRecord, "", c.leaveOut(ref, "It is in the trash; restore it first.")
	case s.parent != from.parent:
		return keepRecord, "", c.leaveOut(ref, "Something else has its id.")
	case ref.context:
		return keepRecord, "", nil
	case s.unfinished && s.then == fingerprint, s.now == base && s.now != fingerprint:
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
func (c *copier) mayInsert(tx *tx, ref recordRef, from home) error {
	if _, err := tx.user(c.actor); err != nil || ref.kind.name == "project" {
		return err
	}
	there, err := tx.has(`SELECT 1 FROM project WHERE id = ?`, from.projectID)
	if err != nil || c.dryRun && !there {
		return err
	}
	if err := tx.allowProject(c.actor, from.projectID, rightCreate); err != nil || c.dryRun {
		return err
	}
	if err := c.allowContainer(tx, from); err != nil && AsError(err).Code == CodeConflict {
		return notFound("project")
	} else {
		return err
	}
}

// leaveOut notes that a record was not copied.
func (c *copier) leaveOut(ref recordRef, reason string) error {
	name, err := c.src.pathOf(ref)
	if ref.kind.name == "iteration" {
		c.result.LeftOut++
	}
	c.conflicts = append(c.conflicts, ref.String())
	c.result.Lose(name, "%s", reason)
	return err
}

// noteID returns the id of the row of table source that says what a record was like
// when it was copied.
func noteID(ref recordRef) string { return transfer.ID("archive", ref.kind.name, ref.id).String() }

// count notes what a dry run would copy.
func (c *copier) count(ref recordRef) error {
	if ref.kind.name == "iteration" {
		num, err := c.src.numOf(ref.id)
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
		err = c.src.points().Walk(num, func(string, Step, Value, Time) error {
			c.result.Points++
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.src.eachArtifact(ref.kind, ref.id, func(a archivedArtifact) error {
		c.result.Artifacts++
		c.result.Bytes += a.Size
		return nil
	})
}

// write writes a record with its points and artifacts, but for its late parts.
func (c *copier) write(ctx context.Context, ref recordRef, fingerprint string, v verdict) error {
	rows := make([][][]any, len(ref.kind.parts))
	for i := range ref.kind.parts {
		p := &ref.kind.parts[i]
		if p.late {
			continue
		}
		var err error
		if rows[i], err = c.src.rowsOf(p, ref.id); err != nil {
			return err
		}
	}
	from, err := c.src.homeOf(ref)
	if err != nil {
		return err
	}
	var drop map[string]divergence
	if ref.kind.name == "iteration" && v == replaceRecord {
		if drop, err = c.different(ctx, ref.id); err != nil {
			return err
		}
	}
	dropped, err := write(ctx, c.dst, c.actor, func(tx *tx) (dropped int, err error) {
		if !c.fresh {
			if err := c.allowed(tx, ref, from, v); err != nil {
				return 0, err
			}
		}
		if dropped, err = tx.dropPoints(ref, drop); err != nil {
			return 0, err
		}
		for i := range ref.kind.parts {
			p := &ref.kind.parts[i]
			if p.late && v == insertRecord {
				continue
			}
			if p.clear != "" && v == replaceRecord {
				if _, err := tx.Exec(p.clear, ref.id); err != nil {
					return 0, err
				}
			}
			if err := tx.writeRows(p, ref.id, rows[i]); err != nil {
				return 0, err
			}
		}
		return dropped, firstError(c.note(tx, ref, fingerprint, copying), tx.noteCopied(ref))
	})
	if err != nil {
		return err
	}
	c.result.Dropped += dropped
	if ref.kind.name == "iteration" {
		for i, p := range ref.kind.parts {
			switch p.name {
			case "parameter":
				c.result.Parameters += len(rows[i])
			case "tag":
				c.result.Tags += len(rows[i])
			}
		}
		if err := c.points(ctx, ref.id, drop); err != nil {
			return err
		}
	}
	return c.artifacts(ctx, ref, v)
}

// allowed fails unless the actor may write the record now. A new project is the
// actor's.
func (c *copier) allowed(tx *tx, ref recordRef, from home, v verdict) error {
	now, err := tx.homeOf(ref)
	switch {
	case err == nil && v == insertRecord || err == nil && (now.deleted || now.parent != from.parent):
		return Errorf(CodeConflict, "Somebody else is writing the same records; try again.")
	case err == nil:
		return tx.allow(c.actor, now.projectID, rightUpdate)
	case AsError(err).Code != CodeNotFound:
		return err
	case v == replaceRecord:
		return err
	case ref.kind.name != "project":
		if err := tx.allowProject(c.actor, from.projectID, rightCreate); err != nil {
			return err
		}
		return c.allowContainer(tx, from)
	}
	return nil
}

// allowContainer fails unless what is to hold a record is there, in its project.
func (c *copier) allowContainer(tx *tx, from home) error {
	var one int
	err := tx.Row(`SELECT 1 FROM project WHERE id = ?1 AND id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM experiment WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL
		UNION ALL SELECT 1 FROM model WHERE id = ?1 AND project_id = ?2 AND deleted_date IS NULL`, from.parent, from.projectID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return Errorf(CodeConflict, "What holds the record %q is not there.", from.name)
	}
	return err
}

func (tx *tx) writeRows(p *recordPart, id string, rows [][]any) error {
	for _, row := range rows {
		if _, err := tx.Exec(p.write, append([]any{id}, row...)...); err != nil {
			return err
		}
	}
	return nil
}

// note records what a record was like when it was copied.
func (c *copier) note(tx *tx, ref recordRef, fingerprint, state string) error {
	if c.fresh {
		return nil
	}
	return tx.noteCopy(ref, fingerprint, state)
}

func (tx *tx) noteCopy(ref recordRef, fingerprint, state string) error {
	_, err := tx.Exec(`INSERT INTO source (id, iteration_num, path, size, fingerprint, position, state, updated_date)
		VALUES (?1, (SELECT num FROM iteration WHERE id = ?2), ?3, 0, ?4, 0, ?5, ?6)
		ON CONFLICT (id) DO UPDATE SET
			iteration_num = excluded.iteration_num,
			fingerprint   = excluded.fingerprint,
			state         = excluded.state,
			updated_date  = excluded.updated_date`,
		noteID(ref), ref.id, ref.kind.name, fingerprint, state, tx.now)
	return err
}

// noteCopied records the change for those who look at the run. A new project is
// its maker's.
func (tx *tx) noteCopied(ref recordRef) error {
	switch ref.kind.name {
	case "project":
		if tx.actor.system {
			return nil
		}
		there, err := tx.has(`SELECT 1 FROM user_permission WHERE user_id = ? AND project_id = ?`, tx.actor.UserID, ref.id)
		if err != nil || there {
			return err
		}
		if admin, err := tx.user(tx.actor); err != nil || admin.IsAdmin {
			return err
		}
		_, err = tx.insertPermission(Permission{UserID: tx.actor.UserID, ProjectID: ref.id, Create: true, Read: true, Update: true, Delete: true})
		return err
	case "iteration":
		num, err := tx.numOf(ref.id)
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
		part *recordPart
		rows [][]any
	}
	var all []lateRows
	for _, w := range written {
		for i := range w.kind.parts {
			p := &w.kind.parts[i]
			if !p.late {
				continue
			}
			rows, err := c.src.rowsOf(p, w.id)
			if err != nil {
				return err
			}
			all = append(all, lateRows{w, p, rows})
		}
	}
	return change(ctx, c.dst, c.actor, func(tx *tx) error {
		for _, l := range all {
			err := tx.writeRows(l.part, l.id, l.rows)
			if sqlite.IsDuplicate(err) {
				return Errorf(CodeConflict, "Two records have the same %s.", l.part.name)
			}
			if err != nil {
				return err
			}
		}
		for _, w := range written {
			if err := c.note(tx, w.recordRef, w.fingerprint, copied); err != nil {
				return err
			}
		}
		return nil
	})
}
