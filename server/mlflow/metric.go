package mlflow

import (
	"slices"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// metric is a point in a response.
type metric struct {
	Key       string       `json:"key"`
	Value     scalar.Value `json:"value"`
	Timestamp int64        `json:"timestamp"`
	Step      int64        `json:"step"`
}

// newMetric is a point in a request. The dataset fields are used only if the point belongs to a
// logged model.
type newMetric struct {
	Key           text    `json:"key"`
	Value         double  `json:"value"`
	Timestamp     integer `json:"timestamp"`
	Step          integer `json:"step"`
	ModelID       text    `json:"model_id"`
	DatasetName   text    `json:"dataset_name"`
	DatasetDigest text    `json:"dataset_digest"`
}

// sample converts the point to the store's format. It returns an error if the point is invalid.
func (m newMetric) sample() (s points.Sample, err error) {
	if err := checkKey(string(m.Key)); err != nil {
		return s, err
	}
	switch {
	case !m.Value.set:
		return s, need("value", "")
	case !m.Timestamp.set:
		return s, need("timestamp", "")
	case m.Timestamp.n < 0:
		return s, domain.Invalid("timestamp", "Invalid value %d for parameter 'timestamp' of the metric %q: it must not be negative.", m.Timestamp.n, m.Key)
	}
	place := struct {
		step scalar.Step
		at   scalar.Time
	}{scalar.Step(m.Step.n), scalar.Time(m.Timestamp.n)}
	return points.Sample{Key: string(m.Key), Value: scalar.Value(m.Value.f), Step: &place.step, RecordedAt: &place.at}, nil
}

// ofModel converts a valid point to a point of a logged model.
func (m newMetric) ofModel() registry.LoggedModelMetric {
	return registry.LoggedModelMetric{
		ModelID:       string(m.ModelID),
		Key:           string(m.Key),
		Value:         scalar.Value(m.Value.f),
		Step:          scalar.Step(m.Step.n),
		RecordedAt:    scalar.Time(m.Timestamp.n),
		DatasetName:   string(m.DatasetName),
		DatasetDigest: string(m.DatasetDigest),
	}
}

type metricLog struct {
	runRef
	newMetric
}

func (c *call) logMetric(in metricLog) error {
	return c.logBatch(batch{runRef: in.runRef, Metrics: []newMetric{in.newMetric}})
}

func (c *call) logParameter(in runTag) error {
	return c.logBatch(batch{runRef: in.runRef, Params: []tag{in.tag}})
}

// batch is a log-batch request.
type batch struct {
	runRef
	Metrics []newMetric `json:"metrics"`
	Params  []tag       `json:"params"`
	Tags    []tag       `json:"tags"`
}

// check returns an error if the batch exceeds a limit.
func (b *batch) check() error {
	for _, part := range []struct {
		name    string
		n, most int
	}{
		{"metrics", len(b.Metrics), maxBatch},
		{"params", len(b.Params), maxBatchTags},
		{"tags", len(b.Tags), maxBatchTags},
		{"metrics, params and tags", len(b.Metrics) + len(b.Params) + len(b.Tags), maxBatch},
	} {
		if part.n > part.most {
			return domain.Invalid(part.name, "A batch logging request can contain at most %d %s. Got %d. Please split up the request.", part.most, part.name, part.n)
		}
	}
	return nil
}

func (c *call) logBatch(in batch) error {
	id, err := in.id()
	if err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	l := runs.IterationLog{Metrics: make([]points.Sample, len(in.Metrics))}
	for i, m := range in.Metrics {
		if l.Metrics[i], err = m.sample(); err != nil {
			return err
		}
		if m.ModelID != "" {
			l.ModelMetrics = append(l.ModelMetrics, m.ofModel())
		}
	}
	seen := map[text]bool{}
	for _, p := range in.Params {
		if err := checkKey(string(p.Key)); err != nil {
			return err
		}
		if seen[p.Key] {
			return domain.Invalid("params", "Duplicate parameter keys have been submitted: %q is given twice.", p.Key)
		}
		seen[p.Key] = true
		l.Params = append(l.Params, domain.Property{Key: string(p.Key), Value: cut(string(p.Value), maxParam)})
	}
	if len(in.Tags) > 0 {
		experiment := ""
		for _, t := range in.Tags {
			if t.Key == tagParent && experiment == "" {
				r, err := c.db.Runs.Iteration(c.ctx, c.actor, id)
				if err != nil {
					return c.activeRun(id, err)
				}
				experiment = r.ExperimentID
			}
		}
		f, err := c.sortTags(experiment, in.Tags)
		if err != nil {
			return err
		}
		l.Name, l.Notes, l.Parent, l.Snapshot, l.Properties = f.name, f.notes, f.parent, f.snapshot, f.properties
	}
	return c.activeRun(id, changed(c.db.Runs.LogIteration(c.ctx, c.actor, id, l)))
}

// changed converts a CONFLICT error to the protocol's error for a parameter that has another
// value. It returns other errors unchanged.
func changed(err error) error {
	if err != nil {
		if e := domain.AsError(err); e.Code == domain.CodeConflict {
			return domain.Invalid(e.Field, "%s", e.Message)
		}
	}
	return err
}

type historyQuery struct {
	runRef
	Key        text    `json:"metric_key"`
	MaxResults integer `json:"max_results"`
	PageToken  text    `json:"page_token"`
}

type history struct {
	Metrics   []metric `json:"metrics,omitzero"`
	NextToken string   `json:"next_page_token,omitzero"`
}

func (c *call) metricHistory(in historyQuery) (out history, err error) {
	id, err := in.id()
	if err != nil {
		return out, err
	}
	if err := need("metric_key", string(in.Key)); err != nil {
		return out, err
	}
	p, err := requestedPage(in.MaxResults, in.PageToken, runs.MaxHistory, runs.MaxHistory)
	if err != nil {
		return out, err
	}
	points, more, err := c.db.Runs.MetricHistory(domain.WithTrash(c.ctx), c.actor, id, string(in.Key), p)
	out.Metrics = slices.Grow(out.Metrics, len(points))
	for _, p := range points {
		out.Metrics = append(out.Metrics, metric{string(in.Key), p.Value, int64(p.RecordedAt), int64(p.Step)})
	}
	if more {
		out.NextToken = pageToken(p.Offset, len(points), p.Offset+len(points)+1)
	}
	return out, err
}
