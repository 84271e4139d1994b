package points

import (
	"fmt"

	"tracker/store/sqlite"
)

// Problem is a contradiction between tables that Check found.
type Problem struct {
	Iteration int64  // iteration of the series with the problem, 0 for none
	Text      string // a sentence
	// Lost is set if the original data can't be computed. Repair then accepts the present data.
	Lost bool
	// Repair recomputes the wrong rows in a transaction of the writer; nil if nothing can.
	Repair func(*Tx) error
}

// Check compares the checksums, statistics and rollups, which are derived from the
// points, with the points. It uses several transactions, because a long one keeps the write-ahead
// log from being reset. Call Series until Done is set, then Rest.
type Check struct {
	Done bool // every series was checked

	last int64 // id of the last series that was checked
	seq  int64 // largest seq of the points that were checked
}

// Series checks the checksums, statistics and rollups of the next series, in the order of their
// ids, until it has read about limit points.
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

// Rest looks for rows without an owner and for a wrong counter. It does one look-up
// for each series and reads none of their points.
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

// series compares the checksum, the statistics and the rollups of a series with its points.
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
			Text:      fmt.Sprintf("The points of metric %q do not match their checksum: a step, time or value is not as it was written.", s.key),
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

// strayPoints looks for points whose series does not exist. They can't be shown, so
// the repair removes them.
func (tx *Tx) strayPoints() ([]Problem, error) {
	// The ids are found by one look-up each: reading all points would take as long as checking them.
	return tx.stray(`metric WHERE series_id IN (
		WITH RECURSIVE found(id) AS (
			SELECT min(series_id) FROM metric
			UNION ALL
			SELECT (SELECT min(series_id) FROM metric WHERE series_id > found.id)
			FROM found
			WHERE found.id IS NOT NULL)
		SELECT id FROM found WHERE id NOT IN (SELECT id FROM series))`, "1 point belongs to no series.", "%d points belong to no series.")
}

// strayMoves looks for rows that record a move of a point that is not at the
// recorded place.
func (tx *Tx) strayMoves() ([]Problem, error) {
	return tx.stray(`metric_moved WHERE NOT EXISTS (SELECT 1 FROM metric
		WHERE metric.series_id = metric_moved.series_id
		AND metric.step = metric_moved.step
		AND metric.seq = metric_moved.seq)`, "1 moved point is not where it was moved to.", "%d moved points are not where they were moved to.")
}

// stray returns a problem if the rows exist. rows is "TABLE WHERE CONDITION". The
// repair deletes them.
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

// wrongCounter checks that a new point can't get the seq of another one. used is
// the largest seq in table metric.
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
