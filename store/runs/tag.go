package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// TagKind is a kind of record that can have tags.
type TagKind string

// These are the kinds of records that can have tags.
const (
	ProjectTag    TagKind = "project"
	ExperimentTag TagKind = "experiment"
	IterationTag  TagKind = "iteration"
)

// Tag is a tag attached to a record.
type Tag struct {
	ID          string      `json:"id" db:"id"`
	Value       string      `json:"value" db:"value"`
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
}

// tagOwner identifies the record to which tags are attached. It holds the name and the value of a
// column in the tag table.
type tagOwner struct {
	column string
	key    any
}

// Tags returns a page of the tags of a record, sorted by value. The actor needs the right to
// read.
func (db *DB) Tags(ctx context.Context, actor domain.Actor, kind TagKind, id string, p domain.Page) (domain.List[Tag], error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (domain.List[Tag], error) {
		owner, err := allowTags(tx, actor, kind, id, domain.RightRead)
		if err != nil {
			return domain.List[Tag]{}, err
		}
		return domain.PageOf[Tag](tx, p, `id, value, created_date`,
			`FROM tag WHERE `+owner.column+` = ?`, `value`, owner.key)
	})
}

// CreateTag attaches a tag to a record. Created.Existing reports whether the record already had
// the tag. The actor needs the right to create.
func (db *DB) CreateTag(ctx context.Context, actor domain.Actor, kind TagKind, id, value string) (domain.Created, error) {
	if err := checkTag(value); err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		owner, err := allowTags(tx, actor, kind, id, domain.RightCreate)
		if err != nil {
			return domain.Created{}, err
		}
		tagID := domain.NewID()
		n, err := tx.Exec(`INSERT INTO tag (id, `+owner.column+`, value, created_date) VALUES (?, ?, ?, ?)
			ON CONFLICT (`+owner.column+`, value) DO NOTHING`, tagID, owner.key, value, tx.Now)
		if err != nil || n == 1 {
			return domain.Created{ID: tagID}, err
		}
		err = tx.Row(`SELECT id FROM tag WHERE `+owner.column+` = ? AND value = ?`, owner.key, value).Scan(&tagID)
		return domain.Created{ID: tagID, Existing: true}, err
	})
}

// DeleteTag removes a tag from a record. The actor needs the right to delete.
func (db *DB) DeleteTag(ctx context.Context, actor domain.Actor, kind TagKind, id, value string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		owner, err := allowTags(tx, actor, kind, id, domain.RightDelete)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM tag WHERE `+owner.column+` = ? AND value = ?`, owner.key, value)
		return domain.ChangedOne(n, err, "tag")
	})
}

// MaxTagged is the maximum number of iterations that one call of TagIterations can change.
const MaxTagged = 1000

// TagIterations attaches a tag to iterations or removes the tag from them. It returns the
// number of changed iterations. If it returns an error, it has changed none of the iterations.
// The actor needs the right to create for attaching, or the right to delete for removing.
func (db *DB) TagIterations(ctx context.Context, actor domain.Actor, ids []string, value string, attach bool) (int, error) {
	if err := checkTag(value); err != nil {
		return 0, err
	}
	if len(ids) == 0 || len(ids) > MaxTagged {
		return 0, domain.Invalid("iterations", "Choose 1 to %d runs.", MaxTagged)
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (changed int, err error) {
		for _, id := range ids {
			want := domain.RightDelete
			if attach {
				want = domain.RightCreate
			}
			it, err := tx.AllowIteration(actor, id, want)
			if err != nil {
				return 0, err
			}
			var n int64
			if attach {
				tagID := domain.NewID()
				n, err = tx.Exec(`INSERT INTO tag (id, iteration_num, value, created_date) VALUES (?, ?, ?, ?)
					ON CONFLICT (iteration_num, value) DO NOTHING`, tagID, it.Num, value, tx.Now)
				if err != nil {
					return 0, err
				}
			} else if n, err = tx.Exec(`DELETE FROM tag WHERE iteration_num = ? AND value = ?`, it.Num, value); err != nil {
				return 0, err
			}
			if n > 0 {
				changed++
			}
		}
		return changed, nil
	})
}

func allowTags(tx *domain.Tx, actor domain.Actor, kind TagKind, id string, want domain.Right) (tagOwner, error) {
	switch kind {
	case ProjectTag:
		return tagOwner{"project_id", id}, tx.AllowProject(actor, id, want)
	case ExperimentTag:
		_, err := tx.AllowExperiment(actor, id, want)
		return tagOwner{"experiment_id", id}, err
	case IterationTag:
		it, err := tx.AllowIteration(actor, id, want)
		return tagOwner{"iteration_num", it.Num}, err
	}
	return tagOwner{}, domain.Errorf(domain.CodeNotFound, "The kind must be project, experiment or iteration.")
}

// checkTag returns an error if the text of a tag is not valid.
func checkTag(value string) error {
	err := domain.CheckName("The tag", value)
	if e := domain.AsError(err); e != nil {
		e.Field = "value"
	}
	return err
}
