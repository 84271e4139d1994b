package wandb

import (
	"strings"

	"github.com/google/uuid"

	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/sqlite"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

// SetConfig sets the configuration. A configuration that is too large is ignored, which r.Lost
// reports.
func (r *Run) SetConfig(text string) {
	if len(text) > maxText {
		r.Lose("A configuration of %d bytes was left out: at most %d are allowed.", len(text), maxText)
		return
	}
	if json.Values([]byte(text)) > maxTextValues {
		r.Lose("A configuration of more than %d values was left out.", maxTextValues)
		return
	}
	r.Config = text
}

// Parameters returns the parameters in the configuration of the run, at most maxParameters.
func (r *Run) Parameters() map[string]string {
	all := map[string]string{}
	for key, value := range map[string]string{"group": r.Group, "job_type": r.JobType, "sweep": r.Sweep} {
		if value != "" {
			all[key] = value
		}
	}
	members, err := format.Members(r.Config)
	if err != nil {
		return all
	}
	for _, m := range members {
		if format.Hidden(m.Key) {
			continue
		}
		value := m.Value
		if inner, err := format.Members(m.Value); err == nil {
			for _, i := range inner {
				if i.Key == "value" {
					value = i.Value
				}
			}
		}
		format.Parameters(m.Key, value, func(key, value string) {
			if len(all) < maxParameters {
				all[r.FitName("parameter", key)] = transfer.FitText(value)
			}
		})
	}
	return all
}

// SetParameters writes the parameters of r to an iteration. before holds the parameters of the
// previous configuration; SetParameters deletes parameters that are only in before. replaced
// reports whether a parameter was changed or deleted.
func (tx Tx) SetParameters(num int64, before map[string]string, r *Run) (replaced bool, err error) {
	after := r.Parameters()
	for key := range before {
		if _, ok := after[key]; !ok {
			if _, err := tx.Exec(`DELETE FROM parameter WHERE iteration_num = ? AND key = ?`, num, key); err != nil {
				return false, err
			}
			replaced = true
		}
	}
	for key, value := range after {
		old, known := before[key]
		if known && old == value {
			continue
		}
		id, err := uuid.NewV7()
		if err != nil {
			return false, err
		}
		n, err := tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)
			ON CONFLICT (iteration_num, key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`, num, key, id.String(), value)
		if err != nil {
			return false, err
		}
		replaced = replaced || known && n > 0
		if len(value) >= transfer.MaxText {
			r.Lose("The value of the parameter %s was cut.", scalar.Quote(key))
		}
	}
	if len(after) >= maxParameters {
		r.Lose("Only %d values of the configuration became parameters.", maxParameters)
	}
	return replaced, nil
}

// SetTags replaces the tags of an iteration with the first maxTags elements of tags. removed
// reports whether a tag was removed.
func (tx Tx) SetTags(num int64, r *Run, tags []string) (removed bool, err error) {
	if len(tags) > maxTags {
		r.Lose("Only the first %[2]d of %[1]d tags were stored.", len(tags), maxTags)
	}
	fits := []string{}
	for _, t := range tags[:min(len(tags), maxTags)] {
		if strings.TrimSpace(t) != "" {
			fits = append(fits, r.FitName("tag", t))
		}
	}
	n, err := tx.Exec(`DELETE FROM tag WHERE iteration_num = ? AND value NOT IN (SELECT value FROM json_each(?))`, num, sqlite.JSON(fits))
	if err != nil {
		return false, err
	}
	for _, t := range fits {
		id, err := uuid.NewV7()
		if err != nil {
			return false, err
		}
		if _, err := tx.Exec(`INSERT INTO tag (id, iteration_num, value, created_date) VALUES (?, ?, ?, ?)
			ON CONFLICT (iteration_num, value) DO NOTHING`, id.String(), num, t, tx.Now); err != nil {
			return false, err
		}
	}
	return n > 0, nil
}
