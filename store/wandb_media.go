package store

import (
	"errors"
	"strings"

	"tracker/store/json"
	"tracker/store/wandb/format"
)

// maxWandbValues bounds the rows that EachWandbValue reads.
const maxWandbValues = 20_000

// EachWandbValue calls each with the values in the histories of iterations that are not numbers, by step.
// It reads the rows that contain one of texts, of some steps or, when steps is nil, of all. It ends with
// the first error. more reports that there are rows that it did not read. Needs read; iterations that do
// not exist are left out. It has the time limit of a search.
func (v *View) EachWandbValue(ids []string, steps []Step, texts []string, each func(id string, step Step, m format.Member) error) (more bool, err error) {
	states, err := v.tx.allowExisting(v.actor, ids, rightRead)
	if err != nil {
		return false, err
	}
	nums, err := json.Marshal(numsOf(states))
	if err != nil {
		return false, err
	}
	where, args := "", []any{string(nums)}
	if steps != nil {
		list, err := json.Marshal(steps)
		if err != nil {
			return false, err
		}
		where, args = ` AND step IN (SELECT value FROM json_each(?))`, append(args, string(list))
	}
	for _, text := range texts {
		args = append(args, text)
	}
	slow := func() error { return errSlowRead("iterations", v.tx) }
	return withinLimit(v.tx, slow, func() (more bool, err error) { return v.eachWandbValue(where, args, texts, each) })
}

// eachWandbValue reads the rows that a condition selects and that contain one of texts, which
// are the last of args.
func (v *View) eachWandbValue(where string, args []any, texts []string, each func(id string, step Step, m format.Member) error) (more bool, err error) {
	rows, err := v.tx.Rows(`SELECT iteration.id, step, content
		FROM wandb_row
		JOIN iteration ON iteration.num = iteration_num
		WHERE iteration_num IN (SELECT value FROM json_each(?))`+where+`
			AND (`+strings.TrimSuffix(strings.Repeat(`instr(content, ?) > 0 OR `, len(texts)), ` OR `)+`)
		ORDER BY iteration_num, step LIMIT ?`, append(args, maxWandbValues+1)...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		if n == maxWandbValues {
			more = true
			break
		}
		var id, content string
		var step Step
		if err := rows.Scan(&id, &step, &content); err != nil {
			return false, err
		}
		members, err := format.Members(content)
		if err != nil {
			return false, err
		}
		for _, m := range members {
			if err := each(id, step, m); err != nil {
				return false, err
			}
		}
	}
	return more, errors.Join(rows.Err(), rows.Close())
}
