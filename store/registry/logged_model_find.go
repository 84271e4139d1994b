package registry

import (
	"strconv"

	"tracker/store/domain"
	"tracker/store/sqlite"
)

// LoggedModelQuery holds the search conditions of FindLoggedModels.
type LoggedModelQuery struct {
	Properties []PropertyMatch
	// MetricKeys lists the keys of metrics. FindLoggedModels passes the points of these metrics
	// to Metric before it calls Match. If AllMetrics is set, FindLoggedModels passes the points
	// of all metrics.
	MetricKeys []string
	AllMetrics bool
	Metric     func(LoggedModelMetric)
	Match      func(LoggedModel) bool
}

// FindLoggedModels returns the logged models of the given experiments that match q, oldest
// first. The models have no parameters. The actor needs the right to read every experiment that
// exists.
func (v *View) FindLoggedModels(experimentIDs []string, q LoggedModelQuery) ([]LoggedModel, error) {
	if len(experimentIDs) > domain.MaxSearched {
		return nil, domain.Invalid("experiment_ids", "At most %d experiments can be searched at once.", domain.MaxSearched)
	}
	experimentIDs, _, err := v.tx.AllowExperiments(v.tx.Actor, experimentIDs, domain.RightRead, false)
	if err != nil {
		return nil, err
	}
	return domain.ListLimited(v.tx, func() ([]LoggedModel, error) { return v.findLoggedModels(experimentIDs, q) })
}

// findLoggedModels returns the logged models that match the query q.
func (v *View) findLoggedModels(experimentIDs []string, q LoggedModelQuery) ([]LoggedModel, error) {
	in := sqlite.JSON(experimentIDs)
	if q.AllMetrics || len(q.MetricKeys) > 0 {
		if err := v.eachLoggedModelMetric(in, q); err != nil {
			return nil, err
		}
	}
	passes, err := v.withProperties("logged_model_num",
		`SELECT num FROM logged_model WHERE experiment_id IN (SELECT value FROM json_each(?))`, in, q.Properties)
	if err != nil {
		return nil, err
	}
	var all []LoggedModel
	rows, err := v.tx.Rows(`SELECT `+loggedModelColumns+`, logged_model.num `+loggedModelFrom+`
		WHERE logged_model.experiment_id IN (SELECT value FROM json_each(?))
		ORDER BY logged_model.num`, in)
	err = sqlite.Each(rows, err, func() error {
		var m struct {
			LoggedModel
			Num int64 `db:"num"`
		}
		if err := rows.StructScan(&m); err != nil {
			return err
		}
		if q.Match(m.LoggedModel) && passes(strconv.FormatInt(m.Num, 10)) {
			m.Params = nil
			all = append(all, m.LoggedModel)
		}
		return nil
	})
	return all, err
}

func (v *View) eachLoggedModelMetric(experiments any, q LoggedModelQuery) error {
	rows, err := v.tx.Rows(`SELECT
			logged_model.id AS model_id,
			iteration.id AS iteration_id,
			m.key,
			m.value,
			m.step,
			m.recorded_at,
			m.dataset_name,
			m.dataset_digest
		FROM logged_model
		JOIN logged_model_metric AS m ON m.logged_model_num = logged_model.num
		JOIN iteration ON iteration.num = m.iteration_num
		WHERE logged_model.experiment_id IN (SELECT value FROM json_each(?))
		AND (? OR m.key IN (SELECT value FROM json_each(?)))`, experiments, q.AllMetrics, sqlite.JSON(q.MetricKeys))
	return sqlite.Each(rows, err, func() error {
		var m LoggedModelMetric
		if err := rows.StructScan(&m); err != nil {
			return err
		}
		q.Metric(m)
		return nil
	})
}

// DescribedModel is a logged model with its properties and metric points.
type DescribedModel struct {
	LoggedModel
	Properties []domain.Property
	Metrics    []LoggedModelMetric
}

// LoggedModels returns the logged models with the given ids, in the order of ids. It omits ids
// that do not exist. At most MaxLimit ids are allowed. The actor needs the right to read.
func (v *View) LoggedModels(ids []string) ([]DescribedModel, error) {
	list, err := v.allowLoggedModels(ids)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		LoggedModel
		Num int64 `db:"num"`
	}
	err = v.tx.Select(&rows, `SELECT `+loggedModelColumns+`, logged_model.num `+loggedModelFrom+`
		WHERE logged_model.id IN (SELECT value FROM json_each(?))`, list)
	if err != nil {
		return nil, err
	}
	metrics, err := v.loggedModelMetrics(list)
	if err != nil {
		return nil, err
	}
	all, byNum := map[string]*DescribedModel{}, map[int64]*DescribedModel{}
	nums := make([]int64, len(rows))
	for i, r := range rows {
		m := &DescribedModel{LoggedModel: r.LoggedModel, Metrics: metrics[r.ID]}
		all[r.ID], byNum[r.Num], nums[i] = m, m, r.Num
	}
	err = domain.PropertiesOf(v.tx, "logged_model_num", nums, func(num int64, p domain.Property) {
		byNum[num].Properties = append(byNum[num].Properties, p)
	})
	return inOrder(ids, all), err
}
