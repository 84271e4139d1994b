package projects

import (
	"context"
	"strings"

	"tracker/store/domain"
	"tracker/store/search"
)

// Found describes a record that Find found.
type Found struct {
	Kind string `json:"kind" db:"kind"` // project, experiment, model or iteration
	ID   string `json:"id" db:"id"`
	Name string `json:"name" db:"name"`
	In   string `json:"in" db:"within"` // name of the containing record; "" for a project
}

// maxFindWords is the maximum number of search words. Find ignores further words.
const maxFindWords = 10

// Find returns up to limit records that actor may read and whose names contain all words of text,
// in any order and ignoring case. At least one word must be in the record's own name; the others
// can be in the name of the containing record. Find returns projects first, then experiments,
// models and iterations. Records of one kind are sorted newest first.
func (db *DB) Find(ctx context.Context, actor domain.Actor, text string, limit int) ([]Found, error) {
	if err := domain.CheckShort("q", text); err != nil {
		return nil, err
	}
	words := strings.Fields(text)
	words = words[:min(len(words), maxFindWords)]
	var args []any
	named := func(name, within string) string {
		if len(words) == 0 {
			return `TRUE`
		}
		var one, all []string
		for _, w := range words {
			one, args = append(one, search.Contains(name)), append(args, w)
		}
		for _, w := range words {
			all, args = append(all, `(`+search.Contains(name)+` OR `+search.Contains(within)+`)`), append(args, w, w)
		}
		return `(` + strings.Join(one, ` OR `) + `) AND ` + strings.Join(all, ` AND `)
	}
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Found, error) {
		u, err := tx.User(actor)
		if err != nil {
			return nil, err
		}
		args = append(args, u.IsAdmin, u.ID)
		query := `
			WITH readable AS (
				SELECT id, name, created_date FROM project
				WHERE deleted_date IS NULL
				AND (? OR id IN (SELECT project_id FROM user_permission WHERE user_id = ? AND read_permission)))
			SELECT kind, id, name, within FROM (
				SELECT
					0 AS rank,
					'project' AS kind,
					id,
					name,
					'' AS within,
					created_date
				FROM readable WHERE ` + named(`name`, `''`) + `
				UNION ALL
				SELECT
					1,
					'experiment',
					experiment.id,
					experiment.name,
					readable.name,
					experiment.created_date
				FROM experiment JOIN readable ON readable.id = experiment.project_id
				WHERE experiment.deleted_date IS NULL AND ` + named(`experiment.name`, `readable.name`) + `
				UNION ALL
				SELECT
					2,
					'model',
					model.id,
					model.name,
					readable.name,
					model.created_date
				FROM model JOIN readable ON readable.id = model.project_id
				WHERE model.deleted_date IS NULL AND ` + named(`model.name`, `readable.name`) + `
				UNION ALL
				SELECT
					3,
					'iteration',
					iteration.id,
					iteration.name,
					experiment.name,
					iteration.created_date
				FROM iteration
				JOIN experiment ON experiment.id = iteration.experiment_id AND experiment.deleted_date IS NULL
				JOIN readable ON readable.id = experiment.project_id
				WHERE iteration.deleted_date IS NULL AND ` + named(`iteration.name`, `experiment.name`) + `)
			ORDER BY rank, created_date DESC, id DESC LIMIT ?`
		found := []Found{}
		err = tx.Select(&found, query, append(args, max(0, min(limit, domain.MaxLimit)))...)
		return found, err
	})
}
