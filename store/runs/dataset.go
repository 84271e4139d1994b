package runs

import (
	"database/sql"
	"errors"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/sqlite"
)

// DatasetUse describes a dataset that a run has read.
type DatasetUse struct {
	Name       string            `json:"name"`
	Digest     string            `json:"digest"` // hash of the data; name and digest identify a dataset in an experiment
	SourceType string            `json:"source_type"`
	Source     string            `json:"source"`
	Schema     string            `json:"schema"`
	Profile    string            `json:"profile"`
	Context    *string           `json:"context"` // purpose of the dataset, such as training; nil if unknown
	Tags       []domain.Property `json:"tags"`
}

const (
	// MaxDatasets is the maximum number of datasets that one call can add.
	MaxDatasets = 1000
	// MaxProfile is the maximum size of a dataset's profile in bytes.
	MaxProfile = 16 << 20
)

// CheckDatasets returns an error if there are too many datasets or a field is not valid.
func CheckDatasets(all []DatasetUse) error {
	if len(all) > MaxDatasets {
		return domain.Invalid("datasets", "At most %d datasets can be added at once.", MaxDatasets)
	}
	for _, d := range all {
		if d.Name == "" || d.Digest == "" {
			return domain.Invalid("dataset", "A dataset must have a name and a digest.")
		}
		if len(d.Profile) > MaxProfile {
			return domain.Invalid("profile", "The profile of a dataset must have at most %d bytes, not %d.", MaxProfile, len(d.Profile))
		}
		err := domain.FirstError(
			domain.CheckText("name", d.Name),
			domain.CheckText("digest", d.Digest),
			domain.CheckText("source_type", d.SourceType),
			domain.CheckText("source", d.Source),
			domain.CheckText("schema", d.Schema),
			domain.CheckProperties(d.Tags))
		if err != nil {
			return err
		}
	}
	return nil
}

// AddDatasets records that an iteration has read the given datasets. It changes neither an
// existing dataset nor an existing record that the iteration has read a dataset.
func AddDatasets(tx *domain.Tx, it domain.IterationRef, all []DatasetUse) error {
	for _, d := range all {
		var id int64
		err := tx.Row(`SELECT id FROM dataset WHERE experiment_id = ? AND name = ? AND digest = ?`,
			it.ExperimentID, d.Name, d.Digest).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			err = tx.Row(`INSERT INTO dataset (experiment_id, name, digest, source_type, source, schema, profile)
				VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
				it.ExperimentID, d.Name, d.Digest, d.SourceType, d.Source, d.Schema, d.Profile).Scan(&id)
		}
		if err != nil {
			return err
		}
		tags, err := json.Marshal(d.Tags)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO iteration_dataset (iteration_num, dataset_id, context, tags) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, it.Num, id, d.Context, string(tags))
		if err != nil {
			return err
		}
	}
	return nil
}

// datasetsOf calls fn for each dataset that one of the given iterations has read. The
// calls are sorted by iteration, then by the creation of the datasets.
func datasetsOf(tx *domain.Tx, nums []int64, fn func(num int64, d DatasetUse)) error {
	rows, err := tx.Rows(`SELECT
			iteration_dataset.iteration_num,
			dataset.name,
			dataset.digest,
			dataset.source_type,
			dataset.source,
			dataset.schema,
			dataset.profile,
			iteration_dataset.context,
			iteration_dataset.tags
		FROM iteration_dataset
		JOIN dataset ON dataset.id = iteration_dataset.dataset_id
		WHERE iteration_dataset.iteration_num IN (SELECT value FROM json_each(?))
		ORDER BY iteration_dataset.iteration_num, dataset.id`, sqlite.JSON(nums))
	return sqlite.Each(rows, err, func() error {
		var num int64
		var d DatasetUse
		var tags string
		err := rows.Scan(&num, &d.Name, &d.Digest, &d.SourceType, &d.Source, &d.Schema, &d.Profile, &d.Context, &tags)
		if err == nil {
			err = json.Unmarshal([]byte(tags), &d.Tags)
		}
		if err != nil {
			return err
		}
		fn(num, d)
		return nil
	})
}

// DatasetName identifies a dataset that a run has read. It omits the long fields of DatasetUse.
type DatasetName struct {
	Name       string  `db:"name"`
	Digest     string  `db:"digest"`
	SourceType string  `db:"source_type"`
	Context    *string `db:"context"` // purpose of the dataset; nil if unknown
}

// Datasets returns a page of the datasets that an iteration has read, oldest first. The actor
// needs the right to read.
func (v *View) Datasets(iterationID string, p domain.Page) (domain.List[DatasetName], error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return domain.List[DatasetName]{}, err
	}
	return domain.PageOf[DatasetName](v.tx, p, `dataset.name, dataset.digest, dataset.source_type, iteration_dataset.context`,
		`FROM iteration_dataset JOIN dataset ON dataset.id = iteration_dataset.dataset_id
		WHERE iteration_dataset.iteration_num = ?`, `dataset.id`, it.Num)
}
