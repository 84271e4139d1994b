package wandb

import (
	"errors"
	"strings"

	"tracker/store/sqlite"
	"tracker/store/wandb/format"
)

// maxValueRows is the maximum number of rows that EachValue reads.
const maxValueRows = 20_000

// EachValue calls each for the non-numeric history values, sorted by iteration number and then by
// step. It reads only rows that contain one of the strings in texts and, if steps is not nil, only
// rows with one of these steps. It stops at the first error. more reports whether maxValueRows left
// rows unread.
func (tx Tx) EachValue(nums []int64, steps []Step, texts []string, each func(num int64, step Step, m format.Member) error) (more bool, err error) {
	where, args := "", []any{sqlite.JSON(nums)}
	if steps != nil {
		where, args = ` AND step IN (SELECT value FROM json_each(?))`, append(args, sqlite.JSON(steps))
	}
	for _, text := range texts {
		args = append(args, text)
	}
	rows, err := tx.Rows(`SELECT iteration_num, step, content
		FROM wandb_row
		WHERE iteration_num IN (SELECT value FROM json_each(?))`+where+`
			AND (`+strings.TrimSuffix(strings.Repeat(`instr(content, ?) > 0 OR `, len(texts)), ` OR `)+`)
		ORDER BY iteration_num, step LIMIT ?`, append(args, maxValueRows+1)...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		if n == maxValueRows {
			more = true
			break
		}
		var num int64
		var content string
		var step Step
		if err := rows.Scan(&num, &step, &content); err != nil {
			return false, err
		}
		members, err := format.Members(content)
		if err != nil {
			return false, err
		}
		for _, m := range members {
			if err := each(num, step, m); err != nil {
				return false, err
			}
		}
	}
	return more, errors.Join(rows.Err(), rows.Close())
}
