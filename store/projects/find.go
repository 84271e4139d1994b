package projects

import (
	"context"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/search"
)

// Found describes a record that Find found.
type Found struct {
	Kind string `json:"kind" db:"kind"` // project, experiment, model, collection or iteration; note or tag from FindTexts
	ID   string `json:"id" db:"id"`     // for a collection, the id of its newest version
	Name string `json:"name" db:"name"`
	In   string `json:"in" db:"within"` // name of the containing record; "" for a project
}

// FoundText is a note or a tag that FindTexts found.
type FoundText struct {
	Found
	// Text is a part of the note around the first word. It is "" for a tag.
	Text string `json:"text" db:"text"`
}

const (
	// maxFindTexts is the number of newest iterations whose notes and tags are searched.
	maxFindTexts = 20_000
	// snippetRunes is the maximum number of characters of FoundText.Text.
	snippetRunes = 80
)

// FindTexts returns notes and tags of the newest iterations that actor may read. They contain all
// words of text, in any order and case. It returns up to limit notes and up to limit tags, newest
// first. The ID of a note is the iteration's, and its Name the iteration's name. The ID of a tag is
// the experiment's, and its Name the tag. It returns nothing for a text without words.
func (db *DB) FindTexts(ctx context.Context, actor domain.Actor, text string, limit int) ([]FoundText, error) {
	if err := domain.CheckShort("q", text); err != nil {
		return nil, err
	}
	words := strings.Fields(text)
	if words = words[:min(len(words), maxFindWords)]; len(words) == 0 {
		return []FoundText{}, nil
	}
	contains := func(column string) (sql string, args []any) {
		var all []string
		for _, w := range words {
			all, args = append(all, search.Contains(column)), append(args, w)
		}
		return strings.Join(all, ` AND `), args
	}
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]FoundText, error) {
		readable, may, err := tx.Having(actor, domain.RightRead, `project.id`)
		if err != nil {
			return nil, err
		}
		found := []FoundText{}
		read := func(query, column string) error {
			where, args := contains(column)
			var some []FoundText
			err := tx.Select(&some, `
				WITH newest AS MATERIALIZED (
					SELECT iteration.num, iteration.experiment_id, experiment.name AS experiment
					FROM iteration
					JOIN experiment ON experiment.id = iteration.experiment_id AND experiment.deleted_date IS NULL
					JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
					WHERE iteration.deleted_date IS NULL
					AND `+readable+`
					ORDER BY iteration.num DESC LIMIT ?)
				`+strings.Replace(query, `MATCHES`, where, 1)+` LIMIT ?`,
				append(append(append(slices.Clone(may), maxFindTexts), args...), max(0, min(limit, domain.MaxLimit)))...)
			found = append(found, some...)
			return err
		}
		return domain.WithinLimit(tx, domain.SlowRead(tx, "q"), func() ([]FoundText, error) {
			err := read(`SELECT 'tag' AS kind, newest.experiment_id AS id, tag.value AS name, newest.experiment AS within, '' AS text
				FROM newest JOIN tag ON tag.iteration_num = newest.num
				WHERE MATCHES GROUP BY tag.value, newest.experiment_id ORDER BY max(newest.num) DESC`, `tag.value`)
			if err != nil {
				return nil, err
			}
			err = read(`SELECT 'note' AS kind, iteration.id, iteration.name, newest.experiment AS within, iteration.notes AS text
				FROM newest CROSS JOIN iteration ON iteration.num = newest.num
				WHERE iteration.notes <> '' AND MATCHES ORDER BY newest.num DESC`, `iteration.notes`)
			for i := range found {
				found[i].Text = snippet(found[i].Text, words[0])
			}
			return found, err
		})
	})
}

// snippet returns the part of text around the first occurrence of word, on one line.
func snippet(text, word string) string {
	all := []rune(strings.Join(strings.Fields(text), " "))
	if len(all) <= snippetRunes {
		return string(all)
	}
	at := 0
	if lower := strings.ToLower(string(all)); strings.Contains(lower, strings.ToLower(word)) {
		at = len([]rune(lower[:strings.Index(lower, strings.ToLower(word))]))
	}
	from := max(0, min(at-snippetRunes/4, len(all)-snippetRunes))
	out := string(all[from : from+snippetRunes])
	if from > 0 {
		out = "…" + out
	}
	if from+snippetRunes < len(all) {
		out += "…"
	}
	return out
}

// maxFindWords is the maximum number of search words. Find ignores further words.
const maxFindWords = 10

// Find returns up to limit records that actor may read and whose names contain all words of text,
// in any order and ignoring case. At least one word must be in the record's own name; the others
// can be in the name of the containing record. A single word also finds the iteration with this id,
// or with this id in a W&B client. A text with a colon, such as "weights:v3" or "weights:best",
// finds versions of artifacts instead of collections. Find returns projects first, then experiments,
// models, collections or versions, and iterations. The version with exactly this name comes before
// other versions. Records of one kind are sorted newest first.
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
	identified := func() string {
		if len(words) != 1 {
			return `FALSE`
		}
		args = append(args, words[0], words[0])
		return `(iteration.id = ? OR iteration.num IN (SELECT iteration_num FROM wandb_run WHERE name = ?))`
	}
	const versionsFrom = ` FROM artifact_version
				JOIN iteration ON iteration.num = artifact_version.iteration_num AND iteration.deleted_date IS NULL
				JOIN experiment ON experiment.id = artifact_version.experiment_id AND experiment.deleted_date IS NULL
				JOIN readable ON readable.id = experiment.project_id
				WHERE artifact_version.state = 'COMMITTED' AND `
	versions := func() string {
		if !strings.Contains(text, ":") {
			// A bare column of a query with max() has the value of the row with the maximum.
			return `SELECT 4, 'collection', id, name, within, created_date FROM (
				SELECT
					artifact_version.id,
					artifact_version.collection AS name,
					experiment.name AS within,
					artifact_version.created_date,
					max(artifact_version.version)` +
				versionsFrom + named(`artifact_version.collection`, `experiment.name`) + `
				GROUP BY artifact_version.experiment_id, artifact_version.collection)`
		}
		args = append(args, strings.TrimSpace(text))
		const name = `artifact_version.collection || ':v' || artifact_version.version`
		return `SELECT iif(` + name + ` = ? COLLATE NOCASE, 3, 4), 'collection', artifact_version.id, ` + name + `, experiment.name,
				artifact_version.created_date` + versionsFrom + `(` + named(name, `experiment.name`) + ` OR EXISTS (
					SELECT 1 FROM artifact_alias WHERE artifact_alias.artifact_num = artifact_version.num AND ` +
			named(`artifact_version.collection || ':' || artifact_alias.alias`, `experiment.name`) + `))`
	}
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Found, error) {
		readable, may, err := tx.Having(actor, domain.RightRead, `id`)
		if err != nil {
			return nil, err
		}
		args = append(args, may...)
		query := `
			WITH readable AS (
				SELECT id, name, created_date FROM project
				WHERE deleted_date IS NULL
				AND ` + readable + `)
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
				` + versions() + `
				UNION ALL
				SELECT
					5,
					'iteration',
					iteration.id,
					iteration.name,
					experiment.name,
					iteration.created_date
				FROM iteration
				JOIN experiment ON experiment.id = iteration.experiment_id AND experiment.deleted_date IS NULL
				JOIN readable ON readable.id = experiment.project_id
				WHERE iteration.deleted_date IS NULL AND (` + named(`iteration.name`, `experiment.name`) + ` OR ` + identified() + `))
			ORDER BY rank, created_date DESC, id DESC LIMIT ?`
		found := []Found{}
		err = tx.Select(&found, query, append(args, max(0, min(limit, domain.MaxLimit)))...)
		return found, err
	})
}
