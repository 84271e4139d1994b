package store

import (
	"context"

	"tracker/store/record"
	"tracker/store/sqlite"
	"tracker/store/transfer"
)

// copier copies records from a snapshot of one database to another database.
type copier struct {
	src   record.Tx
	dst   *DB
	actor Actor // in dst
	// fresh is set when dst was empty: every record is new, and no fingerprints are
	// noted.
	fresh  bool
	dryRun bool
	// noArtifacts leaves artifacts out.
	noArtifacts bool
	// base returns the fingerprint that a record had in dst when src was last the
	// same; "" when that is not known.
	base func(ref record.Ref) string
	// claim stores the bytes of an artifact. Its function use returns the id
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

// count counts what a dry run would copy.
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

// note records the fingerprint of a record that is copied.
func (c *copier) note(tx *tx, ref record.Ref, n record.Note) error {
	if c.fresh {
		return nil
	}
	return tx.records().SetNote(ref, n, tx.now)
}

// noteCopied adds a copied run to the journal, and gives the actor all rights in a copied
// project.
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

// late writes the late parts of records, and notes that their copying is finished.
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
				return Errorf(CodeConflict, "Two records have the same %s; change one of them and try again.", l.part.Name)
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
