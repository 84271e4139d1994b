package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// Table search_value has copies of the statistics that searches ask for, side
// by side: to read one metric of 10,000 iterations from table series takes as
// many pages, and ten times as long. The triggers of migration 0002 drop a copy
// when its original changes; what has none is read from series. So the copies
// may lag behind, but never lie, and this file only decides when to make some.

const (
	// searchKeyShift makes room for the number of an iteration below that of a
	// search key.
	searchKeyShift = 32
	// maxSearchKeys bounds how many metrics have copies; the one that got its
	// first copies longest ago makes room for a new one.
	maxSearchKeys = 256
	// minCopies is how many copies are worth a write. With fewer missing, a
	// search takes less than a millisecond more.
	minCopies = 200
	// maxCopies is how many are made in one go, so that no writer waits long.
	maxCopies = 2000
	// restTime is how long a running iteration must not have been heard of: a
	// copy of what changes again soon is wasted.
	restTime = 2 * time.Second
	// copyPause is how long a metric is left alone after its turn.
	copyPause = 2 * time.Second
)

// searched is a metric that was searched for.
type searched struct {
	experimentID string
	key          string
}

// known is a parameter or metric that iterations of an experiment have.
type known struct {
	Kind      KeyKind `db:"kind"`
	Key       string  `db:"key"`
	SearchKey *int64  `db:"search_key"` // its number in search_value, if it has one
}

// known returns those of names that iterations of the experiment have, and asks
// for more copies of the metrics among them.
func (tx *tx) known(experimentID string, names []name) (map[name]known, error) {
	if len(names) == 0 {
		return nil, nil
	}
	keys := make([]string, len(names))
	for i, n := range names {
		keys[i] = n.key
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var found []known
	err = tx.all(&found, `SELECT kind, key, (SELECT id FROM search_key WHERE search_key.key = experiment_key.key) AS search_key
		FROM experiment_key
		WHERE experiment_id = ?
		AND kind IN ('metric', 'param')
		AND key IN (SELECT value FROM json_each(?))`, experimentID, string(list))
	all := map[name]known{}
	for _, k := range found {
		n := name{paramField, k.Key}
		if k.Kind == MetricKey {
			n.field = metricField
		}
		all[n] = k
	}
	for _, n := range names {
		if _, ok := all[n]; ok && n.field == metricField {
			select {
			case tx.db.searched <- searched{experimentID, n.key}:
			default: // a later search will ask again
			}
		}
	}
	return all, err
}

// copySearched makes copies of what searches ask for, until the database
// closes. A failure is left to the log: the searches only stay slow.
func (db *DB) copySearched() {
	defer close(db.copied)
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
			if err := db.copyValues(s); err != nil && !errors.Is(err, errClosing) {
				db.log.Warn("copying statistics for searches failed", "metric", s.key, "err", err)
			}
			next[s] = time.Now().Add(copyPause)
		case <-db.closing:
			return
		}
	}
}

// copyValues copies the statistics of a metric in the iterations that rest.
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

// uncopied returns up to maxCopies iterations that rest and have no copy, none
// when no iteration of the experiment has the metric.
func (tx *tx) uncopied(s searched) (nums []int64, err error) {
	var id int64
	err = tx.row(`SELECT coalesce((SELECT id FROM search_key WHERE key = ?), 0)
		FROM experiment_key WHERE experiment_id = ? AND kind = 'metric' AND key = ?`,
		s.key, s.experimentID, s.key).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = tx.all(&nums, `SELECT iteration.num
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
	_, err = tx.exec(`INSERT OR IGNORE INTO search_value (id, count, last, min, max, mean)
		SELECT ? + iteration.num, coalesce(series.count, 0), series.last, series.min, series.max, `+seriesMean+`
		FROM json_each(?) AS list
		JOIN iteration ON iteration.num = list.value
		LEFT JOIN series ON series.iteration_num = iteration.num AND series.key = ?`,
		id<<searchKeyShift, string(list), key)
	return err
}

// searchKey returns the number under which a metric has its copies.
func (tx *tx) searchKey(key string) (id int64, err error) {
	err = tx.row(`SELECT id FROM search_key WHERE key = ?`, key).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	var oldest, n int64
	if err := tx.row(`SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) + 1 FROM search_key`).
		Scan(&n, &oldest, &id); err != nil {
		return 0, err
	}
	if n >= maxSearchKeys {
		if _, err := tx.exec(`DELETE FROM search_value WHERE id >= ? AND id < ?`,
			oldest<<searchKeyShift, (oldest+1)<<searchKeyShift); err != nil {
			return 0, err
		}
		if _, err := tx.exec(`DELETE FROM search_key WHERE id = ?`, oldest); err != nil {
			return 0, err
		}
	}
	_, err = tx.exec(`INSERT INTO search_key (id, key) VALUES (?, ?)`, id, key)
	return id, err
}

// wrongSearchValues compares the copies with their originals. The repair drops
// those that differ; a search will have them made again.
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
		OR copy.mean IS NOT ` + seriesMean + `)`
	var n int64
	if err := t.row(`SELECT count(*) FROM ` + wrong).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	return []Problem{{
		Text:       fmt.Sprintf("%d statistics that were copied for searches differ from their originals.", n),
		Repairable: true,
		repair: func(tx *tx) error {
			_, err := tx.exec(`DELETE FROM ` + wrong)
			return err
		},
	}}, nil
}
