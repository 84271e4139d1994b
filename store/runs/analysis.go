package runs

import (
	"context"
	"database/sql/driver"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/importance"
	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/search"
)

// MaxAnalysisMetrics is the maximum number of metric columns of an analysis.
const MaxAnalysisMetrics = 40

// AnalysisQuery selects the runs and the metrics of an analysis.
type AnalysisQuery struct {
	ExperimentID string

	Filter  string // filter for iterations; "" selects all iterations
	Columns string // columns in the search language, such as "metric.loss.min, param.lr"
	Params  bool   // whether to read all parameters
}

// Analysis holds values of runs by column, newest run first.
type Analysis struct {
	Total  int // number of iterations that match the filter
	Nums   []int64
	IDs    []string
	Names  []string
	Params []importance.Column // parameters that differ between runs, most common first
	// Metrics holds the values of each column of the query. A value is nil if the run does not
	// have the metric. Metrics[i] is nil if column i is not a metric.
	Metrics [][]*scalar.Value
	// Texts holds the values of the columns of the query that are parameters or texts of the
	// summary. Texts[i] is nil if column i is a metric.
	Texts [][]*string
}

// Analysis returns the varying parameters and the given columns of the newest iterations that
// match the filter, at most MaxImportanceRuns. It returns INVALID_PAYLOAD if the query can't be
// parsed or has too many metrics. The actor needs the right to read.
func (v *View) Analysis(q AnalysisQuery) (out Analysis, err error) {
	parsed, err := parse(func(p *filter.Parser) (s search.Query, err error) {
		s.Filter, err = p.Filter(q.Filter)
		s.Metrics, s.Where = MetricsOf(p.Keys()), domain.NotTrashed("iteration")
		return s, domain.Refused(err)
	})
	if err != nil {
		return out, err
	}
	columns, err := new(filter.Parser).Columns(q.Columns)
	if err != nil {
		return out, domain.Refused(err)
	}
	if len(columns) > MaxAnalysisMetrics {
		return out, domain.Invalid("columns", "Choose at most %d metrics or parameters.", MaxAnalysisMetrics)
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, q.ExperimentID, domain.RightRead); err != nil {
		return out, err
	}
	s, err := parsed.resolve(v.tx, q.ExperimentID)
	if err != nil {
		return out, err
	}
	return Limited(v.tx, s, func(from *search.Snapshot) (Analysis, error) {
		var out Analysis
		if out.Nums, out.Total, err = from.Nums(q.ExperimentID, s, MaxImportanceRuns); err != nil || len(out.Nums) == 0 {
			return out, err
		}
		return out, out.read(v.tx, columns, q.Params)
	})
}

// read reads the values of the iterations in Nums.
func (a *Analysis) read(tx *domain.Tx, columns []filter.Column, params bool) (err error) {
	at := make(map[int64]int, len(a.Nums))
	for i, num := range a.Nums {
		at[num] = i
	}
	list, err := json.Marshal(a.Nums)
	if err != nil {
		return err
	}
	a.IDs, a.Names = make([]string, len(a.Nums)), make([]string, len(a.Nums))
	err = tx.EachRow(`SELECT num, id, name FROM iteration WHERE num IN (SELECT value FROM json_each(?))`,
		func(row []driver.Value) error {
			i := at[row[0].(int64)]
			a.IDs[i], a.Names[i] = row[1].(string), row[2].(string)
			return nil
		}, string(list))
	if err != nil {
		return err
	}
	if params {
		if a.Params, err = importanceColumns(tx, a.Nums); err != nil {
			return err
		}
	}
	a.Metrics, a.Texts = make([][]*scalar.Value, len(columns)), make([][]*string, len(columns))
	metrics, texts := map[string]int{}, map[filter.Key]int{}
	for i, c := range columns {
		if c.Field == filter.Metric {
			a.Metrics[i], metrics[c.Label] = make([]*scalar.Value, len(a.Nums)), i
		} else {
			a.Texts[i], texts[filter.Key{Field: c.Field, Name: c.Name}] = make([]*string, len(a.Nums)), i
		}
	}
	if len(columns) == 0 {
		return nil
	}
	return search.Columns(tx.Points(), a.Nums, columns, func(num int64, of filter.Field, name, value string) {
		a.Texts[texts[filter.Key{Field: of, Name: name}]][at[num]] = &value
	}, func(num int64, label string, value scalar.Value) {
		a.Metrics[metrics[label]][at[num]] = &value
	})
}

// Analysis calls View.Analysis in a new read transaction.
func (db *DB) Analysis(ctx context.Context, actor domain.Actor, q AnalysisQuery) (Analysis, error) {
	return view(ctx, db, actor, func(v *View) (Analysis, error) { return v.Analysis(q) })
}
