package points

import (
	"database/sql"
	"errors"
	"strings"

	"tracker/store/sqlite"
)

// series is one metric of one iteration. The statistics of a series include all points that the
// transaction sees.
type series struct {
	id        int64
	iteration int64
	key       string
	Stats
	lastSeq      int64  // seq of the last point included in Stats
	statsSeq     int64  // seq of the last point included in the stored statistics
	compactedSeq int64  // all points with this seq or a smaller one are in the metric table
	rollups      extent // extent of the stored rollups
	open         *openRow
	first        *Step // smallest step in the metric table; nil if unknown
	stored       bool  // whether the series has a row in the series table
	pending      []row // added points that Flush has not yet inserted
}

const seriesColumns = `
	series.id,
	series.key,
	series.iteration_num,
	series.count,
	series.finite,
	series.last,
	series.last_step,
	series.last_at,
	series.min,
	series.min_step,
	series.max,
	series.max_step,
	series.sum,
	series.checksum,
	series.counted_seq,
	series.moved_seq,
	series.roll_shift,
	series.rolled_to
	FROM series`

// scanSeries reads a row with the columns seriesColumns.
func scanSeries(row sqlite.Scanner) (*series, error) {
	s := &series{stored: true}
	var shift sql.NullInt64
	err := row.Scan(&s.id, &s.key, &s.iteration,
		&s.Count, &s.Finite, &s.Last, &s.LastStep, &s.LastAt, &s.Min, &s.MinStep, &s.Max, &s.MaxStep, &s.Sum, &s.checksum,
		&s.statsSeq, &s.compactedSeq, &shift, &s.rollups.end)
	s.rollups.shift, s.lastSeq = int(shift.Int64), s.statsSeq
	return s, err
}

// findSeries returns the series with the given key, or nil if there is none.
func (tx *Tx) findSeries(iteration int64, key string) (*series, error) {
	return tx.oneSeries(tx.Row(`SELECT `+seriesColumns+` WHERE series.iteration_num = ? AND series.key = ?`, iteration, key))
}

// seriesByID returns the series with the given id, or nil if there is none.
func (tx *Tx) seriesByID(id int64) (*series, error) {
	return tx.oneSeries(tx.Row(`SELECT `+seriesColumns+` WHERE series.id = ?`, id))
}

func (tx *Tx) oneSeries(row sqlite.Scanner) (*series, error) {
	s, err := scanSeries(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = tx.addRecent(s)
	}
	return s, err
}

// seriesOf returns the series of an iteration with the given keys, in the order of keys. It
// omits keys without a series. If keys is empty, it returns all series in alphabetical order.
func (tx *Tx) seriesOf(iteration int64, keys []string) ([]*series, error) {
	if len(keys) == 0 {
		return tx.seriesWhere(`series.iteration_num = ? ORDER BY series.key`, iteration)
	}
	var all []*series
	for _, key := range keys {
		s, err := tx.findSeries(iteration, key)
		if err != nil {
			return nil, err
		}
		if s != nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// seriesWhere returns the series that meet an SQL condition.
func (tx *Tx) seriesWhere(condition string, args ...any) ([]*series, error) {
	var all []*series
	rows, err := tx.Rows(`SELECT `+seriesColumns+` WHERE `+condition, args...)
	err = sqlite.Each(rows, err, func() error {
		s, err := scanSeries(rows)
		if err != nil {
			return err
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := tx.addRecent(s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addRecent adds the points that the row of s does not include to the statistics of s.
func (tx *Tx) addRecent(s *series) error {
	late, err := tx.recent(s.id, s.statsSeq)
	for _, p := range late {
		s.Stats.add(p)
		s.lastSeq = p.seq
	}
	return err
}

// saveSizes are the possible numbers of series in a save statement. The list is short, so each
// statement is prepared only once.
var saveSizes = []int{128, 16, 1}

var insertSeries, updateSeries = saveStatements()

// saveStatements returns the statements that insert and update rows of the series table. The map
// key is the number of rows. Each row takes the arguments of seriesArgs.
func saveStatements() (insert, update map[int]string) {
	insert, update = map[int]string{}, map[int]string{}
	row := `(?` + strings.Repeat(`, ?`, seriesArgCount-1) + `)`
	for _, n := range saveSizes {
		values := strings.Repeat(row+`, `, n-1) + row
		insert[n] = `INSERT INTO series (id, iteration_num, key, ` + statsColumns + `, counted_seq, moved_seq, roll_shift, rolled_to) VALUES ` + values
		update[n] = `UPDATE series SET
				count       = new.column4,
				finite      = new.column5,
				last        = new.column6,
				last_step   = new.column7,
				last_at     = new.column8,
				min         = new.column9,
				min_step    = new.column10,
				max         = new.column11,
				max_step    = new.column12,
				sum         = new.column13,
				checksum    = new.column14,
				counted_seq = new.column15,
				moved_seq   = new.column16,
				roll_shift  = new.column17,
				rolled_to   = new.column18
			FROM (VALUES ` + values + `) AS new
			WHERE series.id = new.column1`
	}
	return insert, update
}

const seriesArgCount = 18

// seriesArgs appends the column values of s to args.
func seriesArgs(args []any, s *series) []any {
	var shift *int
	if s.rollups.end != nil {
		shift = &s.rollups.shift
	}
	return append(args, s.id, s.iteration, s.key,
		s.Count, s.Finite, s.Last, s.LastStep, s.LastAt, s.Min, s.MinStep, s.Max, s.MaxStep, s.Sum, s.checksum,
		s.lastSeq, s.compactedSeq, shift, s.rollups.end)
}

// saveSeries updates the rows of stored series and inserts rows for new series.
//
// Each statement saves several series to reduce the number of statements. The triggers of the
// table make SQLite run each statement in a savepoint. The cost of a savepoint grows with the
// number of pages that the transaction has changed.
func (tx *Tx) saveSeries(all ...*series) error {
	var added, changed []*series
	for _, s := range all {
		if s.stored {
			changed = append(changed, s)
		} else {
			added = append(added, s)
		}
	}
	if err := tx.saveRows(insertSeries, added); err != nil {
		return err
	}
	return tx.saveRows(updateSeries, changed)
}

// saveRows runs the statements for the given series.
func (tx *Tx) saveRows(statements map[int]string, rows []*series) error {
	args := make([]any, 0, seriesArgCount*min(len(rows), saveSizes[0]))
	for _, n := range saveSizes {
		for ; len(rows) >= n; rows = rows[n:] {
			args = args[:0]
			for _, s := range rows[:n] {
				args = seriesArgs(args, s)
			}
			if _, err := tx.Exec(statements[n], args...); err != nil {
				return err
			}
			for _, s := range rows[:n] {
				s.stored, s.statsSeq = true, s.lastSeq
			}
		}
	}
	return nil
}

// recompute computes the statistics of a series from its points. It removes the series if no
// point is left.
//
// recompute adds change to the stored checksum. It does not compute the checksum from the
// points, so a later check still finds damaged points.
func (tx *Tx) recompute(id, change int64) error {
	s, err := tx.seriesByID(id)
	if err != nil || s == nil {
		return err
	}
	computed, err := tx.computeStats(id, s.compactedSeq, nil)
	if err != nil {
		return err
	}
	computed.checksum = s.checksum + change
	s.Stats = computed.Stats
	if err := tx.changed(s); err != nil {
		return err
	}
	if s.Count == 0 {
		_, err := tx.Exec(`DELETE FROM series WHERE id = ?`, id)
		return err
	}
	return tx.saveSeries(s)
}
