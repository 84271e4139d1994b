package runs

import (
	"context"
	"database/sql/driver"
	"maps"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Summary holds the metric statistics, the parameters, the tags and the texts of an iteration.
type Summary struct {
	IterationID string                    `json:"iteration_id"`
	Metrics     map[string]points.Summary `json:"metrics"` // by key
	Params      map[string]string         `json:"params"`  // by key
	Tags        domain.Strings            `json:"tags"`    // sorted
	// Texts holds the values of the summary that are not numbers, by name. Only Summary sets it.
	Texts map[string]scalar.SummaryText `json:"texts,omitempty"`
	// Definitions holds the definitions that apply to metrics, by key. Only Summary sets it.
	Definitions map[string]Definition `json:"definitions,omitzero"`
}

// Summary returns the metric statistics, the parameters, the tags, the texts and the definitions of
// an iteration. The actor needs the right to read.
func (v *View) Summary(iterationID string) (Summary, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return Summary{}, err
	}
	all, err := summaries(v.tx, []domain.IterationState{it})
	if err != nil {
		return Summary{}, err
	}
	if all[0].Texts, err = TextsOf(v.tx, it.Num); err != nil {
		return Summary{}, err
	}
	defined, err := readDefinitions(v.tx, `SELECT ? AS num`, it.Num)
	if found := defined.Among(maps.Keys(all[0].Metrics)); len(found) > 0 {
		all[0].Definitions = found
	}
	return all[0], err
}

// Summary calls View.Summary in a new read transaction.
func (db *DB) Summary(ctx context.Context, actor domain.Actor, iterationID string) (Summary, error) {
	return view(ctx, db, actor, func(v *View) (Summary, error) { return v.Summary(iterationID) })
}

// Summaries returns the summaries of iterations, in the order of ids. It returns NOT_FOUND if
// an iteration does not exist. At most MaxLimit ids are allowed. The actor needs the right to
// read every iteration.
func (v *View) Summaries(ids []string) ([]Summary, error) {
	states, err := v.tx.AllowIterations(v.tx.Actor, ids, domain.RightRead)
	if err != nil {
		return nil, err
	}
	return summaries(v.tx, states)
}

func summaries(tx *domain.Tx, of []domain.IterationState) ([]Summary, error) {
	return domain.WithinLimit(tx, domain.SlowRead(tx, "id"), func() ([]Summary, error) { return readSummaries(tx, of) })
}

func readSummaries(tx *domain.Tx, of []domain.IterationState) ([]Summary, error) {
	list := sqlite.JSON(domain.NumsOf(of))
	if err := takeSummaries(tx, list); err != nil {
		return nil, err
	}
	byNum := map[int64]*Summary{}
	for _, it := range of {
		byNum[it.Num] = &Summary{IterationID: it.ID, Metrics: map[string]points.Summary{}, Params: map[string]string{}, Tags: domain.Strings{}}
	}
	series, err := tx.Points().Statistics(domain.NumsOf(of)...)
	if err != nil {
		return nil, err
	}
	for _, s := range series {
		byNum[s.Iteration].Metrics[s.Key] = s.Summary()
	}
	err = EachText(tx, `SELECT iteration_num, key, value FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?))`,
		func(num int64, key, value string) { byNum[num].Params[key] = value }, list)
	if err != nil {
		return nil, err
	}
	err = EachText(tx, `SELECT iteration_num, '', value FROM tag
		WHERE iteration_num IN (SELECT value FROM json_each(?)) ORDER BY value`,
		func(num int64, _, value string) { byNum[num].Tags = append(byNum[num].Tags, value) }, list)
	if err != nil {
		return nil, err
	}
	all := make([]Summary, len(of))
	for at, it := range of {
		all[at] = *byNum[it.Num]
	}
	return all, nil
}

// EachText calls fn for each row of a query. The columns of the query are the number of an
// iteration, a key and a value.
func EachText(tx *domain.Tx, query string, fn func(num int64, key, value string), args ...any) error {
	return tx.EachRow(query, func(row []driver.Value) error {
		fn(row[0].(int64), row[1].(string), row[2].(string))
		return nil
	}, args...)
}
