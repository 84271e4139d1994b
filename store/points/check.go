package points

import (
	"fmt"

	"tracker/store/sqlite"
)

// Problem is an inconsistency between tables, as found by Check.
type Problem struct {
	Iteration int64  // iteration of the series with the problem; 0 if the problem concerns no series
	Text      string // one-sentence description of the problem
	// Lost reports whether the original data is unrecoverable. In this case, Repair accepts the
	// present data.
	Lost bool
	// Repair recomputes or deletes the wrong rows. It needs a transaction of the writer. Repair
	// is nil if the problem cannot be repaired.
	Repair func(*Tx) error
}

// Check compares the stored checksums, statistics and rollups with the points. Call Series
// until Done is set, then call Rest.
//
// A check uses several transactions, because the write-ahead log cannot be reset during a long
// transaction.
type Check struct {
	Done bool // whether every series was checked

	last int64 // id of the last checked series
	seq  int64 // largest seq of the checked points
}

// Series checks the checksums, statistics and rollups of the next series, by series id. It
// stops once it has read about limit points.
func (c *Check) Series(tx *Tx, limit int64) (found []Problem, err error) {
	for {
		all, err := tx.seriesWhere(`series.id > ? ORDER BY series.id LIMIT 1000`, c.last)
		if err != nil || len(all) == 0 {
			c.Done = err == nil
			return found, err
		}
		for _, s := range all {
			problems, err := c.series(tx, s)
			if sqlite.IsDamaged(err) {
				problems = []Problem{{Iteration: s.iteration, Text: fmt.Sprintf("The points of metric %q can't be read: %v.", s.key, err)}}
			} else if err != nil {
				return found, err
			}
			found = append(found, problems...)
			c.last = s.id
			if limit -= s.Count + 1; limit <= 0 {
				return found, nil
			}
		}
	}
}

// Rest looks for rows without a series and for a wrong point counter. It does one look-up for
// each series and does not read the points.
func (c *Check) Rest(tx *Tx) (found []Problem, err error) {
	for _, find := range []func() ([]Problem, error){tx.strayRollups, tx.strayPoints, tx.strayMoves,
		func() ([]Problem, error) { return tx.wrongCounter(c.seq) }} {
		some, err := find()
		found = append(found, some...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// series compares a series' checksum, statistics and rollups with its points.
func (c *Check) series(tx *Tx, s *series) (found []Problem, err error) {
	rollups := rollHash{series: s}
	valid := s.rollups.valid()
	want, err := tx.computeStats(s.id, s.compactedSeq, func(p point) {
		if valid && s.rollups.end != nil && p.step < *s.rollups.end {
			rollups.add(p)
		}
	})
	if err != nil {
		return nil, err
	}
	c.seq = max(c.seq, want.lastSeq)
	damaged := s.checksum != want.checksum
	if damaged {
		err := tx.Row(`SELECT NOT EXISTS (SELECT 1 FROM checksum_due WHERE series_id = ?)`, s.id).Scan(&damaged)
		if err != nil {
			return nil, err
		}
	}
	if damaged {
		found = append(found, Problem{
			Iteration: s.iteration,
			Text:      fmt.Sprintf("The points of metric %q do not match their checksum: a step, time or value has changed since it was written.", s.key),
			Lost:      true,
			Repair:    func(tx *Tx) error { return tx.recompute(s.id, want.checksum-s.checksum) },
		})
	}
	if want.Count == 0 || !s.sameAs(&want.Stats, want.scale) {
		found = append(found, Problem{
			Iteration: s.iteration,
			Text:      fmt.Sprintf("The statistics of metric %q do not match its %d points.", s.key, want.Count),
			Repair:    func(tx *Tx) error { return tx.recompute(s.id, 0) },
		})
	}
	same := false
	if valid {
		if same, err = tx.sameRollups(s, &rollups); err != nil {
			return found, err
		}
	}
	if !same {
		found = append(found, Problem{
			Iteration: s.iteration,
			Text:      fmt.Sprintf("The rollups of metric %q, which its charts are drawn from, do not match its points.", s.key),
			Repair:    func(tx *Tx) error { return tx.rebuildRollups(s.id) },
		})
	}
	return found, nil
}

// strayPoints looks for points whose series does not exist. No page can show points without a
// series, so the repair removes these points.
func (tx *Tx) strayPoints() ([]Problem, error) {
	// The query finds each series id with one look-up, because reading all points would take as
	// long as checking them.
	return tx.stray(`metric WHERE series_id IN (
		WITH RECURSIVE found(id) AS (
			SELECT min(series_id) FROM metric
			UNION ALL
			SELECT (SELECT min(series_id) FROM metric WHERE series_id > found.id)
			FROM found
			WHERE found.id IS NOT NULL)
		SELECT id FROM found WHERE id NOT IN (SELECT id FROM series))`, "1 point belongs to no series.", "%d points belong to no series.")
}

// strayMoves looks for records of moved points for which no point is stored at the recorded
// place.
func (tx *Tx) strayMoves() ([]Problem, error) {
	return tx.stray(`metric_moved WHERE NOT EXISTS (SELECT 1 FROM metric
		WHERE metric.series_id = metric_moved.series_id
		AND metric.step = metric_moved.step
		AND metric.seq = metric_moved.seq)`, "1 moved point is not where it was moved to.", "%d moved points are not where they were moved to.")
}

// stray returns a problem if the given rows exist. rows is SQL in the form "TABLE WHERE
// CONDITION". The repair deletes the rows.
func (tx *Tx) stray(rows, one, many string) ([]Problem, error) {
	var n int64
	if err := tx.Row(`SELECT count(*) FROM ` + rows).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	text := one
	if n > 1 {
		text = fmt.Sprintf(many, n)
	}
	return []Problem{{
		Text: text,
		Repair: func(tx *Tx) error {
			_, err := tx.Exec(`DELETE FROM ` + rows)
			return err
		},
	}}, nil
}

// wrongCounter checks that the next seq is not already in use. used is the largest seq in the
// metric table.
func (tx *Tx) wrongCounter(used int64) ([]Problem, error) {
	var next int64
	err := tx.Row(`SELECT max(value, coalesce((SELECT max(seq) FROM recent), value))
		FROM counter WHERE name = 'metric_seq'`).Scan(&next)
	if err != nil || next >= used {
		return nil, err
	}
	return []Problem{{
		Text: fmt.Sprintf("The point counter is %d, but point %d exists.", next, used),
		Repair: func(tx *Tx) error {
			o := tx.engine.open
			o.seq = max(o.seq, used)
			return o.saveSeq(tx.Tx)
		},
	}}, nil
}
