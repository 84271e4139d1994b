package search

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"time"

	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Table search_value holds copies of the statistics that searches read, stored close
// together. Reading one metric of 10,000 iterations from table series takes as many
// pages, and ten times as long. The triggers of migration 0002 delete a copy when its
// original changes, and a search reads the original if a copy is missing. So a copy is
// never wrong. This file only decides when to make copies.

const (
	// searchKeyShift is the number of bits for the iteration in the id of a copy;
	// the bits above are the search key.
	searchKeyShift = 32
	// MaxSearchKeys is the maximum number of metrics with copies. A new one replaces
	// the one whose first copies are the oldest.
	MaxSearchKeys = 256
	// MinCopies is the minimum number of copies that are written at once. Without so few
	// copies a search takes less than a millisecond longer.
	MinCopies = 200
	// maxCopies is the maximum number of copies in one transaction, so that no other
	// write waits long.
	maxCopies = 2000
	// RestTime is the time that a running iteration must be silent before it is copied. A
	// copy of values that will soon change again is useless.
	RestTime = 2 * time.Second
	// copyPause is the minimum time between two rounds of copies of a metric.
	copyPause = 2 * time.Second
)

// Metric is a metric in an experiment.
type Metric struct {
	ExperimentID string
	Key          string
}

// Copies makes copies in the background. All its methods are safe for concurrent
// use.
type Copies struct {
	db    *sqlite.DB
	now   func() time.Time
	log   *slog.Logger
	asked chan Metric // metrics of recent searches
}

// NewCopies returns the Copies of a database.
func NewCopies(db *sqlite.DB, now func() time.Time, log *slog.Logger) *Copies {
	return &Copies{db: db, now: now, log: log, asked: make(chan Metric, 16)}
}

// known is a parameter or metric that iterations of an experiment have.
type known struct {
	ExperimentID string `db:"experiment_id"`
	Kind         string `db:"kind"`
	Key          string `db:"key"`
	SearchKey    *int64 `db:"search_key"` // its number in search_value, if any
}

// known returns the names of keys that iterations of the experiments have, and requests
// copies of the metrics among them. A property counts as known.
func (s *Snapshot) known(experimentIDs []string, keys []filter.Key) (map[filter.Key]known, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	experiments, err := json.Marshal(experimentIDs)
	if err != nil {
		return nil, err
	}
	var found []known
	err = s.Select(&found, `SELECT experiment_id, kind, key,
			(SELECT id FROM search_key WHERE search_key.key = experiment_key.key) AS search_key
		FROM experiment_key
		WHERE experiment_id IN (SELECT value FROM json_each(?))
		AND kind IN ('metric', 'param')
		AND key IN (SELECT value FROM json_each(?))`, string(experiments), string(list))
	all := map[filter.Key]known{}
	for _, f := range found {
		k := filter.Key{Field: filter.Param, Name: f.Key}
		if f.Kind == `metric` {
			k.Field = filter.Metric
		}
		all[k] = f
		if k.Field == filter.Metric && slices.Contains(keys, k) {
			select {
			case s.Copies.asked <- Metric{f.ExperimentID, k.Name}:
			default: // a later search will ask again
			}
		}
	}
	for _, k := range keys {
		if k.Field == filter.Property {
			all[k] = known{Key: k.Name}
		}
	}
	return all, err
}

// Run copies the statistics of metrics that searches use, until ctx is done. Failures are
// only logged, since a search works without a copy, but more slowly.
func (c *Copies) Run(ctx context.Context) {
	next := map[Metric]time.Time{} // earliest time of the next round for each
	for {
		select {
		case m := <-c.asked:
			if len(next) > 4*MaxSearchKeys {
				clear(next)
			}
			if time.Now().Before(next[m]) {
				continue
			}
			if err := c.Copy(m); err != nil && !errors.Is(err, sqlite.ErrClosed) {
				c.log.Warn("copying statistics for searches failed", "metric", m.Key, "err", err)
			}
			next[m] = time.Now().Add(copyPause)
		case <-ctx.Done():
			return
		}
	}
}

// Copy copies the statistics of a metric in iterations that do not change. It returns
// sqlite.ErrClosed when the database closes.
func (c *Copies) Copy(m Metric) error {
	for {
		var nums []int64
		err := c.db.Read(context.Background(), func(tx *sqlite.Tx) (err error) {
			nums, err = uncopied(tx, m, scalar.TimeOf(c.now()))
			return err
		})
		if err != nil || len(nums) < MinCopies {
			return err
		}
		err = c.db.Write(context.Background(), sqlite.Upkeep, func(tx *sqlite.Tx) error { return CopyStats(tx, m.Key, nums) })
		if err != nil {
			return err
		}
	}
}

// uncopied returns up to maxCopies iterations that do not change and have no copy. It
// returns none if no iteration of the experiment has the metric.
func uncopied(tx *sqlite.Tx, m Metric, now scalar.Time) (nums []int64, err error) {
	var id int64
	err = tx.Row(`SELECT coalesce((SELECT id FROM search_key WHERE key = ?), 0)
		FROM experiment_key WHERE experiment_id = ? AND kind = 'metric' AND key = ?`,
		m.Key, m.ExperimentID, m.Key).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = tx.Select(&nums, `SELECT iteration.num
		FROM iteration INDEXED BY iteration_by_experiment
		LEFT JOIN search_value ON search_value.id = ? + iteration.num
		WHERE iteration.experiment_id = ?
		AND search_value.id IS NULL
		AND (iteration.status <> 'RUNNING' OR iteration.last_seen < ?)
		LIMIT ?`, id<<searchKeyShift, m.ExperimentID, now-scalar.Time(RestTime.Milliseconds()), maxCopies)
	return nums, err
}

// CopyStats copies the statistics of a metric in the iterations nums.
func CopyStats(tx *sqlite.Tx, key string, nums []int64) error {
	id, err := searchKey(tx, key)
	if err != nil {
		return err
	}
	list, err := json.Marshal(nums)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT OR IGNORE INTO search_value (id, count, last, min, max, mean)
		SELECT ? + iteration.num, coalesce(series.count, 0), series.last, series.min, series.max, `+points.MeanSQL+`
		FROM json_each(?) AS list
		JOIN iteration ON iteration.num = list.value
		LEFT JOIN series ON series.iteration_num = iteration.num AND series.key = ?`,
		id<<searchKeyShift, string(list), key)
	return err
}

// searchKey returns the search key of a metric, or a new one if it has none.
func searchKey(tx *sqlite.Tx, key string) (id int64, err error) {
	err = tx.Row(`SELECT id FROM search_key WHERE key = ?`, key).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	var oldest, n int64
	if err := tx.Row(`SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) + 1 FROM search_key`).
		Scan(&n, &oldest, &id); err != nil {
		return 0, err
	}
	if n >= MaxSearchKeys {
		if _, err := tx.Exec(`DELETE FROM search_value WHERE id >= ? AND id < ?`,
			oldest<<searchKeyShift, (oldest+1)<<searchKeyShift); err != nil {
			return 0, err
		}
		if _, err := tx.Exec(`DELETE FROM search_key WHERE id = ?`, oldest); err != nil {
			return 0, err
		}
	}
	_, err = tx.Exec(`INSERT INTO search_key (id, key) VALUES (?, ?)`, id, key)
	return id, err
}

// wrongCopies selects the copies that differ from their originals.
const wrongCopies = `search_value WHERE id IN (
	SELECT copy.id
	FROM search_value AS copy
	LEFT JOIN search_key ON search_key.id = copy.id >> 32
	LEFT JOIN series ON series.iteration_num = copy.id & 0xffffffff AND series.key = search_key.key
	WHERE search_key.id IS NULL
	OR copy.count <> coalesce(series.count, 0)
	OR copy.last IS NOT series.last
	OR copy.min IS NOT series.min
	OR copy.max IS NOT series.max
	OR copy.mean IS NOT ` + points.MeanSQL + `)`

// WrongCopies returns the number of copies that differ from their originals.
func WrongCopies(tx *sqlite.Tx) (n int64, err error) {
	err = tx.Row(`SELECT count(*) FROM ` + wrongCopies).Scan(&n)
	return n, err
}

// DeleteWrongCopies deletes the copies that WrongCopies counts.
func DeleteWrongCopies(tx *sqlite.Tx) error {
	_, err := tx.Exec(`DELETE FROM ` + wrongCopies)
	return err
}
