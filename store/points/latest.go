package points

import (
	"database/sql/driver"

	"tracker/store/json"
)

// Latest is the last point of a series: of those with the largest step the one
// written last.
type Latest struct {
	Iteration int64
	Key       string
	Value     Value
	Step      Step
	At        Time
}

// Latest returns the last points of all series of iterations, by number of the
// iteration, then key. It reads less than Statistics.
func (tx *Tx) Latest(iterations []int64) ([]Latest, error) {
	list, err := json.Marshal(iterations)
	if err != nil {
		return nil, err
	}
	type stored struct {
		id, seq int64
		there   bool // the row has a point
	}
	var all []Latest
	var behind []stored
	err = tx.EachRow(`SELECT id, counted_seq, iteration_num, key, last, last_step, last_at FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) ORDER BY iteration_num, key`,
		func(row []driver.Value) error {
			s, l := stored{id: row[0].(int64), seq: row[1].(int64)}, Latest{Iteration: row[2].(int64), Key: row[3].(string)}
			if err := l.Value.Scan(row[4]); err != nil {
				return err
			}
			if step, ok := row[5].(int64); ok {
				s.there, l.Step, l.At = true, Step(step), Time(row[6].(int64))
			}
			all, behind = append(all, l), append(behind, s)
			return nil
		}, string(list))
	if err != nil {
		return nil, err
	}
	if err := tx.readAhead(); err != nil {
		return nil, err
	}
	kept := all[:0]
	for i, l := range all {
		s := behind[i]
		late, err := tx.recent(s.id, s.seq)
		if err != nil {
			return nil, err
		}
		for _, p := range late {
			if !s.there || p.step >= l.Step {
				l.Value, l.Step, l.At, s.there = p.value, p.step, p.at, true
			}
		}
		if s.there {
			kept = append(kept, l)
		}
	}
	return kept, nil
}
