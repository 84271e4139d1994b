package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/sqlite"
)

// Table search_value holds copies of the statistics that searches read, next to
// each other: to read one metric of 10,000 iterations from table series takes as
// many pages, and ten times as long. The triggers of migration 0002 delete a copy
// when its original changes, and a search reads the original where there is no
// copy. So a copy is never wrong, and this file only decides when to make copies.

const (
	// searchKeyShift is the number of bits for the iteration in the id of a copy;
	// the bits above are the search key.
	searchKeyShift = 32
	// maxSearchKeys is the largest number of metrics with copies. A new one replaces
	// the one that got its first copies the longest time ago.
	maxSearchKeys = 256
	// minCopies is the smallest number of copies that are written. A search without
	// them takes less than a millisecond more.
	minCopies = 200
	// maxCopies is the largest number of copies in one transaction, so that no other
	// write waits long.
	maxCopies = 2000
	// restTime is how long a running iteration must not have been seen before it is
	// copied: a copy of what changes again soon is useless.
	restTime = 2 * time.Second
	// copyPause is the time between two copyings of a metric.
	copyPause = 2 * time.Second
)

// searched is a metric that was searched for.
type searched struct {
	experimentID string
	key          string
}

// known is a parameter or metric that iterations of an experiment have.
type known struct {
	ExperimentID string  `db:"experiment_id"`
	Kind         KeyKind `db:"kind"`
	Key          string  `db:"key"`
	SearchKey    *int64  `db:"search_key"` // its number in search_value, if it has one
}

// known returns those of keys that iterations of the experiments have, and asks
// for more copies of the metrics among them. A property counts as known.
func (tx *tx) known(experimentIDs []string, keys []filter.Key) (map[filter.Key]known, error) {
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
	err = tx.Select(&found, `SELECT experiment_id, kind, key,
			(SELECT id FROM search_key WHERE search_key.key = experiment_key.key) AS search_key
		FROM experiment_key
		WHERE experiment_id IN (SELECT value FROM json_each(?))
		AND kind IN ('metric', 'param')
		AND key IN (SELECT value FROM json_each(?))`, string(experiments), string(list))
	all := map[filter.Key]known{}
	for _, f := range found {
		k := filter.Key{Field: filter.Param, Name: f.Key}
		if f.Kind == MetricKey {
			k.Field = filter.Metric
		}
		all[k] = f
		if k.Field == filter.Metric && slices.Contains(keys, k) {
			select {
			case tx.db.searched <- searched{f.ExperimentID, k.Name}:
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

// copySearched copies the statistics of metrics that were searched for, until the
// database closes. A failure is only logged: searches are slower without copies.
func (db *DB) copySearched(ctx context.Context) {
	next := map[searched]time.Time{} // when each may have its next turn
	for {
		select {
		case s := <-db.searched:
			if len(next) > 4*maxSearchKeys {
				clear(next)
			}
			if time.Now().Before(next[s]) {
				continue
			}
			if err := db.copyValues(s); err != nil && !errors.Is(err, sqlite.ErrClosed) {
				db.log.Warn("copying statistics for searches failed", "metric", s.key, "err", err)
			}
			next[s] = time.Now().Add(copyPause)
		case <-ctx.Done():
			return
		}
	}
}

// copyValues copies the statistics of a metric in iterations that do not change.
func (db *DB) copyValues(s searched) error {
	for {
		nums, err := read(context.Background(), db, func(tx *tx) ([]int64, error) { return tx.uncopied(s) })
		if err != nil || len(nums) < minCopies {
			return err
		}
		err = change(context.Background(), db, System, func(tx *tx) error { return tx.copyStats(s.key, nums) })
		if err != nil {
			return err
		}
	}
}

// uncopied returns up to maxCopies iterations that do not change and have no copy;
// none when no iteration of the experiment has the metric.
func (tx *tx) uncopied(s searched) (nums []int64, err error) {
	var id int64
	err = tx.Row(`SELECT coalesce((SELECT id FROM search_key WHERE key = ?), 0)
		FROM experiment_key WHERE experiment_id = ? AND kind = 'metric' AND key = ?`,
		s.key, s.experimentID, s.key).Scan(&id)
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
		AND (iteration.status <> ? OR iteration.last_seen < ?)
		LIMIT ?`, id<<searchKeyShift, s.experimentID, Running, tx.now-Time(restTime.Milliseconds()), maxCopies)
	return nums, err
}

// copyStats copies the statistics of a metric in these iterations.
func (tx *tx) copyStats(key string, nums []int64) error {
	id, err := tx.searchKey(key)
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

// searchKey returns the search key of a metric, a new one if it has none.
func (tx *tx) searchKey(key string) (id int64, err error) {
	err = tx.Row(`SELECT id FROM search_key WHERE key = ?`, key).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	var oldest, n int64
	if err := tx.Row(`SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) + 1 FROM search_key`).
		Scan(&n, &oldest, &id); err != nil {
		return 0, err
	}
	if n >= maxSearchKeys {
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

// wrongSearchValues compares the copies with their originals. The repair deletes
// those that differ.
func (t *tx) wrongSearchValues() ([]Problem, error) {
	const wrong = `search_value WHERE id IN (
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
	var n int64
	if err := t.Row(`SELECT count(*) FROM ` + wrong).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	return []Problem{{
		Text:       fmt.Sprintf("%d statistics that were copied for searches differ from their originals.", n),
		Repairable: true,
		repair: func(tx *tx) error {
			_, err := tx.Exec(`DELETE FROM ` + wrong)
			return err
		},
	}}, nil
}
