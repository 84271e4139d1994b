package server

import (
	"errors"
	"fmt"
	"net/http"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// maxBatch is the maximum number of points in a batch. The limit prevents long delays for other
// writers.
const maxBatch = 10_000

func (s *Server) listMetrics(c *call, p domain.Page) (domain.List[runs.Metric], error) {
	return s.db.Runs.Metrics(c.ctx, c.actor, c.id(), runs.MetricQuery{Page: p, Key: c.text("key")})
}

func (s *Server) createMetric(c *call, b struct {
	Key        *string       `json:"key"`
	Value      *scalar.Value `json:"value"`
	Step       *scalar.Step  `json:"step"`
	RecordedAt *scalar.Time  `json:"recorded_at"`
}) error {
	if b.Key == nil {
		return errKeyMissing
	}
	if b.Value == nil {
		return errValueMissing
	}
	created, err := s.db.Runs.CreateMetric(c.ctx, c.actor, c.vars["iteration_id"],
		points.Sample{Key: *b.Key, Value: *b.Value, Step: b.Step, RecordedAt: b.RecordedAt})
	return c.created(created, err, "metric", created.ID)
}

func (s *Server) createMetricBatch(c *call, b struct {
	Metrics    *entries     `json:"metrics"`
	Step       *scalar.Step `json:"step"`
	RecordedAt *scalar.Time `json:"recorded_at"`
}) error {
	if b.Metrics == nil {
		return domain.Invalid("metrics", "metrics must be given: an object of name and value, or a list of {\"key\", \"value\"}.")
	}
	if len(*b.Metrics) > maxBatch {
		return domain.Invalid("metrics", "A batch has at most %d entries, not %d; send several.", maxBatch, len(*b.Metrics))
	}
	metrics := make([]points.Sample, len(*b.Metrics))
	for i, e := range *b.Metrics {
		metrics[i] = points.Sample{Key: e.key, Value: e.value, Step: b.Step, RecordedAt: b.RecordedAt}
	}
	batch, err := s.db.Runs.CreateMetricBatch(c.ctx, c.actor, c.vars["iteration_id"], metrics)
	if err != nil {
		return err
	}
	if batch.Failed != nil {
		return &web.PartialError{Err: batch.Failed, IDs: batch.IDs}
	}
	web.WriteJSON(c.w, c.r, http.StatusCreated, idsBody{batch.IDs})
	return nil
}

type idsBody struct {
	IDs []string `json:"ids"`
}

type entry struct {
	key   string
	value scalar.Value
}

// entries holds the points of a batch in the order of the JSON document.
type entries []entry

// UnmarshalJSONFrom reads a JSON object that maps names to values, or a list of objects with
// key and value.
func (e *entries) UnmarshalJSONFrom(dec *json.Decoder) error {
	*e = entries{}
	switch dec.PeekKind() {
	case '{':
		return e.readObject(dec)
	case '[':
		return e.readList(dec)
	}
	if err := dec.SkipValue(); err != nil {
		return err
	}
	return errors.New("must be an object of name and value, or a list of {\"key\", \"value\"}")
}

func (e *entries) readObject(dec *json.Decoder) error {
	return json.EachMember(dec, func(name string) error {
		next := entry{key: name}
		err := json.UnmarshalDecode(dec, &next.value)
		*e = append(*e, next)
		return err
	})
}

func (e *entries) readList(dec *json.Decoder) error {
	var list []struct {
		Key   *string       `json:"key"`
		Value *scalar.Value `json:"value"`
	}
	if err := json.UnmarshalDecode(dec, &list); err != nil {
		return err
	}
	for i, next := range list {
		if next.Key == nil || next.Value == nil {
			return fmt.Errorf("must have a key and a value in each entry; entry %d does not", i)
		}
		*e = append(*e, entry{*next.Key, *next.Value})
	}
	return nil
}

func (s *Server) rewindMetric(c *call, b struct {
	Key  *string      `json:"key"`
	From *scalar.Step `json:"from"`
}) error {
	if b.Key == nil {
		return errKeyMissing
	}
	if b.From == nil {
		return domain.Invalid("from", "from must be given: the first step to delete.")
	}
	return c.none(s.db.Runs.RewindMetric(c.ctx, c.actor, c.vars["iteration_id"], *b.Key, *b.From))
}
