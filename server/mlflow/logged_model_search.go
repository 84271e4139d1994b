package mlflow

import (
	"cmp"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/registry"
	"tracker/store/scalar"
)

type loggedModelSearch struct {
	ExperimentIDs texts `json:"experiment_ids"`
	Filter        text  `json:"filter"`
	Datasets      []struct {
		Name   text `json:"dataset_name"`
		Digest text `json:"dataset_digest"`
	} `json:"datasets"`
	MaxResults integer            `json:"max_results"`
	OrderBy    []loggedModelOrder `json:"order_by"`
	PageToken  text               `json:"page_token"`
}

type loggedModelOrder struct {
	Field         text  `json:"field_name"`
	Ascending     *flag `json:"ascending"`
	DatasetName   text  `json:"dataset_name"`
	DatasetDigest text  `json:"dataset_digest"`
}

type loggedModelPage struct {
	Models []loggedModel `json:"models,omitempty"`
	Next   string        `json:"next_page_token,omitzero"`
}

const (
	loggedModelsPage    = 50
	maxLoggedModelsPage = 10_000
)

func (c *call) searchLoggedModels(in loggedModelSearch) (out loggedModelPage, err error) {
	if len(in.ExperimentIDs) == 0 {
		return out, need("experiment_ids", "")
	}
	p, err := requestedPage(in.MaxResults, in.PageToken, loggedModelsPage, maxLoggedModelsPage)
	if err != nil {
		return out, err
	}
	s, err := newModelSearch(in)
	if err != nil {
		return out, err
	}
	var experiments []string
	for _, id := range in.ExperimentIDs {
		id, err := c.experimentByID(id, false)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return out, err
		}
		experiments = append(experiments, id)
	}
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		all, err := v.Models.FindLoggedModels(experiments, s.query)
		if err != nil {
			return err
		}
		slices.SortFunc(all, s.order.compare)
		ids := idsOf(pageOf(all, p.Offset, p.Limit), func(m registry.LoggedModel) string { return m.ID })
		for some := range slices.Chunk(ids, recordsAtOnce) {
			described, err := c.describeModels(v, some)
			if err != nil {
				return err
			}
			out.Models = append(out.Models, described...)
		}
		out.Next = pageToken(p.Offset, len(out.Models), len(all))
		return nil
	})
	return out, err
}

// modelSearch is a parsed search for logged models.
type modelSearch struct {
	query registry.LoggedModelQuery
	order ordering[registry.LoggedModel]
	// metrics holds a question for each metric in the filter or in the order.
	metrics []*metricQuestion
}

// metricQuestion selects points of logged models and remembers each model's last matching point.
type metricQuestion struct {
	key    string // "" for all metrics
	counts func(registry.LoggedModelMetric) bool
	// found maps a model id to the model's last matching point.
	found map[string]registry.LoggedModelMetric
}

// ask adds a metricQuestion for the metric key. counts reports whether a point matches.
func (s *modelSearch) ask(key string, counts func(registry.LoggedModelMetric) bool) *metricQuestion {
	q := &metricQuestion{key, counts, map[string]registry.LoggedModelMetric{}}
	s.metrics = append(s.metrics, q)
	if key == "" {
		s.query.AllMetrics = true
	} else {
		s.query.MetricKeys = append(s.query.MetricKeys, key)
	}
	return q
}

func (q *metricQuestion) take(m registry.LoggedModelMetric) {
	if q.key != "" && q.key != m.Key || !q.counts(m) {
		return
	}
	last, ok := q.found[m.ModelID]
	if !ok || cmp.Or(cmp.Compare(m.RecordedAt, last.RecordedAt), cmp.Compare(m.Step, last.Step), cmp.Compare(last.IterationID, m.IterationID)) > 0 {
		q.found[m.ModelID] = m
	}
}

// value returns the value of the model's last matching point. It returns false if no point
// matches.
func (q *metricQuestion) value(m registry.LoggedModel) (float64, bool) {
	last, ok := q.found[m.ID]
	return float64(last.Value), ok
}

func (q *metricQuestion) answered(m registry.LoggedModel) bool {
	_, ok := q.found[m.ID]
	return ok
}

func newModelSearch(in loggedModelSearch) (*modelSearch, error) {
	switch {
	case len(in.Datasets) > filter.MaxValues:
		return nil, domain.Invalid("datasets", "A search names at most %d datasets.", filter.MaxValues)
	case len(in.OrderBy) > filter.MaxSortKeys:
		return nil, badFilter("order_by", "it has more than %d fields.", filter.MaxSortKeys)
	}
	terms, err := parseFilter(string(in.Filter))
	if err != nil {
		return nil, err
	}
	s := &modelSearch{}
	ofDataset := func(m registry.LoggedModelMetric) bool { return true }
	if len(in.Datasets) > 0 {
		for _, d := range in.Datasets {
			if d.Name == "" {
				return nil, domain.Invalid("datasets", "`dataset_name` in the `datasets` clause must be specified.")
			}
		}
		ofDataset = func(m registry.LoggedModelMetric) bool {
			for _, d := range in.Datasets {
				if m.DatasetName == string(d.Name) && (d.Digest == "" || m.DatasetDigest == string(d.Digest)) {
					return true
				}
			}
			return false
		}
	}
	var matches []func(registry.LoggedModel) bool
	for _, t := range terms {
		match, err := s.term(t, ofDataset)
		if err != nil {
			return nil, err
		}
		if match != nil {
			matches = append(matches, match)
		}
	}
	if len(in.Datasets) > 0 && len(s.metrics) == 0 {
		matches = append(matches, s.ask("", ofDataset).answered)
	}
	s.query.Match = allMatch(matches)
	s.query.Metric = func(m registry.LoggedModelMetric) {
		for _, q := range s.metrics {
			q.take(m)
		}
	}
	return s, s.sort(in.OrderBy)
}

// term returns the condition for one comparison. For a tag, it adds a property condition to the
// query and returns nil.
func (s *modelSearch) term(t term, ofDataset func(registry.LoggedModelMetric) bool) (func(registry.LoggedModel) bool, error) {
	switch t.entity {
	case "tag":
		p, err := t.propertyMatch()
		s.query.Properties = append(s.query.Properties, p)
		return nil, err
	case "param":
		match, err := t.textMatch()
		return func(m registry.LoggedModel) bool {
			value, ok := m.Params[t.key]
			return ok && match(value)
		}, err
	case "metric":
		match, err := t.numberMatch()
		return s.ask(t.key, func(m registry.LoggedModelMetric) bool { return ofDataset(m) && match(float64(m.Value)) }).answered, err
	case "dataset":
		return nil, badFilter("filter", "a logged model has no datasets; name them in datasets.")
	}
	if number, ok := loggedModelTimes[t.key]; ok {
		match, err := t.numberMatch()
		return func(m registry.LoggedModel) bool { return match(float64(number(m))) }, err
	}
	field, ok := loggedModelTexts[t.key]
	if !ok {
		return nil, badFilter("filter", "a logged model has no attribute %q; use name, model_id, model_type, status, source_run_id, creation_timestamp and last_updated_timestamp, and params, tags and metrics.", t.key)
	}
	match, err := t.textMatch()
	return func(m registry.LoggedModel) bool {
		value := field(m)
		return value != "" && match(value)
	}, err
}

func created(m registry.LoggedModel) scalar.Time { return m.CreatedDate }
func updated(m registry.LoggedModel) scalar.Time { return m.UpdatedDate }

var loggedModelTimes = map[string]func(registry.LoggedModel) scalar.Time{
	"creation_timestamp": created, "creation_timestamp_ms": created, "creation_time": created,
	"last_updated_timestamp": updated, "last_updated_timestamp_ms": updated,
}

var loggedModelTexts = map[string]func(registry.LoggedModel) string{
	"name":          func(m registry.LoggedModel) string { return m.Name },
	"model_id":      func(m registry.LoggedModel) string { return m.ID },
	"model_type":    func(m registry.LoggedModel) string { return m.Type },
	"experiment_id": func(m registry.LoggedModel) string { return m.ExperimentID },
	"status": func(m registry.LoggedModel) string {
		return strings.TrimPrefix(modelStatusNames[m.Status], "LOGGED_MODEL_")
	},
	"source_run_id": func(m registry.LoggedModel) string {
		if m.IterationID == nil {
			return ""
		}
		return compact(*m.IterationID)
	},
}

// sort adds the requested order to s. Ties are broken by creation time, newest first.
func (s *modelSearch) sort(orderBy []loggedModelOrder) error {
	for _, o := range orderBy {
		descending := o.Ascending != nil && !bool(*o.Ascending)
		entity, key, err := splitName("order_by", string(o.Field))
		if err != nil {
			return err
		}
		time, isTime := loggedModelTimes[key]
		field, isText := loggedModelTexts[key]
		switch {
		case entity == "metric":
			q := s.ask(key, func(m registry.LoggedModelMetric) bool {
				return (o.DatasetName == "" || m.DatasetName == string(o.DatasetName)) &&
					(o.DatasetDigest == "" || m.DatasetDigest == string(o.DatasetDigest))
			})
			s.order = append(s.order, byNumber(q.value, descending))
		case entity != "attribute" || !isTime && !isText:
			return badFilter("order_by", "logged models can't be sorted by %q; use metrics and attributes.", o.Field)
		case isTime:
			s.order = append(s.order, by(time, descending))
		default:
			missing := func(m registry.LoggedModel) int { return min(1, len(field(m))) }
			s.order = append(s.order, by(missing, true), by(field, descending))
		}
	}
	s.order = append(s.order, by(created, true), by(func(m registry.LoggedModel) string { return m.ID }, false))
	return nil
}
