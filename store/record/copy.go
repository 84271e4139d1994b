package record

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
	"tracker/store/transfer"
)

// Target is the database to which records are copied. It checks the rights of the user who
// copies the records.
type Target interface {
	// Read runs fn in a read transaction. Write runs fn in a write transaction. Append is like
	// Write, for a function that only adds points.
	Read(ctx context.Context, fn func(TargetTx) error) error
	Write(ctx context.Context, fn func(TargetTx) error) error
	Append(ctx context.Context, fn func(TargetTx) error) error
	// Claim stores the bytes of an artifact and claims their blob. use must be called in the
	// transaction that inserts the artifact; it returns the id of the blob. release ends a claim
	// that was not used.
	Claim(ctx context.Context, hash string, size int64) (use func(Tx) (int64, error), release func(), err error)
	// Discard moves an artifact to the trash. If the artifact can't be moved, refused is the
	// reason; otherwise refused is "".
	Discard(ctx context.Context, id string) (refused string, err error)
}

// TargetTx is a transaction of a Target.
type TargetTx interface {
	Records() Tx
	Now() scalar.Time
	// AllowCreate returns an error if the user may not add records to the given project. If
	// projectID is "", it returns an error if the user may not create projects. AllowUpdate
	// returns an error if the user may not replace records of the given project. The project
	// can be in the trash.
	AllowCreate(projectID string) error
	AllowUpdate(projectID string) error
	// Copied is called after a record was written, in the same transaction.
	Copied(ref Ref) error
}

// ConflictError reports that records can't be written at present. Message is a sentence that also
// says what to do about it.
type ConflictError struct{ Message string }

func (e *ConflictError) Error() string { return e.Message }

var errRace = &ConflictError{"Another process is writing the same records; try again."}

// Copier copies records from a snapshot of one database to another database. It inserts new
// records. It replaces a record only if the record in the target has not changed since the last
// copy. The fingerprints of a record show whether the record has changed.
type Copier struct {
	From Tx
	To   Target
	// Fresh is set if To was empty. Every record is then new, and the Copier stores no
	// fingerprints.
	Fresh  bool
	DryRun bool
	// NoArtifacts omits artifacts from the copy.
	NoArtifacts bool
	// Base returns the fingerprint of a record at the time when the record was last equal in
	// From and To. It returns "" if the fingerprint is unknown. If Base is nil, the Copier uses
	// the note in To.
	Base func(ref Ref) string
	// Peer reports whether a record exists in the database from which From was exported. The
	// format of record is kind/id. Peer can be nil.
	Peer func(record string) bool
	// Bare returns the id of a blob row without bytes. It is set if From is a complete database
	// and To gets only a part of it. The Copier calls Bare for the artifacts in Needed whose
	// records have Context set.
	Bare   func(tx Tx, hash string, size int64) (int64, error)
	Needed map[string]bool // artifacts that copied records refer to, as resource/id
	Result *transfer.Result
	// State is called with the state of each record that is copied without Context. It is used
	// only if Fresh is set, and can be nil.
	State func(ref Ref, s State)
	// Progress is called after each record. It can be nil.
	Progress func()

	Conflicts []string        // records that were not copied, as kind/id
	copied    map[string]Ref  // all records to copy, by kind/id
	written   []writtenRecord // records whose late parts are not written yet

	read    buffer   // points that were read last
	sent    buffer   // points of the last background write
	sending *sending // last background write; nil after wait
}

type writtenRecord struct {
	Ref
	state State
}

// lateRecords is the maximum number of records whose late parts (Part.Late) are written in one
// transaction.
const lateRecords = 200

// Copy copies the given records. A container must come before the records in it.
func (c *Copier) Copy(ctx context.Context, refs []Ref) error {
	c.copied = map[string]Ref{}
	for _, ref := range refs {
		if !ref.Context {
			c.copied[ref.String()] = ref
		}
	}
	err := c.records(ctx, refs)
	if e := c.wait(); err == nil {
		err = e
	}
	if err != nil {
		return err
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

func (c *Copier) records(ctx context.Context, refs []Ref) error {
	for _, ref := range refs {
		if err := c.record(ctx, ref); err != nil {
			return err
		}
		if c.Progress != nil {
			c.Progress()
		}
	}
	return nil
}

func (c *Copier) record(ctx context.Context, ref Ref) error {
	if err := c.From.Check(ref.Kind.ID(), ref.ID); err != nil {
		return err
	}
	if ref.Context && ref.Kind == iterationKind {
		return c.stub(ctx, ref)
	}
	v, state, err := c.judge(ctx, ref)
	if err != nil {
		return err
	}
	if ref.Kind == iterationKind {
		c.Result.Found++
		switch v {
		case insert:
			c.Result.Created++
		case replace:
			c.Result.Grown++
		}
	}
	if v == keep {
		return nil
	}
	if c.DryRun {
		return c.count(ref)
	}
	if ref.Kind == iterationKind {
		if err := c.hold(ref.ID); err != nil {
			return err
		}
	}
	if err := c.wait(); err != nil {
		return err
	}
	err = c.write(ctx, ref, state, v)
	if sqlite.IsDuplicate(err) {
		return c.leaveOut(ref, "Another record already uses a name, number or id of this record; nothing was changed.")
	}
	if err == nil {
		c.written = append(c.written, writtenRecord{ref, state})
	}
	return err
}

// count adds a record to the result of a dry run, without copying the record.
func (c *Copier) count(ref Ref) error {
	if ref.Kind == iterationKind {
		num, err := c.From.Num(ref.ID)
		if err != nil {
			return err
		}
		var parameters, tags int
		err = c.From.Row(`SELECT
				(SELECT count(*) FROM parameter WHERE iteration_num = ?1),
				(SELECT count(*) FROM tag WHERE iteration_num = ?1)`, num).Scan(&parameters, &tags)
		if err != nil {
			return err
		}
		c.Result.Parameters += parameters
		c.Result.Tags += tags
		err = c.From.Walk(num, func(points.Copy) error {
			c.Result.Points++
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.From.eachArtifact(ref.Kind, ref.ID, func(a Artifact) error {
		c.Result.Artifacts++
		c.Result.Bytes += a.Size
		return nil
	})
}

// write writes a record with its points and artifacts. It does not write the late parts of a
// new record.
func (c *Copier) write(ctx context.Context, ref Ref, state State, v verdict) error {
	rows := make([][][]any, len(ref.Kind.Parts))
	for i := range ref.Kind.Parts {
		p := &ref.Kind.Parts[i]
		if p.Late {
			continue
		}
		var err error
		if rows[i], err = c.From.Rows(p, ref.ID); err != nil {
			return err
		}
	}
	from, err := c.From.Home(ref)
	if err != nil {
		return err
	}
	var drop map[string]divergence
	if ref.Kind == iterationKind && v == replace {
		if drop, err = c.differences(ctx, ref.ID); err != nil {
			return err
		}
	}
	dropped := 0
	err = c.change(ctx, func(tx TargetTx) (err error) {
		to := tx.Records()
		if !c.Fresh {
			if err := c.allowed(tx, ref, from, v); err != nil {
				return err
			}
		}
		if dropped, err = to.dropPoints(ref.ID, drop); err != nil {
			return err
		}
		for i := range ref.Kind.Parts {
			p := &ref.Kind.Parts[i]
			if p.Late && v == insert {
				continue
			}
			if v == replace {
				if err := c.clear(to, p, ref.ID); err != nil {
					return err
				}
			}
			if err := to.writeRows(p, ref.ID, rows[i]); err != nil {
				return err
			}
		}
		if err := c.note(tx, ref, Note{Fingerprint: state.Content, Unfinished: true}); err != nil {
			return err
		}
		return tx.Copied(ref)
	})
	if err != nil {
		return err
	}
	c.Result.Dropped += dropped
	if ref.Kind == iterationKind {
		for i, p := range ref.Kind.Parts {
			switch p.Name {
			case "parameter":
				c.Result.Parameters += len(rows[i])
			case "tag":
				c.Result.Tags += len(rows[i])
			}
		}
		if err := c.points(ctx, ref, drop); err != nil {
			return err
		}
	}
	return c.artifacts(ctx, ref, v)
}

// clear deletes the rows of one part of a record before the record is replaced. If the part has
// an Unlink statement, clear removes the reference only if From has the target of the reference.
// Without the target, From can't have the reference either.
func (c *Copier) clear(to Tx, p *Part, id string) error {
	statement := p.Clear
	if p.Unlink != "" {
		rows, err := to.Rows(p, id)
		if err != nil {
			return err
		}
		for _, reference := range p.references(rows) {
			has, err := c.fromHas(target(reference))
			if err != nil {
				return err
			}
			if has {
				statement = p.Unlink
			}
		}
	}
	if statement == "" {
		return nil
	}
	_, err := to.Exec(statement, id)
	return err
}

// stub writes the row of a run that other records need, and the rows of the run's needed
// artifacts. It does nothing if c.Fresh is not set, because incomplete runs are not added to an
// existing database.
func (c *Copier) stub(ctx context.Context, ref Ref) error {
	if !c.Fresh {
		return nil
	}
	row := &ref.Kind.Parts[0]
	rows, err := c.From.Rows(row, ref.ID)
	if err != nil {
		return err
	}
	err = c.change(ctx, func(tx TargetTx) error { return tx.Records().writeRows(row, ref.ID, rows) })
	if err != nil {
		return err
	}
	return c.bareArtifacts(ctx, ref)
}

// bareArtifacts writes the rows of the needed artifacts of a record. The artifacts have no
// bytes.
func (c *Copier) bareArtifacts(ctx context.Context, ref Ref) error {
	if c.Bare == nil || len(c.Needed) == 0 {
		return nil
	}
	return c.From.eachArtifact(ref.Kind, ref.ID, func(a Artifact) error {
		if !c.Needed["resource/"+a.ID] {
			return nil
		}
		return c.change(ctx, func(tx TargetTx) error {
			id, err := c.Bare(tx.Records(), a.Hash, a.Size)
			if err != nil {
				return err
			}
			return tx.Records().putArtifact(ref, a, id)
		})
	})
}

// differences returns, for each metric of a run, the first step that differs between To and
// From.
func (c *Copier) differences(ctx context.Context, id string) (all map[string]divergence, err error) {
	err = c.To.Read(ctx, func(tx TargetTx) (err error) {
		all, err = tx.Records().differences(c.From, id)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = errRace
	}
	return all, err
}

// note stores the note of a copied record.
func (c *Copier) note(tx TargetTx, ref Ref, n Note) error {
	if c.Fresh {
		return nil
	}
	return tx.Records().SetNote(ref, n, tx.Now())
}

// late writes the late parts of the given records. It also marks the copies of the records as
// finished.
func (c *Copier) late(ctx context.Context, written []writtenRecord) error {
	type lateRows struct {
		id   string
		part *Part
		rows [][]any
	}
	var all []lateRows
	for _, w := range written {
		for i := range w.Kind.Parts {
			p := &w.Kind.Parts[i]
			if !p.Late {
				continue
			}
			rows, err := c.From.Rows(p, w.ID)
			if err != nil {
				return err
			}
			all = append(all, lateRows{w.ID, p, rows})
		}
	}
	return c.change(ctx, func(tx TargetTx) error {
		for _, l := range all {
			err := tx.Records().writeRows(l.part, l.id, l.rows)
			if sqlite.IsDuplicate(err) {
				return &ConflictError{"Two records have the same " + l.part.Name + "; change one of them and try again."}
			}
			if err != nil {
				return err
			}
		}
		var failed error
		has := func(record string) bool {
			has, err := tx.Records().Has(record)
			failed = errors.Join(failed, err)
			return has
		}
		for _, w := range written {
			if err := c.note(tx, w.Ref, Note{Fingerprint: w.state.Noted(has)}); err != nil {
				return err
			}
		}
		return failed
	})
}
