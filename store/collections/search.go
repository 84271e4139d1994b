package collections

import (
	"context"
	"strings"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/search"
)

// Search selects committed versions. One of ProjectID, ExperimentID and IterationID must be set.
// The other fields are conditions; "" or nil matches all versions.
type Search struct {
	domain.Page
	ProjectID    string
	ExperimentID string
	IterationID  string // iteration that logged the versions
	UsedBy       bool   // IterationID is the iteration that uses the versions
	Type         string
	Name         string // name of the collection
	Alias        string // alias, or a number such as v3
	Tag          string
	Metadata     []Pair // all of these conditions must match
}

// Pair is a condition on the metadata: the member with the name Key must have the given value. A
// value that is not text matches if it has the same JSON.
type Pair struct{ Key, Value string }

// maxPairs is the maximum number of conditions on the metadata.
const maxPairs = 10

// ParsePair returns the condition of a text such as "rows=100".
func ParsePair(text string) (Pair, error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return Pair{}, domain.Invalid("metadata", "metadata must be like key=value, not %s.", scalar.Quote(text))
	}
	return Pair{key, value}, nil
}

// Search returns a page of versions, newest first. The actor needs the right to read.
func (v *View) Search(q Search) (domain.List[Version], error) {
	from, err := v.from(q)
	if err != nil {
		return domain.List[Version]{}, err
	}
	return domain.PageOf[Version](v.tx, q.Page, versionColumns, from.String(), `artifact_version.num DESC`, from.Args...)
}

// from returns the FROM clause of the versions that q selects.
func (v *View) from(q Search) (where search.SQL, err error) {
	where.Add(versionFrom + `WHERE artifact_version.state = 'COMMITTED'`)
	if err := v.scope(&where, q); err != nil {
		return where, err
	}
	if q.Type != "" {
		where.Add(` AND artifact_version.type = ?`, q.Type)
	}
	if q.Name != "" {
		where.Add(` AND artifact_version.collection = ?`, q.Name)
	}
	if n, ok := versionNumber(q.Alias); ok {
		where.Add(` AND artifact_version.version = ?`, n)
	} else if q.Alias != "" {
		where.Add(` AND EXISTS (SELECT 1 FROM artifact_alias WHERE artifact_num = artifact_version.num AND alias = ?)`, q.Alias)
	}
	if q.Tag != "" {
		where.Add(` AND EXISTS (SELECT 1 FROM artifact_tag WHERE artifact_num = artifact_version.num AND tag = ?)`, q.Tag)
	}
	if len(q.Metadata) > maxPairs {
		return where, domain.Invalid("metadata", "At most %d conditions on the metadata can be given.", maxPairs)
	}
	for _, p := range q.Metadata {
		where.Add(` AND EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(artifact_version.metadata) THEN artifact_version.metadata ELSE '{}' END) AS member
			WHERE member.key = ? AND CASE member.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'
				ELSE CAST(member.value AS TEXT) END = ?)`, p.Key, p.Value)
	}
	return where, nil
}

// scope adds the condition on the project, experiment or iteration to where.
func (v *View) scope(where *search.SQL, q Search) error {
	switch {
	case q.IterationID != "":
		it, err := v.tx.AllowIteration(v.tx.Actor, q.IterationID, domain.RightRead)
		if err != nil {
			return err
		}
		if q.UsedBy {
			where.Add(` AND artifact_version.num IN (SELECT artifact_num FROM artifact_use WHERE iteration_num = ?)`, it.Num)
			return readable(v.tx, v.tx.Actor, where, `project.id`)
		}
		where.Add(` AND artifact_version.iteration_num = ?`, it.Num)
	case q.ExperimentID != "":
		if _, err := v.tx.AllowExperiment(v.tx.Actor, q.ExperimentID, domain.RightRead); err != nil {
			return err
		}
		where.Add(` AND artifact_version.experiment_id = ?`, q.ExperimentID)
	default:
		if err := v.tx.AllowProject(v.tx.Actor, q.ProjectID, domain.RightRead); err != nil {
			return err
		}
		where.Add(` AND experiment.project_id = ?`, q.ProjectID)
	}
	return nil
}

// readable adds a condition that selects the projects that the actor can read. column is the column
// with the project's id.
func readable(tx *domain.Tx, actor domain.Actor, where *search.SQL, column string) error {
	condition, args, err := tx.Having(actor, domain.RightRead, column)
	if err == nil {
		where.Add(` AND `+condition, args...)
	}
	return err
}

// Search calls View.Search on a new snapshot.
func (db *DB) Search(ctx context.Context, actor domain.Actor, q Search) (domain.List[Version], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Version], error) { return v.Search(q) })
}

// Named returns the committed version of a project with a name such as "model:v3", "model:best" or
// "model", which means "model:latest". If the same name exists in several experiments, Named
// returns the newest version. If experimentID is not "", Named searches only this experiment. The
// actor needs the right to read.
func (v *View) Named(projectID, experimentID, name string) (Version, error) {
	collection, alias, ok := strings.Cut(name, ":")
	if !ok {
		alias = Latest
	}
	if collection == "" || alias == "" {
		return Version{}, domain.Invalid("name", "The name of a version must be like model:v3 or model:latest, not %s.", scalar.Quote(name))
	}
	l, err := v.Search(Search{ProjectID: projectID, ExperimentID: experimentID, Name: collection, Alias: alias, Page: domain.Page{Limit: 1}})
	if err != nil {
		return Version{}, err
	}
	if len(l.Data) == 0 {
		return Version{}, domain.Errorf(domain.CodeNotFound, "There is no artifact %s.", scalar.Quote(collection+":"+alias))
	}
	return l.Data[0], nil
}

// Named calls View.Named on a new snapshot.
func (db *DB) Named(ctx context.Context, actor domain.Actor, projectID, experimentID, name string) (Version, error) {
	return view(ctx, db, actor, func(v *View) (Version, error) { return v.Named(projectID, experimentID, name) })
}

// Committed returns the committed version with the given id. It returns NOT_FOUND for a version
// that is pending or was deleted. The actor needs the right to read.
func (v *View) Committed(id string) (Version, error) {
	a, err := allowVersion(v.tx, v.tx.Actor, id, domain.RightRead)
	if err == nil && a.State != Committed {
		err = domain.NotFound(entity)
	}
	return a, err
}

// Committed calls View.Committed on a new snapshot.
func (db *DB) Committed(ctx context.Context, actor domain.Actor, id string) (Version, error) {
	return view(ctx, db, actor, func(v *View) (Version, error) { return v.Committed(id) })
}

// Before returns the committed version of the same collection with the next smaller number. ok is
// false if there is none. The actor needs the right to read.
func (v *View) Before(a Version) (before Version, ok bool, err error) {
	l, err := domain.PageOf[Version](v.tx, domain.Page{Limit: 1}, versionColumns,
		versionFrom+`WHERE artifact_version.experiment_id = ? AND artifact_version.collection = ? AND artifact_version.version < ?
			AND artifact_version.state = 'COMMITTED'`, `artifact_version.version DESC`, a.ExperimentID, a.Collection, a.Version)
	if err == nil {
		err = v.tx.AllowProject(v.tx.Actor, a.ProjectID, domain.RightRead)
	}
	if err != nil || len(l.Data) == 0 {
		return before, false, err
	}
	return l.Data[0], true, nil
}

// Users returns the iterations that use an artifact version, at most MaxLimit. It omits iterations
// that the actor can't read. The actor needs the right to read.
func (v *View) Users(id string) (users []RunRef, err error) {
	a, err := allowVersion(v.tx, v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return nil, err
	}
	var where search.SQL
	where.Add(`SELECT iteration.id, iteration.name, iteration.num, iteration.experiment_id FROM artifact_use
		JOIN iteration ON iteration.num = artifact_use.iteration_num AND iteration.deleted_date IS NULL
		JOIN experiment ON experiment.id = iteration.experiment_id AND experiment.deleted_date IS NULL
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE artifact_use.artifact_num = ?`, a.Num)
	if err := readable(v.tx, v.tx.Actor, &where, `project.id`); err != nil {
		return nil, err
	}
	where.Add(` ORDER BY iteration.num LIMIT ?`, domain.MaxLimit)
	err = v.tx.Select(&users, where.String(), where.Args...)
	return users, err
}

// RunRef identifies an iteration by id, name and number.
type RunRef struct {
	ID           string `db:"id"`
	Name         string `db:"name"`
	Num          int64  `db:"num"`
	ExperimentID string `db:"experiment_id"`
}
