package search

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"time"

	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// The search_value table holds copies of the statistics that searches read. Copies of one metric
// are stored close together. To read one metric of 10,000 iterations from the series table takes
// ten times as long, because each row is on a different page.
//
// A copy is never wrong. The triggers of migration 0002 delete a copy when its original
// changes. A search reads the original if a copy is missing. This file only decides when to
// make copies.

const (
	// searchKeyShift is the number of bits of a copy's id that hold the iteration number. The
	// higher bits hold the search key.
	searchKeyShift = 32
	// MaxSearchKeys is the maximum number of metrics with copies. When a further metric is
	// copied, the copies of the metric with the oldest search key are deleted.
	MaxSearchKeys = 256
	// MinCopies is the minimum number of copies to write at once. Fewer missing copies slow a
	// search down by less than a millisecond.
	MinCopies = 200
	// maxCopies is the maximum number of copies in a transaction. The limit keeps other writes
	// from waiting long.
	maxCopies = 2000
	// RestTime is the minimum time without activity before a running iteration is copied. A
	// copy is useless if its values soon change.
	RestTime = 2 * time.Second
	// copyPause is the minimum time between two rounds of copying the same metric.
	copyPause = 2 * time.Second
)

// Metric identifies a metric of an experiment.
type Metric struct {
	ExperimentID string
	Key          string
}

// Copies copies statistics in the background. Its methods are safe for concurrent use.
type Copies struct {
	db    *sqlite.DB
	now   func() time.Time
	log   *slog.Logger
	asked chan Metric // metrics that recent searches have used
}

// NewCopies returns the Copies of a database. The method Run does the work.
func NewCopies(db *sqlite.DB, now func() time.Time, log *slog.Logger) *Copies {
	return &Copies{db: db, now: now, log: log, asked: make(chan Metric, 16)}
}

// known is a named value that at least one iteration of an experiment has.
type known struct {
	ExperimentID string `db:"experiment_id"`
	Kind         string `db:"kind"`
	Key          string `db:"key"`
	SearchKey    *int64 `db:"search_key"` // search key of the metric in the search_value table; nil if there is none
}

// known returns the given keys that at least one iteration of the experiments has. Properties
// always count as known. It also requests copies of the known metrics.
func (s *Snapshot) known(experimentIDs []string, keys []filter.Key) (map[filter.Key]known, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	var found []known
	err := s.Select(&found, `SELECT experiment_id, kind, key,
			(SELECT id FROM search_key WHERE search_key.key = experiment_key.key) AS search_key
		FROM experiment_key
		WHERE experiment_id IN (SELECT value FROM json_each(?))
		AND kind IN ('metric', 'param', 'summary')
		AND key IN (SELECT value FROM json_each(?))`, sqlite.JSON(experimentIDs), sqlite.JSON(names))
	all := map[filter.Key]known{}
	for _, f := range found {
		k := filter.Key{Field: KeyKind(f.Kind).Field(), Name: f.Key}
		all[k] = f
		if k.Field == filter.Metric && slices.Contains(keys, k) {
			select {
			case s.Copies.asked <- Metric{f.ExperimentID, k.Name}:
			default: // a later search repeats the request
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

// Run copies the statistics of metrics that searches use, until ctx ends. It only logs
// failures, because searches work without copies, only more slowly.
func (c *Copies) Run(ctx context.Context) {
	next := map[Metric]time.Time{} // earliest time of the next round, by metric
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

// Copy copies the statistics of a metric for all iterations that have ended or been silent for
// RestTime. It does nothing if fewer than MinCopies copies are missing. It returns
// sqlite.ErrClosed if the database is closed.
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

// uncopied returns up to maxCopies iterations without a copy that have ended or been silent for
// RestTime. It returns no iterations if the experiment does not have the metric.
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

// CopyStats copies the statistics of a metric for the iterations with the given numbers.
func CopyStats(tx *sqlite.Tx, key string, nums []int64) error {
	id, err := searchKey(tx, key)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT OR IGNORE INTO search_value (id, count, last, min, max, mean)
		SELECT ? + iteration.num, coalesce(series.count, 0), series.last, series.min, series.max, `+points.MeanSQL+`
		FROM json_each(?) AS list
		JOIN iteration ON iteration.num = list.value
		LEFT JOIN series ON series.iteration_num = iteration.num AND series.key = ?`,
		id<<searchKeyShift, sqlite.JSON(nums), key)
	return err
}

// searchKey returns the search key of a metric. It assigns a new search key if the metric has
// none.
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

// DeleteWrongCopies deletes the copies that differ from their originals.
func DeleteWrongCopies(tx *sqlite.Tx) error {
	_, err := tx.Exec(`DELETE FROM ` + wrongCopies)
	return err
}
