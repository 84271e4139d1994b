package registry

import (
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/scalar"
)

// LoggedModelMetric is a metric point that an iteration recorded for a logged model.
type LoggedModelMetric struct {
	ModelID       string       `db:"model_id"`
	IterationID   string       `db:"iteration_id"`
	Key           string       `db:"key"`
	Value         scalar.Value `db:"value"`
	Step          scalar.Step  `db:"step"`
	RecordedAt    scalar.Time  `db:"recorded_at"`
	DatasetName   string       `db:"dataset_name"`
	DatasetDigest string       `db:"dataset_digest"`
	Place         int64        `db:"place"` // rank among the points of the model; the first point is 1
}

// CheckModelMetrics returns an error if a metric key or a dataset name is invalid.
func CheckModelMetrics(all []LoggedModelMetric) error {
	for _, p := range all {
		err := domain.FirstError(domain.CheckKey(p.Key), domain.CheckText("dataset_name", p.DatasetName), domain.CheckText("dataset_digest", p.DatasetDigest))
		if err != nil {
			return err
		}
	}
	return nil
}

// AddModelMetrics adds points of an iteration to logged models. It ignores points that exist
// already.
func AddModelMetrics(tx *domain.Tx, it domain.IterationState, all []LoggedModelMetric) error {
	for _, p := range all {
		num, err := loggedModelOf(tx, it.ProjectID, p.ModelID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO logged_model_metric
			(logged_model_num, key, recorded_at, step, iteration_num, dataset_name, dataset_digest, value)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`,
			num, p.Key, p.RecordedAt, p.Step, it.Num, p.DatasetName, p.DatasetDigest, p.Value)
		if err != nil {
			return err
		}
	}
	return nil
}

// loggedModelMetrics returns the points of each logged model in list, by model id. list is a
// JSON list of model ids. The points are sorted by key, time and step. The result contains at
// most MaxLoggedModelPoints points for each model.
func (v *View) loggedModelMetrics(list string) (map[string][]LoggedModelMetric, error) {
	var rows []LoggedModelMetric
	err := v.tx.Select(&rows, `SELECT * FROM (
		SELECT
			logged_model.id AS model_id,
			iteration.id AS iteration_id,
			m.key,
			m.value,
			m.step,
			m.recorded_at,
			m.dataset_name,
			m.dataset_digest,
			row_number() OVER (PARTITION BY m.logged_model_num ORDER BY m.key, m.recorded_at, m.step) AS place
		FROM logged_model
		JOIN logged_model_metric AS m ON m.logged_model_num = logged_model.num
		JOIN iteration ON iteration.num = m.iteration_num
		WHERE logged_model.id IN (SELECT value FROM json_each(?)))
		WHERE place <= ?
		ORDER BY model_id, place`, list, MaxLoggedModelPoints)
	all := map[string][]LoggedModelMetric{}
	for _, r := range rows {
		all[r.ModelID] = append(all[r.ModelID], r)
	}
	return all, err
}

// MaxLoggedModelPoints is the maximum number of points returned for each logged model.
const MaxLoggedModelPoints = 10_000

// allowLoggedModels returns the given ids that exist, as a JSON list. It returns an error if
// the actor may not read one of the logged models.
func (v *View) allowLoggedModels(ids []string) (string, error) {
	if len(ids) > domain.MaxLimit {
		return "", domain.Invalid("ids", "At most %d logged models can be requested at once.", domain.MaxLimit)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return "", err
	}
	var all []struct {
		ID        string `db:"id"`
		ProjectID string `db:"project_id"`
	}
	err = v.tx.Select(&all, `SELECT logged_model.id, experiment.project_id
		FROM logged_model
		JOIN experiment ON experiment.id = logged_model.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE logged_model.id IN (SELECT value FROM json_each(?)) AND `+v.tx.Found("experiment", "project"), string(list))
	if err != nil {
		return "", err
	}
	existing := make([]string, len(all))
	for i, m := range all {
		if err := v.tx.Allow(v.tx.Actor, m.ProjectID, domain.RightRead); err != nil {
			return "", err
		}
		existing[i] = m.ID
	}
	list, err = json.Marshal(existing)
	return string(list), err
}
