package store

import "context"

// TagKind is a kind of record that tags are attached to.
type TagKind string

// The kinds of record that carry tags.
const (
	ProjectTag    TagKind = "project"
	ExperimentTag TagKind = "experiment"
	IterationTag  TagKind = "iteration"
)

// Tag is a word attached to a record.
type Tag struct {
	ID          string `json:"id" db:"id"`
	Value       string `json:"value" db:"value"`
	CreatedDate Time   `json:"created_date" db:"created_date"`
}

// tagOwner is the record that tags are attached to: the column of table tag
// that names it, and the key in it.
type tagOwner struct {
	column    string
	key       any
	iteration *iterationRef // nil when it is another kind of record
}

// note adds a change of the tags of an iteration to the journal.
func (o tagOwner) note(tx *tx) {
	if o.iteration != nil {
		tx.noteIteration(*o.iteration)
	}
}

// Tags lists the tags of a record by value. Needs read.
func (db *DB) Tags(ctx context.Context, actor Actor, kind TagKind, id string, p Page) (List[Tag], error) {
	return read(ctx, db, func(tx *tx) (List[Tag], error) {
		owner, err := tx.allowTags(actor, kind, id, rightRead)
		if err != nil {
			return List[Tag]{}, err
		}
		return list[Tag](tx, p, `id, value, created_date`,
			`FROM tag WHERE `+owner.column+` = ?`, `value`, owner.key)
	})
}

// CreateTag attaches a tag. Created.Existing reports whether it was attached
// before. Needs create.
func (db *DB) CreateTag(ctx context.Context, actor Actor, kind TagKind, id, value string) (Created, error) {
	if err := checkName("value", value); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		owner, err := tx.allowTags(actor, kind, id, rightCreate)
		if err != nil {
			return Created{}, err
		}
		tagID, err := newID()
		if err != nil {
			return Created{}, err
		}
		n, err := tx.Exec(`INSERT INTO tag (id, `+owner.column+`, value, created_date) VALUES (?, ?, ?, ?)
			ON CONFLICT (`+owner.column+`, value) DO NOTHING`, tagID, owner.key, value, tx.now)
		if err != nil || n == 1 {
			owner.note(tx)
			return Created{ID: tagID}, err
		}
		err = tx.Row(`SELECT id FROM tag WHERE `+owner.column+` = ? AND value = ?`, owner.key, value).Scan(&tagID)
		return Created{ID: tagID, Existing: true}, err
	})
}

// DeleteTag removes a tag. Needs delete.
func (db *DB) DeleteTag(ctx context.Context, actor Actor, kind TagKind, id, value string) error {
	return remove(ctx, db, actor, func(tx *tx) error {
		owner, err := tx.allowTags(actor, kind, id, rightDelete)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM tag WHERE `+owner.column+` = ? AND value = ?`, owner.key, value)
		owner.note(tx)
		return changedOne(n, err, "tag on this "+string(kind))
	})
}

// MaxTagged is the largest number of iterations that TagIterations takes.
const MaxTagged = 1000

// TagIterations attaches a tag to iterations, or removes it, and returns how many
// were changed; with an error, none. Needs create to attach it and delete to remove
// it, on each.
func (db *DB) TagIterations(ctx context.Context, actor Actor, ids []string, value string, attach bool) (int, error) {
	if err := checkName("value", value); err != nil {
		return 0, err
	}
	if len(ids) == 0 || len(ids) > MaxTagged {
		return 0, Invalid("iterations", "Choose 1 to %d runs.", MaxTagged)
	}
	return write(ctx, db, actor, func(tx *tx) (changed int, err error) {
		for _, id := range ids {
			want := rightDelete
			if attach {
				want = rightCreate
			}
			it, err := tx.allowIteration(actor, id, want)
			if err != nil {
				return 0, err
			}
			var n int64
			if attach {
				tagID, err := newID()
				if err != nil {
					return 0, err
				}
				n, err = tx.Exec(`INSERT INTO tag (id, iteration_num, value, created_date) VALUES (?, ?, ?, ?)
					ON CONFLICT (iteration_num, value) DO NOTHING`, tagID, it.num, value, tx.now)
				if err != nil {
					return 0, err
				}
			} else if n, err = tx.Exec(`DELETE FROM tag WHERE iteration_num = ? AND value = ?`, it.num, value); err != nil {
				return 0, err
			}
			if n > 0 {
				changed++
				tx.noteIteration(it.iterationRef)
			}
		}
		return changed, nil
	})
}

func (tx *tx) allowTags(actor Actor, kind TagKind, id string, want right) (tagOwner, error) {
	switch kind {
	case ProjectTag:
		return tagOwner{column: "project_id", key: id}, tx.allowProject(actor, id, want)
	case ExperimentTag:
		_, err := tx.allowExperiment(actor, id, want)
		return tagOwner{column: "experiment_id", key: id}, err
	case IterationTag:
		it, err := tx.allowIteration(actor, id, want)
		return tagOwner{"iteration_num", it.num, &it.iterationRef}, err
	}
	return tagOwner{}, Errorf(CodeNotFound, "Only a project, an experiment or an iteration has tags.")
}
